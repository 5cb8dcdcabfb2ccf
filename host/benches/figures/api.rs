//! The API under load: how fast it answers many clients while checks run, whether its memory stays flat, and whether
//! clients that behave badly disturb the schedule of checks.
//!
//! Fifty connections ask for small answers at a steady pace, a hundred requests a second in all, each at a moment of its
//! own; five ask for large ones, five a second. Daemon and clients share the machine's cores; asking without a pause would
//! measure how long the queue is.

use std::{
    collections::BTreeMap,
    path::Path,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use gpud::{
    model::{Event, EventType},
    store::{Location, STATE_FILE, Sample, Store, StoreOptions},
};
use tokio::{
    io::AsyncWriteExt as _,
    net::TcpStream,
    task::{JoinHandle, JoinSet},
};

use crate::{
    daemon::{Daemon, status},
    table::{Table, Target, quantile},
};

const CONNECTIONS: usize = 50;
const ROUNDS: usize = 30;

/// How many ask at a time, and what is between two requests of one of them.
#[derive(Clone, Copy)]
struct Pace {
    connections: usize,
    pause: Duration,
}

const SMALL: Pace = Pace {
    connections: CONNECTIONS,
    pause: Duration::from_millis(500),
};
/// Answers of more than a megabyte, each read and encoded for its request.
const LARGE: Pace = Pace {
    connections: 5,
    pause: Duration::from_secs(1),
};

const EVENTS: u64 = 10_000;
const METRIC_COMPONENTS: usize = 35;
const SERIES: usize = 4;
const MINUTES: u64 = 180;

/// Requests of the flood, over all connections.
const FLOOD: usize = 10_000;
/// Clients of the flood that ask for much and read nothing, and that connect and say nothing.
const BAD: usize = 100;

pub async fn measure(table: &mut Table) {
    eprintln!("a daemon with {EVENTS} events and three hours of samples …");
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path()).await;
    let daemon = Daemon::start(folder.path(), &[]);
    daemon.times().await;
    let checks = keep_checking(&daemon).await;
    let since = now() / 1000 - 7 * 24 * 3600;
    let events = format!("/v1/events?startTime={since}");
    let routes = [
        ("/v1/states", "/v1/states", SMALL, 2.0),
        ("/v1/events, 10,000 events", events.as_str(), LARGE, 60.0),
        ("/v1/metrics, 3 hours", "/v1/metrics?since=3h", LARGE, 150.0),
        ("/metrics", "/metrics", SMALL, 2.0),
    ];
    for (what, path, pace, limit) in routes {
        for gzip in [true, false] {
            let (mut times, bytes) = ask(&daemon, path, pace, gzip).await;
            let form = if gzip { "gzip" } else { "plain" };
            table.add(
                &format!("{what}, {} connections, {form} (p99)", pace.connections),
                quantile(&mut times, 0.99),
                "ms",
                Target::AtMost(limit),
            );
            table.note("  median", quantile(&mut times, 0.5), "ms");
            table.note("  answer", bytes as f64 / 1024.0, "KiB");
        }
    }
    // Once all has been asked for, asking for it again must cost no further memory.
    let before = status(daemon.pid(), "VmRSS:");
    let mut further = 0;
    for (_, path, pace, _) in routes {
        ask(&daemon, path, pace, true).await;
        further += pace.connections * ROUNDS;
    }
    table.note("resident memory under load", before / 1024.0, "MiB");
    table.add(
        &format!("growth of resident memory over {further} further requests"),
        (status(daemon.pid(), "VmRSS:") - before) / 1024.0,
        "MiB",
        Target::AtMost(4.0),
    );
    checks.abort();
    flood(table, &daemon, &events).await;
}

/// Puts events and samples where the daemon will find them.
async fn fill(folder: &Path) {
    let options = StoreOptions::new(Location::File(folder.join(STATE_FILE)));
    let store = Store::open(options).unwrap().store;
    let now = now();
    for (component, n) in ["cpu", "disk", "memory", "os"].into_iter().zip(0..) {
        let events = (0..EVENTS / 4).map(|i| Event {
            time: now - (i * 4 + n) * 30_000,
            name: "bench_event".into(),
            event_type: EventType::Warning,
            message: format!(
                "a line of the kernel log about device {i}, sector {}",
                i * 37
            ),
            ..Event::default()
        });
        store
            .insert_events(component, events.collect(), None)
            .await
            .unwrap();
    }
    for minute in 0..MINUTES {
        let samples = (0..METRIC_COMPONENTS).flat_map(|component| {
            (0..SERIES).map(move |series| Sample {
                component: format!("component-{component:02}"),
                name: format!("component_{component:02}_reading_{series}"),
                labels: vec![("uuid".into(), format!("GPU-{component:08x}-{series:04x}"))],
                value: (component * series) as f64 + minute as f64 / 7.0,
            })
        });
        let time = now - (MINUTES - minute) * 60_000 + 30_000;
        store.insert_samples(time, samples.collect()).await.unwrap();
    }
    store.checkpoint_and_close().await.unwrap();
}

