//! The real daemon: how fast it is there, what it costs when idle, how fast it answers and notices.

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use gpud::cli::client::trust;
use tokio::net::TcpStream;
use tokio_rustls::{client::TlsStream, rustls::ClientConfig};

use crate::{
    client::{self, Client},
    latency,
    table::{Table, Target, quantile},
};

const STARTS: usize = 5;
const REQUESTS: usize = 3000;
/// How long a first start is watched.
const FIRST: Duration = Duration::from_secs(150);
/// Largest binary, MB, with the code of the built-in components.
const MOST_MB: f64 = 45.0;

/// A running gpud.
pub struct Daemon {
    child: Child,
    port: u16,
    started: Instant,
    tls: Arc<ClientConfig>,
}

impl Daemon {
    pub fn start(data_dir: &Path, arguments: &[&str]) -> Self {
        Self::start_with(data_dir, arguments, &[])
    }

    /// With further environment variables.
    pub fn start_with(data_dir: &Path, arguments: &[&str], variables: &[(&str, &Path)]) -> Self {
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let started = Instant::now();
        let child = Command::new(program())
            .args(["run", "--log-level", "warn", "--data-dir"])
            .arg(data_dir)
            .arg("--listen-address")
            .arg(format!("127.0.0.1:{port}"))
            .args(arguments)
            .envs(variables.iter().copied())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Self {
            child,
            port,
            started,
            tls: Arc::new(trust::anyone().unwrap()),
        }
    }

