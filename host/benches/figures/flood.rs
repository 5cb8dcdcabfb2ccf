//! A million times the same Xid, with another one among them: what it costs the database and the memory, and how many
//! lines a second go through the guests and into the store.

use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    path::Path,
    time::{Duration, Instant},
};

use crate::{
    daemon::{Daemon, status},
    table::{Table, Target},
};

const LINES: u64 = 1_000_000;
/// Between two lines, microseconds: the rate of a driver that does nothing else.
const EVERY_MICROS: u64 = 50;

pub async fn measure(table: &mut Table) {
    eprintln!("a flood of one Xid …");
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("kmsg");
    write_line(&log, 0, "nothing yet");
    let data = folder.path().join("data");
    let variables = [("KMSG_FILE_PATH", log.as_path())];
    // Stopped, all that was stored is in the file.
    Daemon::start_with(&data, &[], &variables).times().await;
    let before = bytes(&data);
    let daemon = Daemon::start_with(&data, &[], &variables);
    daemon.times().await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let anonymous = status(daemon.pid(), "RssAnon:");

    let whole = folder.path().join("flood");
    flood(&whole);
    let started = Instant::now();
    // At once, as a kernel log is there when a daemon starts.
    let mut target = File::options().append(true).open(&log).unwrap();
    std::io::copy(&mut File::open(&whole).unwrap(), &mut target).unwrap();
    let mut client = daemon.client().await;
    let path = "/v1/events?components=accelerator-nvidia-error-xid&startTime=1";
    let body = loop {
        let (_, body) = client.get(path).await;
        let body = String::from_utf8_lossy(&body).into_owned();
        if body.contains("0000:03:00") {
            break body;
        }
        assert!(
            started.elapsed() < Duration::from_secs(300),
            "it never ended"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let rate = LINES as f64 / started.elapsed().as_secs_f64();
    assert!(body.contains("0000:02:00"), "the other Xid is hidden");
    let (_, metrics) = client.get("/metrics").await;
    let metrics = String::from_utf8_lossy(&metrics).into_owned();
    assert!(
        !metrics.contains("gpud_kmsg_dropped_total{"),
        "lines were dropped"
    );
    table.add(
        "matching lines through guest and store",
        rate,
        "/s",
        Target::AtLeast(30_000.0),
    );
    tokio::time::sleep(Duration::from_secs(5)).await;
    table.note(
        "  growth of anonymous memory",
        (status(daemon.pid(), "RssAnon:") - anonymous) / 1024.0,
        "MiB",
    );
    drop(daemon);
    table.add(
        "a million identical Xids: growth of the database",
        (bytes(&data) - before) / 1024.0 / 1024.0,
        "MiB",
        Target::AtMost(1.0),
    );
}

/// The log: the same Xid again and again, in the middle that of another GPU, and at the end a third.
fn flood(path: &Path) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    for n in 1..=LINES {
        let (device, code) = match n {
            _ if n == LINES / 2 => ("0000:02:00", 79),
            LINES => ("0000:03:00", 48),
            _ => ("0000:01:00", 31),
        };
        let micros = n * EVERY_MICROS;
        writeln!(
            file,
            "3,{n},{micros},-;NVRM: Xid (PCI:{device}): {code}, pid=4242, name=python3, Ch 00000010, intr 10000000"
        )
        .unwrap();
    }
    file.flush().unwrap();
}

fn write_line(path: &Path, n: u64, text: &str) {
    fs::write(path, format!("6,{n},0,-;{text}\n")).unwrap();
}

/// Size of the state file.
fn bytes(data: &Path) -> f64 {
    fs::metadata(data.join("gpud.state")).unwrap().len() as f64
}
