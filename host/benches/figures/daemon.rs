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

    /// Milliseconds from the start of the process to the first answer, and to all components having been checked.
    pub async fn times(&self) -> (f64, f64) {
        let mut client = self.client().await;
        assert_eq!(client.get("/healthz").await.0, 200);
        let answering = self.started.elapsed();
        loop {
            let (_, body) = client.get("/v1/states").await;
            let text = String::from_utf8_lossy(&body);
            if !text.contains("Initializing") && !text.contains("no data yet") {
                break;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        (
            answering.as_secs_f64() * 1e3,
            self.started.elapsed().as_secs_f64() * 1e3,
        )
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
    watch_idle(table, &daemon, idle).await;
    requests(table, &daemon).await;
    latency::measure(table, &daemon).await;
}

async fn starts(table: &mut Table) {
    eprintln!("starts …");
    let (mut cold, mut cold_ready, mut warm, mut warm_ready) = (vec![], vec![], vec![], vec![]);
    for _ in 0..STARTS {
        let folder = tempfile::tempdir().unwrap();
        let (answering, ready) = Daemon::start(folder.path(), &[]).times().await;
        cold.push(answering);
        cold_ready.push(ready);
        let (answering, ready) = Daemon::start(folder.path(), &[]).times().await;
        warm.push(answering);
        warm_ready.push(ready);
    }
    let mut row = |what: &str, mut samples: Vec<f64>, limit: f64| {
        table.add(
            what,
            quantile(&mut samples, 0.5),
            "ms",
            Target::AtMost(limit),
        );
    };
    row(
        "API answering after start, compiled code cached",
        warm,
        150.0,
    );
    row("API answering after start, nothing cached", cold, 300.0);
    row(
        "all components checked after start, compiled code cached",
        warm_ready,
        300.0,
    );
    row(
        "all components checked after start, nothing cached",
        cold_ready,
        1000.0,
    );
}

async fn watch_idle(table: &mut Table, daemon: &Daemon, idle: Duration) {
    eprintln!(
        "an idle daemon for {:.1} minutes …",
        idle.as_secs_f64() / 60.0
    );
    let before = cpu_seconds(daemon.pid());
    tokio::time::sleep(idle).await;
    let used = cpu_seconds(daemon.pid()) - before;
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
        "idle CPU",
        used / idle.as_secs_f64() * 100.0,
        "% of a core",
        Target::AtMost(0.1),
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
