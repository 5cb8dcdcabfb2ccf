//! The kernel log as a whole: real threads, real files, and the real `/dev/kmsg` where it can be written.

use std::{
    io::Write as _,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use super::*;

mod long_logs;
mod missing_logs;

/// Long enough for any machine; a test that works never waits so long.
const PATIENCE: Duration = Duration::from_secs(30);

fn config(path: &Path) -> Config {
    let quick = Duration::from_millis(10);
    Config {
        clock: BootClock::booted_at(0),
        retry: quick,
        file_poll: quick,
        ..Config::new(path.into())
    }
}

fn watcher(id: WatcherId, pattern: &str, cursor: Option<u64>) -> Watcher {
    Watcher {
        id,
        patterns: vec![pattern.into()],
        cursor,
        limits: InboxLimits::default(),
    }
}

fn record(sequence: u64, text: &str) -> String {
    format!("6,{sequence},{sequence},-;{text}\n")
}

fn until<T>(mut probe: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = probe() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "waited in vain");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Drains until the inbox says that everything up to `sequence` was examined.
fn texts_up_to(inbox: &Inbox, sequence: u64) -> Vec<String> {
    let mut texts = Vec::new();
    until(|| {
        let batch = inbox.drain(3);
        texts.extend(batch.messages.iter().map(|message| message.text.clone()));
        (batch.high_sequence >= Some(sequence)).then_some(())
    });
    texts
}

#[test]
fn a_file_is_read_and_followed_past_a_bad_record() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    write!(
        file,
        "{}this is no record\n{}",
        record(0, "Xid a"),
        record(2, "Xid b")
    )
    .unwrap();
    let log = KernelLog::start(config(file.path())).unwrap();
    let inboxes = log
        .set_watchers(vec![watcher(1, "Xid", None), watcher(2, "oom", None)])
        .inboxes;
    assert_eq!(texts_up_to(&inboxes[&1], 2), ["Xid a", "Xid b"]);
    write!(
        file,
        "{}{}{}",
        record(3, "oom"),
        record(4, "nothing"),
        record(8, "Xid oom")
    )
    .unwrap();
    assert_eq!(texts_up_to(&inboxes[&1], 8), ["Xid oom"]);
    assert_eq!(texts_up_to(&inboxes[&2], 8), ["oom", "Xid oom"]);
    let counters = log.counters();
    assert_eq!(
        (
            counters.records_read,
            counters.records_examined,
            counters.unparsable
        ),
        (6, 5, 1)
    );
    assert_eq!(
        (counters.lost_overrun, counters.gaps, counters.lost_queue),
        (3, 1, 0)
    );
    assert_eq!(log.gaps().take()[0].first_lost, 5);
    assert_eq!(log.status().state, SourceState::Following);
}

/// The kernel prints `oom-kill:…,cpuset=`, the name of a cgroup and `,mems_allowed=…` one after the other. Where another
/// line comes between, the name begins a record of its own; a user chose it.
#[test]
fn a_later_piece_of_a_line_is_delivered_to_nobody() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    write!(
        file,
        "{}4,2,2,c;Xid forged\n4,3,3,+;Xid forged\n{}",
        record(1, "oom-kill:cpuset="),
        record(4, "Xid true")
    )
    .unwrap();
    let log = KernelLog::start(config(file.path())).unwrap();
    let first = log.set_watchers(vec![watcher(1, "Xid", None)]).inboxes;
    assert_eq!(texts_up_to(&first[&1], 4), ["Xid true"]);
    // Nor to a watcher that comes when they have gone by.
    let second = log.set_watchers(vec![watcher(1, "Xid", None), watcher(2, "Xid", None)]);
    assert_eq!(texts_up_to(&second.inboxes[&2], 4), ["Xid true"]);
}

#[test]
fn cursors_and_late_watchers() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    for sequence in 10..20 {
        write!(file, "{}", record(sequence, &format!("m{sequence}"))).unwrap();
    }
    let log = KernelLog::start(Config {
        resume_after: Some(7),
        ..config(file.path())
    })
    .unwrap();
    let first = log.set_watchers(vec![watcher(1, "^m", Some(16))]).inboxes;
    assert_eq!(texts_up_to(&first[&1], 19), ["m17", "m18", "m19"]);
    assert_eq!(
        log.gaps().take(),
        [Gap {
            cause: GapCause::Overrun,
            first_lost: 8,
            last_lost: 9,
            count: 2,
            time: 0
        }]
    );

    // By now everything has gone by; the new watcher gets it all the same, the old one nothing twice.
    let second = log.set_watchers(vec![
        watcher(1, "^m", None),
        watcher(2, "m1[89]", Some(18)),
        watcher(3, "m1[01]", None),
    ]);
    assert_eq!(texts_up_to(&second.inboxes[&2], 19), ["m19"]);
    assert_eq!(texts_up_to(&second.inboxes[&3], 19), ["m10", "m11"]);
    write!(file, "{}", record(20, "m1 m18 m10")).unwrap();
    for inbox in second.inboxes.values() {
        assert_eq!(texts_up_to(inbox, 20), ["m1 m18 m10"]);
    }

    // A cursor that the log has not reached was of another boot.
    let third = log.set_watchers(vec![watcher(4, "m1[3]", Some(5000))]);
    until(|| {
        third.inboxes[&4]
            .drain(1)
            .messages
            .pop()
            .filter(|message| message.text == "m13")
    });
}

