//! Kernel lines through parsing, accounting, prefilter and delivery, as the matcher thread does it.

use std::time::Instant;

use gpud::{
    component::builtin,
    node::kmsg::{BootClock, InboxLimits, Matcher, Watcher},
    runtime::Runtime,
};

use crate::{
    guest,
    table::{Table, Target},
};

const LINES: u64 = 1_000_000;
/// One line in this many matches.
const MATCHING: u64 = 1000;

pub async fn measure(table: &mut Table, runtime: &Runtime) {
    eprintln!("kernel lines …");
    let records: Vec<Vec<u8>> = (0..10_000).map(record).collect();
    let patterns = patterns(runtime).await;
    let (checkers, count) = (patterns.len(), patterns.iter().map(Vec::len).sum::<usize>());
    let watchers = patterns
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
    assert!(
        delivered as u64 >= LINES / MATCHING,
        "every matching line is delivered"
    );
    table.add(
        "kernel lines through prefilter and matching",
        rate,
        "/s",
        Target::AtLeast(300_000.0),
    );
    table.note("  checkers that watch", checkers as f64, "");
    table.note("  their patterns", count as f64, "");
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

/// The patterns of all built-in checkers, asked of them.
async fn patterns(runtime: &Runtime) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for builtin in builtin::all() {
        let plugin = guest::load(runtime, builtin.folder).await;
        if plugin.watches_kmsg() {
            let patterns = plugin
                .patterns(&guest::call_context(builtin.component))
                .await;
            all.push(patterns.answer.expect("patterns"));
        }
    }
    all
}
