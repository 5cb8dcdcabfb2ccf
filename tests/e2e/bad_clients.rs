//! Clients that behave badly, thousands of requests beside them, and checks that come all the same.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use gpud::cli::client::trust;
use http::Request;
use http_body_util::{BodyExt as _, Empty};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::{io::AsyncWriteExt as _, net::TcpStream, task::JoinSet};
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{ClientConfig, pki_types::ServerName},
};

use crate::daemon::{PATIENCE, Start, eventually};

/// Requests that are made, and answered, as fast as they are; slower ones follow until the checks were seen. The ten
/// thousand of the benchmark (`api`) take a build without optimisation minutes on a slow machine.
const REQUESTS: usize = 500;
/// Connections that they are made over.
const GOOD: usize = 20;
/// Connections that say nothing, and as many that ask and do not read.
const BAD: usize = 60;
/// A component that is checked twice a minute.
const WATCHED: &str = "accelerator-nvidia-persistence-mode";
const INTERVAL: i64 = 30;
/// After so many intervals without a check there will be none.
const GIVEN_UP: i64 = 6;

async fn connect(port: u16, config: &Arc<ClientConfig>) -> std::io::Result<TlsStream<TcpStream>> {
    let stream = TcpStream::connect(("127.0.0.1", port)).await?;
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::clone(config))
        .connect(name, stream)
        .await
}

/// Asks for a hundred large answers at once and reads none of them, again and again.
async fn read_nothing(port: u16, config: Arc<ClientConfig>) {
    let request = "GET /swagger/doc.json HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(100);
    loop {
        if let Ok(mut stream) = connect(port, &config).await {
            // The daemon ends such a connection after a while; it may also be full.
            let _ = stream.write_all(request.as_bytes()).await;
            tokio::time::sleep(Duration::from_secs(40)).await;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Opens a connection and says nothing, again and again.
async fn say_nothing(port: u16) {
    loop {
        let stream = TcpStream::connect(("127.0.0.1", port)).await;
        tokio::time::sleep(Duration::from_secs(20)).await;
        drop(stream);
    }
}

/// Asks over one connection until all requests were made and the checks were seen, and notes when the component was
/// checked.
async fn ask(port: u16, config: Arc<ClientConfig>, progress: Arc<Progress>) {
    let stream = connect(port, &config).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .unwrap();
    tokio::spawn(connection);
    loop {
        let made = progress.requests.fetch_add(1, Ordering::Relaxed);
        if made >= REQUESTS && progress.seen_enough.load(Ordering::Relaxed) {
            return;
        }
        if made >= REQUESTS {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        let request = Request::get("/v1/states")
            .header("host", "localhost")
            .body(Empty::<Bytes>::new())
            .unwrap();
        sender.ready().await.unwrap();
        let answer = sender.send_request(request).await.unwrap();
        assert_eq!(answer.status(), 200);
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        let states: Value = serde_json::from_slice(&body).unwrap();
        progress.note(&states);
    }
}

#[derive(Default)]
struct Progress {
    requests: AtomicUsize,
    seen_enough: AtomicBool,
    /// Unix seconds of the checks that were seen.
    checks: std::sync::Mutex<Vec<i64>>,
}

impl Progress {
    fn note(&self, states: &Value) {
        let entries = states.as_array().unwrap().iter();
        let mut watched = entries.filter(|entry| entry["component"] == WATCHED);
        let Some(time) = watched.next().and_then(|e| e["states"][0]["time"].as_str()) else {
            return;
        };
        let second = time.parse::<jiff::Timestamp>().unwrap().as_second();
        let mut checks = self.checks.lock().unwrap();
        if checks.last().is_none_or(|last| *last < second) {
            checks.push(second);
        }
        // The first is that of the start, which is not in the schedule.
        self.seen_enough.store(checks.len() >= 3, Ordering::Relaxed);
    }
}

#[test]
fn many_requests_beside_bad_clients_do_not_stop_the_checks() {
    let daemon = Start::new()
        .environment("GPUD_NVML_MOCK_ALL_SUCCESS", "true")
        .arguments(&[
            &format!("--components={WATCHED},cpu,memory"),
            "--plugin-specs-file=",
        ])
        .ready();
    let port = daemon.port();
    let progress = Arc::new(Progress::default());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let begun = Instant::now();
    runtime.block_on(async {
        let config = Arc::new(trust::anyone().unwrap());
        let mut bad = JoinSet::new();
        for _ in 0..BAD {
            bad.spawn(say_nothing(port));
            bad.spawn(read_nothing(port, Arc::clone(&config)));
        }
        let mut good = JoinSet::new();
        for _ in 0..GOOD {
            good.spawn(ask(port, Arc::clone(&config), Arc::clone(&progress)));
        }
        let all = tokio::time::timeout(PATIENCE * 10, async {
            while let Some(done) = good.join_next().await {
                done.unwrap();
            }
        });
        all.await.expect("the requests take too long");
        assert!(bad.try_join_next().is_none(), "a bad client has given up");
    });
    let checks = progress.checks.lock().unwrap().clone();
    let made = progress.requests.load(Ordering::Relaxed);
    assert!(made >= REQUESTS, "{made} requests in {:?}", begun.elapsed());
    // How late one may be is the benchmark's question: the other tests share two cores and a disk with this one, and on a
    // machine that is short of both, clients that ask see only some of the checks. Checks that stop while bad clients are
    // there, as long as those stay, show as many intervals.
    let scheduled: Vec<&[i64]> = checks.windows(2).skip(1).collect();
    assert!(!scheduled.is_empty(), "{checks:?}");
    assert!(
        scheduled
            .iter()
            .all(|pair| pair[1] - pair[0] < GIVEN_UP * INTERVAL),
        "checks at {checks:?}"
    );
    // And the daemon answers as before, once it has noticed that the clients are gone.
    let (status, body) = eventually("an answer", || daemon.try_get("/v1/states?components=cpu"));
    assert_eq!(status, 200);
    let states: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(states[0]["component"], "cpu");
}
