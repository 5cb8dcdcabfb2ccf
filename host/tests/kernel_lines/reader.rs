//! The same lines through the reader: the outcome of every record is known.

use std::{
    io::Write as _,
    thread,
    time::{Duration, Instant},
};

use gpud::node::kmsg::{
    self, BootClock, Config, InboxLimits, KernelLog, KernelMessage, SourceState, Watcher,
};

use crate::lines;

const RECORDS: usize = 4096;
const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn no_record_stops_the_reader_and_none_is_lost_silently() {
    let log = lines::log(0x7265_6164, RECORDS);
    let clock = BootClock::booted_at(1_800_000_000_000);
    let messages: Vec<KernelMessage> = log
        .records
        .iter()
        .filter_map(|record| kmsg::parse(record, clock).ok())
        .collect();
    assert!(log.unparsable > 0 && log.lost > 0);
    assert_eq!(
        messages.len() as u64 + log.unparsable,
        log.records.len() as u64
    );
    let last = messages.last().unwrap().sequence;

    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&log.records.concat()).unwrap();
    let quick = Duration::from_millis(10);
    let reader = KernelLog::start(Config {
        clock,
        retry: quick,
        file_poll: quick,
        ..Config::new(file.path().into())
    })
    .unwrap();
    let watching = reader.set_watchers(vec![watcher(1, ""), watcher(2, "Xid")]);
    assert!(watching.refused.is_empty());
    let mut received = [Vec::new(), Vec::new()];
    for (id, received) in (1..).zip(&mut received) {
        let inbox = &watching.inboxes[&id];
        let started = Instant::now();
        loop {
            let batch = inbox.drain(512);
            assert!(batch.lost.is_none() && !batch.overflowed);
            received.extend(batch.messages.iter().map(|message| (**message).clone()));
            if batch.high_sequence >= Some(last) {
                break;
            }
            assert!(started.elapsed() < PATIENCE, "waited in vain");
            thread::sleep(Duration::from_millis(2));
        }
    }
    // A later piece of a line can begin with a user's text.
    let is_whole = |message: &&KernelMessage| !message.fragment;
    let whole = || messages.iter().filter(is_whole);
    assert!(whole().count() < messages.len());
    let all = received[0].iter().eq(whole());
    assert!(all, "all, in order, as they were");
    let is_xid = |message: &&KernelMessage| message.text.contains("Xid");
    assert!(received[1].iter().eq(whole().filter(is_xid)));

    let counters = reader.counters();
    assert_eq!(counters.records_read, log.records.len() as u64);
    assert_eq!(counters.records_examined, messages.len() as u64);
    assert_eq!(counters.unparsable, log.unparsable);
    assert_eq!(counters.lost_overrun, log.lost);
    assert_eq!((counters.lost_queue, counters.reopened), (0, 0));
    let gaps = reader.gaps().take();
    assert_eq!(gaps.iter().map(|gap| gap.count).sum::<u64>(), log.lost);
    assert_eq!(reader.status().state, SourceState::Following);
}

fn watcher(id: usize, pattern: &str) -> Watcher {
    Watcher {
        id,
        patterns: vec![pattern.to_owned()],
        cursor: None,
        limits: InboxLimits {
            messages: RECORDS,
            bytes: 64 << 20,
        },
    }
}
