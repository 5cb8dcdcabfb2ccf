//! Kernel lines through parsing, accounting, prefilter and delivery, as the matcher thread does it.

use std::time::Instant;

use gpud::node::kmsg::{BootClock, InboxLimits, Matcher, Watcher};

use crate::table::{Table, Target};

const LINES: u64 = 1_000_000;
/// One line in this many matches.
const MATCHING: u64 = 1000;

pub fn measure(table: &mut Table) {
    eprintln!("kernel lines …");
    let records: Vec<Vec<u8>> = (0..10_000).map(record).collect();
    let watchers = patterns()
        .into_iter()
        .enumerate()
        .map(|(id, patterns)| Watcher {
            id,
            patterns,
            cursor: None,
            limits: InboxLimits::default(),
        })
        .collect();
    let (mut matcher, watching) = Matcher::new(BootClock::read(), watchers);
    assert!(watching.refused.is_empty(), "{:?}", watching.refused);
    let mut delivered = 0;
    let started = Instant::now();
    for round in 0..LINES / records.len() as u64 {
        for (n, template) in records.iter().enumerate() {
            let sequence = round * records.len() as u64 + n as u64;
            let mut raw = format!("4,{sequence},{},-;", sequence * 10).into_bytes();
            raw.extend_from_slice(template);
            matcher.feed(&raw).expect("a good record");
        }
        matcher.finish_batch();
        for inbox in watching.inboxes.values() {
            delivered += inbox.drain(usize::MAX).messages.len();
        }
    }
    let rate = LINES as f64 / started.elapsed().as_secs_f64();
    assert_eq!(
        delivered as u64,
        LINES / MATCHING,
        "every matching line is delivered"
    );
    table.add(
        "kernel lines through prefilter and matching",
        rate,
        "/s",
        Target::AtLeast(300_000.0),
    );
}

fn record(n: u64) -> Vec<u8> {
    let text = if n % MATCHING == MATCHING / 2 {
        format!(
            "NVRM: Xid (PCI:0000:{:02x}:00): 79, pid='<unknown>', GPU has fallen off the bus.",
            n % 256
        )
    } else {
        format!(
            "systemd[1]: run-docker-runtime\\x2drunc-moby-{n:08x}.mount: Deactivated successfully."
        )
    };
    format!("{text}\n SUBSYSTEM=none\n").into_bytes()
}

/// Patterns as the built-in checkers have them, and as many again as later ones may bring.
fn patterns() -> Vec<Vec<String>> {
    let words = |list: &[&str]| list.iter().map(|&word| word.to_owned()).collect();
    vec![
        words(&[r"NVRM: Xid \(", r"NVRM:.*fallen off the bus"]),
        words(&[
            r"task .+:\d+.* blocked for more than \d+ seconds",
            r"soft lockup - CPU#\d+ stuck",
        ]),
        words(&[
            "invoked oom-killer:",
            "oom-kill:constraint=",
            r"Killed process \d+",
            "Task in .* killed",
        ]),
        words(&[
            "md/raid.*: Disk failure on",
            "Remounting filesystem read-only",
            "block nvme.*: no available path",
            r"nvme nvme\d+: I/O .* timeout, reset controller",
            r"nvme nvme\d+: Disabling device after reset failure",
            "attempt to access beyond end of device",
            r"Buffer I/O error on dev \S+, logical block \d+",
            "I/O error while writing superblock",
        ]),
        words(&[
            "Kernel [pP]anic",
            r"CPU: \d+ (UID: \d+ )?PID: \d+ Comm:",
            r"VFS: file-max limit \d+ reached",
        ]),
        words(&[
            r"nvidia-nvswitch\d+: SXid",
            r"segfault at .* in libnccl",
            "nvidia_peermem",
            "mlx5_core",
        ]),
    ]
}
