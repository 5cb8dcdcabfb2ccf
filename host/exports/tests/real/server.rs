//! A server that notes its requests, and exports that send to it.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode, Uri},
};
use gpud_exports::{
    Clock, Environment, Exports, Finding, Health, HealthChange, MachineFacts, NodeIdentity, Record,
    config::{self, ExportConfig},
    http::Http,
    peer::PeerCheck,
    secret::SecretSource,
    status::StatusView,
};
use tokio::net::TcpListener;

/// Longest that anything may take; far more than it does.
const PATIENCE: Duration = Duration::from_secs(120);

/// One request.
#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    pub path: String,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl ReceivedRequest {
    pub fn header(&self, name: &str) -> &str {
        self.headers[name].to_str().unwrap()
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

type Respond = dyn Fn(&ReceivedRequest) -> StatusCode + Send + Sync;

/// The server.
pub struct Server {
    pub port: u16,
    got: Arc<Mutex<Vec<ReceivedRequest>>>,
}

#[derive(Clone)]
struct Shared {
    got: Arc<Mutex<Vec<ReceivedRequest>>>,
    respond: Arc<Respond>,
}

async fn take(
    State(shared): State<Shared>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, &'static str) {
    let got = ReceivedRequest {
        path: uri.path().to_owned(),
        headers,
        body: body.to_vec(),
    };
    let status = (shared.respond)(&got);
    shared.got.lock().unwrap().push(got);
    (status, "what the server says")
}

impl Server {
    /// Listens on a port, 0 for any.
    pub async fn start(
        port: u16,
        respond: impl Fn(&ReceivedRequest) -> StatusCode + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Shared {
            got: Arc::default(),
            respond: Arc::new(respond),
        };
        let got = Arc::clone(&shared.got);
        let router = Router::new().fallback(take).with_state(shared);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { port, got }
    }

    pub fn got(&self) -> Vec<ReceivedRequest> {
        self.got.lock().unwrap().clone()
    }

    /// Waits for so many requests.
    pub async fn wait(&self, count: usize) -> Vec<ReceivedRequest> {
        eventually(|| (self.got().len() >= count).then(|| self.got())).await
    }
}

/// Waits until something is there.
pub async fn eventually<T>(look: impl FnMut() -> Option<T>) -> T {
    patiently(look).await.unwrap()
}

async fn patiently<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let found = tokio::time::timeout(PATIENCE, async {
        loop {
            if let Some(found) = look() {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    found.await.ok()
}

/// A port on which nobody listens.
pub async fn closed_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap().port()
}

#[derive(Debug)]
pub struct AnyFile;

impl SecretSource for AnyFile {
    fn file(&self, path: &Path) -> Result<Vec<u8>, String> {
        std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
    }

    fn may_receive(&self, _uid: u32, owner: &str) -> bool {
        owner != "nobody"
    }

    fn check_server(
        &self,
        local: SocketAddr,
        remote: SocketAddr,
        named: Option<&str>,
    ) -> Result<(), String> {
        assert!(local.ip().is_loopback() && remote.ip().is_loopback());
        match named {
            Some("nobody") => Err(format!("{remote} gets nothing")),
            _ => Ok(()),
        }
    }
}

/// What lets every server have everything.
pub fn any_peer() -> PeerCheck {
    PeerCheck::new(Arc::new(AnyFile), None)
}

/// Exports with a clock that a test moves.
pub struct Bench {
    pub exports: Exports,
    pub now: Arc<AtomicU64>,
}

impl Bench {
    pub fn new(spool_folder: Option<PathBuf>) -> Self {
        let now = Arc::new(AtomicU64::new(1_790_000_000_000));
        let source = Arc::clone(&now);
        let environment = Environment {
            node: node(),
            machine: MachineFacts::default(),
            clock: Clock::new(move || source.load(Ordering::SeqCst)),
            secrets: Arc::new(AnyFile),
            http: Http::new("gpud/test"),
            metrics: None,
            spool_folder,
        };
        let exports = Exports::new(environment);
        Self { exports, now }
    }

    pub async fn apply(&self, yaml: &str) {
        self.exports.apply(configs(yaml)).await;
    }

    pub fn push(&self, record: &Record) {
        self.exports.push(&Arc::new(record.clone()));
    }

    pub fn view(&self, name: &str) -> StatusView {
        let statuses = self.exports.statuses();
        let status = statuses.into_iter().find(|status| status.name == name);
        status.unwrap().view
    }

    /// Waits until the export's state says this.
    pub async fn says(&self, name: &str, text: &str) -> String {
        let mut said = String::new();
        let found = patiently(|| {
            let (_, reason) = self.view(name).verdict(self.now.load(Ordering::SeqCst));
            said.clone_from(&reason);
            reason.contains(text).then_some(reason)
        })
        .await;
        found.unwrap_or_else(|| panic!("{name} does not say {text:?} but {said:?}"))
    }
}

pub fn configs(yaml: &str) -> Vec<ExportConfig> {
    config::parse("test", yaml).unwrap()
}

pub fn node() -> NodeIdentity {
    NodeIdentity {
        hostname: "node-7".into(),
        machine_id: "4c4c".into(),
    }
}

/// A change of health that differs from others by its number.
pub fn record(number: u64) -> Record {
    let change = HealthChange {
        component: "disk".into(),
        name: "disk".into(),
        from: Health::Healthy,
        to: Health::Unhealthy,
        reason: format!("change {number}"),
        suggested_actions: vec!["HARDWARE_INSPECTION".into()],
    };
    Record::new(1_790_000_000_000 + number, node(), Finding::Health(change))
}

/// Ids of all events of batches, in order.
pub fn ids(got: &[ReceivedRequest]) -> Vec<String> {
    let events = got.iter().flat_map(|got| match got.json() {
        serde_json::Value::Array(events) => events,
        event => vec![event],
    });
    events
        .map(|event| event["id"].as_str().unwrap().to_owned())
        .collect()
}