#[test]
fn a_stale_cursor_is_found_out_at_the_start_too() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    write!(file, "{}{}", record(0, "Xid a"), record(1, "Xid b")).unwrap();
    let (queue, log) = (queue::Queue::new(1 << 20), file.path());
    queue
        .push(queue::tests::batch(&[
            &record(0, "Xid a"),
            &record(1, "Xid b"),
        ]))
        .unwrap();
    queue.mark_caught_up(Some(1));
    queue
        .push(queue::tests::batch(&[&record(2, "Xid c")]))
        .unwrap();
    let (matcher, watching) =
        Matcher::new(BootClock::booted_at(0), vec![watcher(1, "Xid", Some(900))]);
    thread::scope(|scope| {
        let counters = counters::Counters::default();
        scope.spawn(|| {
            until(|| queue.is_empty().then_some(()));
            queue.stop();
        });
        pipeline::run(matcher, &queue, &counters, log);
    });
    let batch = watching.inboxes[&1].drain(9);
    let texts: Vec<_> = batch
        .messages
        .iter()
        .map(|message| message.text.as_str())
        .collect();
    assert_eq!(texts, ["Xid a", "Xid b", "Xid c"]);
    assert_eq!(batch.high_sequence, Some(2));
}

#[test]
fn another_boot_in_the_same_file_is_delivered() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    write!(
        file,
        "{}{}{}",
        record(50, "Xid a"),
        record(0, "Xid b"),
        record(2, "Xid c")
    )
    .unwrap();
    let log = KernelLog::start(config(file.path())).unwrap();
    let inbox = log.set_watchers(vec![watcher(1, "Xid", None)]).inboxes[&1].clone();
    let mut texts = Vec::new();
    until(|| {
        texts.extend(
            inbox
                .drain(9)
                .messages
                .iter()
                .map(|message| message.text.clone()),
        );
        (texts.len() >= 3).then_some(())
    });
    assert_eq!(log.counters().lost_overrun, 1);
    // A late watcher gets both boots too.
    let late = log
        .set_watchers(vec![watcher(1, "Xid", None), watcher(2, "Xid [ab]", None)])
        .inboxes[&2]
        .clone();
    let mut count = 0;
    until(|| {
        count += late.drain(9).messages.len();
        (count >= 2).then_some(())
    });
    // A shorter file is another log as well.
    std::fs::write(file.path(), record(7, "Xid d")).unwrap();
    until(|| {
        inbox
            .drain(9)
            .messages
            .pop()
            .filter(|message| message.text == "Xid d")
    });
    assert_eq!(
        (log.counters().reopened, log.counters().lost_overrun),
        (1, 1)
    );
}

#[tokio::test]
async fn removed_and_refused_watchers_have_closed_inboxes() {
    let log = KernelLog::start(config(Path::new("/dev/null"))).unwrap();
    let first = log
        .set_watchers(vec![
            watcher(1, "a", None),
            watcher(2, "b", None),
            watcher(3, "c", None),
        ])
        .inboxes;
    let second = log.set_watchers(vec![watcher(2, "(", None), watcher(3, "d", None)]);
    assert_eq!(
        second
            .refused
            .iter()
            .map(PatternError::watcher)
            .collect::<Vec<_>>(),
        [2]
    );
    assert_eq!(second.inboxes.keys().collect::<Vec<_>>(), [&3]);
    assert!(!first[&1].readable().await);
    assert!(!first[&2].readable().await);
    drop(log);
    assert!(!first[&3].readable().await);
}

#[test]
fn the_path_comes_from_the_variable() {
    for (variable, expected) in [
        (None, "/dev/kmsg"),
        (Some(" "), "/dev/kmsg"),
        (Some(" /dev/null\n"), "/dev/null"),
    ] {
        assert_eq!(source_path(variable), Path::new(expected));
    }
}