    pub async fn client(&self) -> Client {
        loop {
            if let Ok(client) = Client::connect(self.port, Arc::clone(&self.tls)).await {
                return client;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Waits until all components were checked.
    pub async fn times(&self) -> Times {
        let passed = || self.started.elapsed().as_secs_f64() * 1e3;
        let mut client = self.client().await;
        assert_eq!(client.get("/healthz").await.0, 200);
        let answering = passed();
        let mut loaded = None;
        loop {
            let (_, body) = client.get("/v1/states").await;
            let text = String::from_utf8_lossy(&body);
            if !text.contains("Initializing") {
                let loaded = *loaded.get_or_insert_with(passed);
                if !text.contains("no data yet") {
                    return Times {
                        answering,
                        loaded,
                        checked: passed(),
                    };
                }
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// A connection on which nothing has been said yet.
    pub async fn raw(&self) -> TlsStream<TcpStream> {
        client::raw(self.port, Arc::clone(&self.tls)).await.unwrap()
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

/// Milliseconds from the start of the process.
pub struct Times {
    /// To the first answer.
    answering: f64,
    /// To all components being loaded.
    loaded: f64,
    /// To all components having been checked.
    checked: f64,
}

/// Takes a figure out of the times of a start.
type Figure = fn(&Times) -> f64;

/// The release binary that `cargo xtask bench` leaves, with the code of the built-in components; else cargo's own.
fn program() -> PathBuf {
    let release = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/bench/gpud");
    match release.is_file() {
        true => release,
        false => env!("CARGO_BIN_EXE_gpud").into(),
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.pid().to_string()).status();
        let _ = self.child.wait();
    }
}

pub async fn measure(table: &mut Table, idle: Duration) {
    starts(table).await;
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path(), &[]);
    daemon.times().await;
    first_minutes(table, &daemon).await;
    watch_idle(table, &daemon, idle).await;
    requests(table, &daemon).await;
    latency::measure(table, &daemon).await;
}

async fn starts(table: &mut Table) {
    eprintln!("starts …");
    let (mut cold, mut warm) = (vec![], vec![]);
    for _ in 0..STARTS {
        let folder = tempfile::tempdir().unwrap();
        cold.push(Daemon::start(folder.path(), &[]).times().await);
        warm.push(Daemon::start(folder.path(), &[]).times().await);
    }
    let mut row = |what: &str, starts: &[Times], of: fn(&Times) -> f64, limit: f64| {
        let mut samples: Vec<f64> = starts.iter().map(of).collect();
        table.add(
            what,
            quantile(&mut samples, 0.5),
            "ms",
            Target::AtMost(limit),
        );
    };
    let (answering, checked): (Figure, Figure) = (|times| times.answering, |times| times.checked);
    row(
        "API answering after start, compiled code cached",
        &warm,
        answering,
        150.0,
    );
    row(
        "API answering after start, nothing cached",
        &cold,
        answering,
        300.0,
    );
    row(
        "all built-in components loaded, nothing cached",
        &cold,
        |times| times.loaded,
        400.0,
    );
    row(
        "all components checked after start, compiled code cached",
        &warm,
        checked,
        300.0,
    );
    row(
        "all components checked after start, nothing cached",
        &cold,
        checked,
        1000.0,
    );
}

/// What a fleet pays for each node's first start, and the size of what it downloads.
async fn first_minutes(table: &mut Table, daemon: &Daemon) {
    eprintln!("the first {} s …", FIRST.as_secs());
    tokio::time::sleep(FIRST.saturating_sub(daemon.started.elapsed())).await;
    table.add(
        &format!(
            "processor time of the first {} s after a first start, children included",
            FIRST.as_secs()
        ),
        whole_cpu_seconds(daemon.pid()),
        "s",
        Target::AtMost(1.5),
    );
    let size = fs::metadata(program()).unwrap().len();
    table.add(
        "binary with the code of the built-in components",
        size as f64 / 1e6,
        "MB",
        Target::AtMost(MOST_MB),
    );
}

async fn watch_idle(table: &mut Table, daemon: &Daemon, idle: Duration) {
    eprintln!(
        "an idle daemon for {:.1} minutes …",
        idle.as_secs_f64() / 60.0
    );
    let before = (whole_cpu_seconds(daemon.pid()), switches(daemon.pid()));
    tokio::time::sleep(idle).await;
    let used = whole_cpu_seconds(daemon.pid()) - before.0;
    let switched = switches(daemon.pid()).saturating_sub(before.1);
    let minutes = idle.as_secs_f64() / 60.0;
    table.add(
        &format!("anonymous memory after {minutes:.1} minutes"),
        status(daemon.pid(), "RssAnon:") / 1024.0,
        "MiB",
        Target::AtMost(20.0),
    );
    table.note(
        "  with mapped files, which the machine can drop",
        status(daemon.pid(), "VmRSS:") / 1024.0,
        "MiB",
    );
    table.add(
        "idle CPU, children included",
        used / idle.as_secs_f64() * 100.0,
        "% of a core",
        Target::AtMost(0.1),
    );
    table.add(
        "voluntary switches of an idle daemon, all threads",
        switched as f64 / idle.as_secs_f64(),
        "/s",
        Target::AtMost(2.0),
    );
}

async fn requests(table: &mut Table, daemon: &Daemon) {
    eprintln!("requests …");
    let mut client = daemon.client().await;
    let mut samples = Vec::new();
    for _ in 0..REQUESTS {
        let asked = Instant::now();
        assert_eq!(client.get("/v1/states").await.0, 200);
        samples.push(asked.elapsed().as_secs_f64() * 1e3);
    }
    table.add(
        "/v1/states over HTTPS keep-alive (p99)",
        quantile(&mut samples, 0.99),
        "ms",
        Target::AtMost(2.0),
    );
    table.note("  median", quantile(&mut samples, 0.5), "ms");
}

/// User and system time of a process; 100 ticks a second on Linux.
pub fn cpu_seconds(pid: u32) -> f64 {
    (stat(pid, 11) + stat(pid, 12)) / 100.0
}

/// The same with that of children that ended.
fn whole_cpu_seconds(pid: u32) -> f64 {
    cpu_seconds(pid) + (stat(pid, 13) + stat(pid, 14)) / 100.0
}

/// How often the threads of a process went to sleep, as far as they still are.
fn switches(pid: u32) -> u64 {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let of = |status: String| {
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        line.and_then(|count| count.trim().parse::<u64>().ok())
    };
    threads
        .filter_map(|thread| fs::read_to_string(thread.path().join("status")).ok())
        .filter_map(of)
        .sum()
}

/// A number of /proc/‹pid›/stat (proc_pid_stat(5)), counted from the one behind the name.
fn stat(pid: u32, field: usize) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat
        .rsplit_once(')')
        .unwrap()
        .1
        .split_whitespace()
        .collect();
    fields[field].parse().unwrap()
}

/// A line of /proc/‹pid›/status in KiB.
pub fn status(pid: u32, key: &str) -> f64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(key)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
