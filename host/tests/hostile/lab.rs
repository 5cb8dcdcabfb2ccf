//! What every test here needs: one Wasmtime, the built guests, and a neighbour that watches.

use std::{
    cell::Cell,
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, Mutex},
    time::Duration,
};

use gpud::{
    capability::Grants,
    model::{CheckContext, HealthState, Metric, Report, Trigger},
    node::Node,
    runtime::{
        CallContext, CallError, Compiler, Finished, Limits, LoadError, Plugin, PluginSource,
        Runtime, Wasm,
    },
};
use serde_json::{Value, json};
use tokio::sync::{OnceCell, RwLock, RwLockReadGuard, RwLockWriteGuard};
use tracing::field::{Field, Visit};
use tracing_subscriber::{
    Layer,
    layer::{self, SubscriberExt},
};
use xtask::guests::{self, GuestSelection};

/// The time of every check here.
pub const NOW: u64 = 1_700_000_000_000;
/// Deadline of guests that never come back by themselves.
pub const SHORT: Duration = Duration::from_millis(300);
/// What is still running after this was not contained.
const HANG: Duration = Duration::from_secs(120);
/// How often a neighbour checks beside a call, at least.
const NEIGHBOUR_CHECKS: u32 = 5;

static RUNTIME: OnceCell<Runtime> = OnceCell::const_new();
/// Tests that measure this process hold it alone.
static TURN: RwLock<()> = RwLock::const_new(());
static GUESTS: LazyLock<BTreeMap<String, Vec<u8>>> = LazyLock::new(|| {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .unwrap()
        .join("guests");
    let what = GuestSelection::ExamplesOf("gpud-hostile".to_owned());
    let built = guests::build(&workspace(), &target, &what).unwrap();
    built
        .into_iter()
        .map(|component| (component.name, component.bytes))
        .collect()
});

/// The repository.
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .canonicalize()
        .unwrap()
}

/// Where plugins are tried.
pub struct Lab<Turn> {
    pub runtime: Runtime,
    _turn: Turn,
}

/// A lab beside other tests.
pub async fn shared() -> Lab<RwLockReadGuard<'static, ()>> {
    Lab {
        runtime: runtime().await,
        _turn: TURN.read().await,
    }
}

/// A lab while no other test runs.
pub async fn alone() -> Lab<RwLockWriteGuard<'static, ()>> {
    Lab {
        runtime: runtime().await,
        _turn: TURN.write().await,
    }
}

async fn runtime() -> Runtime {
    let start = || async {
        // Without any subscriber, a line that another test logs first would be left out of the logs of all.
        let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry());
        let node = Arc::new(Node::live().await.unwrap());
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile-cache");
        Runtime::start(&cache, Compiler::InProcess, node).unwrap()
    };
    RUNTIME.get_or_init(start).await.clone()
}

/// Tight limits for a guest that ends by itself.
pub fn limits() -> Limits {
    Limits {
        deadline: Duration::from_secs(30),
        memory_bytes: 8 << 20,
        ..Limits::default()
    }
}

/// The same with a deadline for guests that do not.
pub fn short() -> Limits {
    Limits {
        deadline: SHORT,
        ..limits()
    }
}

/// What most guests here are granted.
pub fn grants() -> Value {
    json!({ "sysfs": ["/proc/uptime"], "exec": "bash", "state": true, "config": true, "kmsg": true })
}

/// A built guest.
pub fn guest(name: &str) -> &'static [u8] {
    GUESTS
        .get(name)
        .unwrap_or_else(|| panic!("no guest {name} in tests/hostile/examples"))
}

pub fn context(component: &str, trigger: Trigger) -> CheckContext {
    CheckContext {
        component: component.to_owned(),
        now: NOW,
        trigger,
        boot_id: "boot".to_owned(),
        boot_time: NOW - 1000,
        previous_check: None,
    }
}

/// A call for a component, without a store.
pub fn call_context(component: &str) -> CallContext<'_> {
    CallContext {
        component,
        store: None,
        config: Arc::from("{}"),
        values: None,
    }
}

/// One check as a person asks for it.
pub async fn check(plugin: &Plugin, component: &str) -> Finished<Report> {
    plugin
        .check(
            &call_context(component),
            &context(component, Trigger::Manual),
        )
        .await
}

