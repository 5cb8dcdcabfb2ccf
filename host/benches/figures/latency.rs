//! From a line written to `/dev/kmsg` to the event in an answer, in quiet and beside other lines.

use std::{
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use gpud::node::kmsg;

use crate::{
    client::Client,
    daemon::Daemon,
    table::{Table, Target, quantile},
};

const LINES: usize = 400;
/// Level of a line that the kernel keeps and does not print: printing it on a serial console takes milliseconds, in which
/// nobody who writes it goes on.
const QUIET: u8 = 6;
/// Between two lines.
const PAUSE: Duration = Duration::from_millis(20);
/// Lines after which gpud no longer looks on its own (docs/decisions/0017).
const FIRST_LINES: usize = 30;
const SILENCE: Duration = Duration::from_millis(1_500);
/// Lines that no checker wants, in the second round.
const UNRELATED_PER_SECOND: u32 = 1000;

pub async fn measure(table: &mut Table, daemon: &Daemon) {
    eprintln!("kernel lines to events …");
    if let Err(error) = kmsg::inject(6, "gpud benchmark begins") {
        eprintln!("  left out: {error}");
        return;
    }
    let mut client = daemon.client().await;
    let mut quiet = round(daemon, &mut client, (QUIET, 0xb000), LINES, PAUSE).await;
    table.add(
        "line in /dev/kmsg to /v1/events (p99)",
        quantile(&mut quiet, 0.99),
        "ms",
        Target::AtMost(5.0),
    );
    table.note("  median", quantile(&mut quiet, 0.5), "ms");
    let mut first = round(daemon, &mut client, (QUIET, 0xd000), FIRST_LINES, SILENCE).await;
    table.note(
        "  the first line after silence, woken by the kernel's tick (most)",
        quantile(&mut first, 1.0),
        "ms",
    );
    let mut printed = round(daemon, &mut client, (3, 0xe000), LINES / 4, PAUSE).await;
    table.note(
        "  a line that the console prints, too (p99)",
        quantile(&mut printed, 0.99),
        "ms",
    );
    let noise = Noise::start();
    let mut busy = round(daemon, &mut client, (QUIET, 0xc000), LINES, PAUSE).await;
    let written = noise.stop();
    table.add(
        "line in /dev/kmsg to /v1/events, beside unrelated lines (p99)",
        quantile(&mut busy, 0.99),
        "ms",
        Target::AtMost(5.0),
    );
    table.note("  median", quantile(&mut busy, 0.5), "ms");
    table.note("  unrelated lines", written, "/s");
}

/// Milliseconds from each line to the answer that has its event.
async fn round(
    daemon: &Daemon,
    client: &mut Client,
    (level, domain): (u8, usize),
    lines: usize,
    pause: Duration,
) -> Vec<f64> {
    let mut samples = Vec::new();
    for n in 0..lines {
        let device = format!("PCI:{:04x}:{:02x}:00", domain + n, n % 256);
        let line =
            format!("NVRM: Xid ({device}): 79, pid={n}, name=bench, GPU has fallen off the bus.");
        // As a monitoring agent asks: for what is new since a moment ago.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let since = now.as_secs() - 2;
        let path = format!("/v1/events?components=accelerator-nvidia-error-xid&startTime={since}");
        let written = Instant::now();
        kmsg::inject(level, &line).unwrap();
        loop {
            let (_, body) = client.get(&path).await;
            if String::from_utf8_lossy(&body).contains(&device) {
                break;
            }
            assert!(
                written.elapsed() < Duration::from_secs(5),
                "the event never came"
            );
            // Asking without a pause would take a whole core, one of two, from what is measured. The runtime's own timer
            // has steps of a millisecond, which would be a part of what is measured.
            std::thread::sleep(Duration::from_micros(200));
        }
        samples.push(written.elapsed().as_secs_f64() * 1e3);
        if n % 20 == 19 {
            // Keeps the history as short as that of a machine in trouble, not of a benchmark.
            clear(daemon);
        }
        tokio::time::sleep(pause).await;
    }
    samples
}

/// A thread that writes lines that nobody wants.
struct Noise {
    stop: Arc<AtomicBool>,
    written: Arc<AtomicU64>,
    started: Instant,
    thread: std::thread::JoinHandle<()>,
}

impl Noise {
    fn start() -> Self {
        let (stop, written) = (Arc::new(AtomicBool::new(false)), Arc::default());
        let thread = std::thread::spawn({
            let (stop, written) = (Arc::clone(&stop), Arc::clone(&written));
            move || write_noise(&stop, &written)
        });
        Self {
            stop,
            written,
            started: Instant::now(),
            thread,
        }
    }

    /// Ends it; gives the lines that it wrote in a second.
    fn stop(self) -> f64 {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap();
        self.written.load(Ordering::Relaxed) as f64 / self.started.elapsed().as_secs_f64()
    }
}

fn write_noise(stop: &AtomicBool, written: &AtomicU64) {
    let pause = Duration::from_secs(1) / UNRELATED_PER_SECOND;
    let started = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        let n = written.fetch_add(1, Ordering::Relaxed);
        kmsg::inject(6, &format!("veth{n:08x}: renamed from eth0")).unwrap();
        let due = pause * u32::try_from(n + 1).unwrap();
        std::thread::sleep(due.saturating_sub(started.elapsed()));
    }
}

fn clear(daemon: &Daemon) {
    let server = format!("https://127.0.0.1:{}", daemon.port());
    let cleared = Command::new(env!("CARGO_BIN_EXE_gpud"))
        .args([
            "set-healthy",
            "accelerator-nvidia-error-xid",
            "--server",
            &server,
        ])
        .stdout(Stdio::null())
        .status();
    assert!(cleared.unwrap().success());
}