/// Triggers checks for as long as the task lives.
async fn keep_checking(daemon: &Daemon) -> JoinHandle<()> {
    let mut client = daemon.client().await;
    tokio::spawn(async move {
        for component in ["cpu", "disk", "memory", "os"].iter().cycle() {
            let path = format!("/v1/components/trigger-check?componentName={component}");
            client.get(&path).await;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    })
}

/// Milliseconds of each answer, and its bytes.
async fn ask(daemon: &Daemon, path: &str, pace: Pace, gzip: bool) -> (Vec<f64>, usize) {
    let mut tasks = JoinSet::new();
    let begin = Instant::now() + Duration::from_millis(200);
    for n in 0..pace.connections {
        let (mut client, path) = (daemon.client().await, path.to_owned());
        tasks.spawn(async move {
            let part = |of: usize| u32::try_from(of).unwrap();
            let offset = pace.pause * part(n) / part(pace.connections);
            let (mut times, mut bytes) = (Vec::new(), 0);
            for round in 0..ROUNDS {
                let at = begin + offset + pace.pause * part(round);
                tokio::time::sleep_until(at.into()).await;
                let asked = Instant::now();
                let (status, body) = client.get_with(&path, gzip).await;
                // The first answer of a connection also pays for what only the first one makes.
                if round > 0 {
                    times.push(asked.elapsed().as_secs_f64() * 1e3);
                }
                assert_eq!(status, 200, "{path}");
                bytes = body.len();
            }
            (times, bytes)
        });
    }
    let (mut all, mut size) = (Vec::new(), 0);
    for (times, bytes) in tasks.join_all().await {
        all.extend(times);
        size = bytes;
    }
    (all, size)
}

/// Runs well-behaved and misbehaving clients and measures the times of checks under that load.
async fn flood(table: &mut Table, daemon: &Daemon, events: &str) {
    eprintln!(
        "a flood of {FLOOD} requests beside {BAD} clients that do not read and {BAD} that say nothing …"
    );
    let mut bad = Vec::new();
    for _ in 0..BAD {
        let half_open = TcpStream::connect(("127.0.0.1", daemon.port())).await;
        bad.push(half_open.unwrap());
    }
    let mut slow = Vec::new();
    for _ in 0..BAD {
        let mut stream = daemon.raw().await;
        let request = format!("GET {events} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        slow.push(stream);
    }
    let watching = watch_checks(daemon).await;
    let begun = Instant::now();
    let mut tasks = JoinSet::new();
    for n in 0..CONNECTIONS {
        let mut client = daemon.client().await;
        tasks.spawn(async move {
            // A little over a minute and a half, so that every check comes at least once.
            let pace = Duration::from_secs(100) / u32::try_from(FLOOD / CONNECTIONS).unwrap();
            tokio::time::sleep(pace * u32::try_from(n).unwrap() / 50).await;
            for _ in 0..FLOOD / CONNECTIONS {
                assert_eq!(client.get("/v1/states").await.0, 200);
                tokio::time::sleep(pace).await;
            }
        });
    }
    tasks.join_all().await;
    // Until each of the watched checks has come twice.
    tokio::time::sleep(Duration::from_secs(135).saturating_sub(begun.elapsed())).await;
    watching.abort();
    let seen = SEEN.lock().unwrap().clone();
    // The first is of the triggers before.
    let worst = seen.values().flat_map(|times| {
        times
            .windows(2)
            .skip(1)
            .map(|pair| ((pair[1] - pair[0]) as f64 - 60.0).abs())
    });
    let (count, worst) = worst.fold((0, 0.0_f64), |(n, worst), off| (n + 1, worst.max(off)));
    assert!(count >= 4, "only {count} intervals were seen");
    table.add(
        "checks off their minute during the flood (whole seconds)",
        worst,
        "s",
        Target::AtMost(1.0),
    );
}

/// Unix seconds of the checks that were seen, by component.
static SEEN: std::sync::Mutex<BTreeMap<String, Vec<i64>>> = std::sync::Mutex::new(BTreeMap::new());

async fn watch_checks(daemon: &Daemon) -> JoinHandle<()> {
    let mut client = daemon.client().await;
    tokio::spawn(async move {
        loop {
            let (_, body) = client.get("/v1/states?components=cpu,disk,memory,os").await;
            let states: serde_json::Value = serde_json::from_slice(&body).unwrap();
            for entry in states.as_array().unwrap() {
                let Some(time) = entry["states"][0]["time"].as_str() else {
                    continue;
                };
                let second = time.parse::<jiff::Timestamp>().unwrap().as_second();
                let mut seen = SEEN.lock().unwrap();
                let name = entry["component"].as_str().unwrap().to_owned();
                let times = seen.entry(name).or_default();
                if times.last() != Some(&second) {
                    times.push(second);
                }
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    })
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::try_from(since.as_millis()).unwrap()
}