impl<Turn> Lab<Turn> {
    pub async fn load(
        &self,
        name: &str,
        wasm: &[u8],
        grants: &Value,
        limits: Limits,
    ) -> Result<Plugin, LoadError> {
        let grants = Grants::parse(grants).unwrap();
        self.runtime
            .load(PluginSource {
                name,
                wasm: Wasm::Bytes(wasm),
                grants,
                limits,
            })
            .await
    }

    /// A guest that must load.
    pub async fn guest(&self, name: &str, limits: Limits) -> Plugin {
        self.load(name, guest(name), &grants(), limits)
            .await
            .unwrap()
    }

    /// Why something does not load, in full, tried beside a neighbour.
    pub async fn refusal(&self, name: &str, wasm: &[u8], grants: &Value, limits: Limits) -> String {
        match self
            .beside_neighbour(self.load(name, wasm, grants, limits))
            .await
        {
            Ok(_) => panic!("{name} was loaded"),
            Err(error) => error.to_string(),
        }
    }

    /// Does something hostile while a well-behaved plugin checks on the same thread: a guest that kept the thread
    /// would stop this test for good.
    pub async fn beside_neighbour<T>(&self, hostile: impl Future<Output = T>) -> T {
        let neighbour = self.guest("well_behaved", limits()).await;
        let done = Cell::new(false);
        let hostile = async {
            let answer = tokio::time::timeout(HANG, hostile).await;
            done.set(true);
            answer.expect("not contained: still running")
        };
        let checks = async {
            let mut checks = 0;
            while checks < NEIGHBOUR_CHECKS || !done.get() {
                let finished = check(&neighbour, "well-behaved").await;
                assert_eq!(finished.answer, Ok(all_well()), "the neighbour was harmed");
                checks += 1;
                tokio::task::yield_now().await;
            }
        };
        tokio::join!(hostile, checks).0
    }
}

fn all_well() -> Report {
    Report {
        supported: true,
        states: vec![HealthState {
            name: Some("well-behaved".to_owned()),
            time: Some(NOW),
            reason: "all well".to_owned(),
            ..HealthState::default()
        }],
        events: Vec::new(),
        metrics: vec![Metric {
            name: "well_behaved".to_owned(),
            value: 1.0,
            ..Metric::default()
        }],
    }
}

/// The only state's reason, or the error.
pub fn reason(finished: &Finished<Report>) -> Result<&str, &CallError> {
    finished
        .answer
        .as_ref()
        .map(|report| report.states[0].reason.as_str())
}

/// Texts that are not the expected ones: a table is gone through to its end before it fails.
#[derive(Default)]
pub struct Wrong(Vec<String>);

impl Wrong {
    /// An expectation that ends in `…` leaves the rest open.
    pub fn note(&mut self, what: &str, got: &str, expected: &str) {
        let as_expected = match expected.strip_suffix('…') {
            Some(beginning) => got.starts_with(beginning),
            None => got == expected,
        };
        if !as_expected {
            self.0.push(format!(
                "{what}:\n    got      {got}\n    expected {expected}"
            ));
        }
    }

    pub fn assert_none(&self) {
        assert!(self.0.is_empty(), "\n{}", self.0.join("\n"));
    }
}

/// What is logged on this thread while it lives.
pub struct Logged {
    lines: Arc<Mutex<Vec<String>>>,
    _default: tracing::subscriber::DefaultGuard,
}

pub fn log() -> Logged {
    let lines = Arc::default();
    let subscriber = tracing_subscriber::registry().with(Capture(Arc::clone(&lines)));
    Logged {
        lines,
        _default: tracing::subscriber::set_default(subscriber),
    }
}

impl Logged {
    /// All lines so far: level, target, message, and the fields as `name=value`.
    pub fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }
}

struct Capture(Arc<Mutex<Vec<String>>>);

impl<S: tracing::Subscriber> Layer<S> for Capture {
    fn on_event(&self, event: &tracing::Event<'_>, _context: layer::Context<'_, S>) {
        let meta = event.metadata();
        let mut line = Line(format!("{} {}", meta.level(), meta.target()));
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.0.push_str(&format!(" {value:?}")),
            name => self.0.push_str(&format!(" {name}={value:?}")),
        }
    }
}
