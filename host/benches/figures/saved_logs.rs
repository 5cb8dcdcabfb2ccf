//! Large saved logs: a million lines each, without faults, with some, with many, and floods. How many lines a second
//! `gpud scan --kmsg-file` judges, its start included, and how much memory it takes at most.

use std::{
    fmt::Write as _,
    fs::{self, File},
    io::{BufWriter, Write},
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crate::table::{Table, Target};

const LINES: u64 = 1_000_000;
/// How often the memory of the process is looked at.
const LOOK: Duration = Duration::from_millis(10);

/// Writes line number `n`.
type Line = fn(u64, &mut String);

const LOGS: [(&str, Line); 5] = [
    ("without faults", quiet),
    ("5 % faults", |n, line| mixed(n, 20, line)),
    ("50 % faults", |n, line| mixed(n, 2, line)),
    ("a flood of AER", aer),
    ("a flood of Xids", xid),
];

pub fn measure(table: &mut Table) {
    eprintln!("saved logs …");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log");
    fs::write(&file, "[    1.000000] usb 1-1: new device\n").unwrap();
    // Compiled code is there from now on.
    scan(&file, folder.path());
    for (name, line) in LOGS {
        write(&file, line);
        let (took, memory) = scan(&file, folder.path());
        table.add(
            &format!("saved log of a million lines, {name}"),
            LINES as f64 / took.as_secs_f64(),
            "/s",
            Target::AtLeast(200_000.0),
        );
        table.add(
            "  most memory",
            memory / 1024.0,
            "MiB",
            Target::AtMost(150.0),
        );
    }
}

/// How long a scan takes, and its peak memory in KiB.
fn scan(file: &Path, home: &Path) -> (Duration, f64) {
    let started = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_gpud"))
        .args(["scan", "--json", "--kmsg-file"])
        .arg(file)
        .env("XDG_CACHE_HOME", home.join("cache"))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut peak: f64 = 0.0;
    loop {
        if let Ok(status) = fs::read_to_string(format!("/proc/{}/status", child.id())) {
            let line = status.lines().find(|line| line.starts_with("VmHWM:"));
            let words = line.and_then(|line| line.split_whitespace().nth(1));
            peak = peak.max(words.and_then(|word| word.parse().ok()).unwrap_or(0.0));
        }
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "{status}");
            return (started.elapsed(), peak);
        }
        std::thread::sleep(LOOK);
    }
}

fn write(path: &Path, line: Line) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    let mut text = String::new();
    for n in 0..LINES {
        text.clear();
        let _ = write!(text, "[{:>5}.{:06}] ", n / 100, n % 100 * 10_000);
        line(n, &mut text);
        text.push('\n');
        file.write_all(text.as_bytes()).unwrap();
    }
    file.flush().unwrap();
}

fn quiet(n: u64, line: &mut String) {
    let _ = write!(
        line,
        "systemd[1]: run-docker-runtime\\x2drunc-moby-{n:08x}.mount: Deactivated successfully."
    );
}

/// Every so many lines are an Xid or an error of a disk or a link.
fn mixed(n: u64, every: u64, line: &mut String) {
    if !n.is_multiple_of(every) {
        return quiet(n, line);
    }
    match n / every % 3 {
        0 => xid(n, line),
        1 => aer(n, line),
        _ => {
            let _ = write!(
                line,
                "I/O error, dev sdb, sector {} op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2",
                n * 8
            );
        }
    }
}

fn aer(n: u64, line: &mut String) {
    let _ = write!(
        line,
        "pcieport 0000:{:02x}:00.0: AER: Correctable error message received from 0000:{:02x}:00.0",
        n % 8,
        n % 8 + 16
    );
}

fn xid(n: u64, line: &mut String) {
    let _ = write!(
        line,
        "NVRM: Xid (PCI:0000:{:02x}:00): 31, pid={}, name=python3, Ch {:08x}, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7f{:02x}_{:08x}. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ",
        n % 8,
        1000 + n % 50_000,
        n % 64,
        n % 200,
        n.wrapping_mul(4096) & 0xffff_ffff
    );
}
