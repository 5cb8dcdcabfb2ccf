//! A log that is longer than what fits, and the log of this machine.

use super::*;

#[test]
fn a_whole_capture_fits_through_a_small_queue() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    for sequence in 0..20_000 {
        file.write_all(
            record(sequence, if sequence % 1000 == 0 { "hit" } else { "miss" }).as_bytes(),
        )
        .unwrap();
    }
    let log = KernelLog::start(Config {
        queue_bytes: 64 << 10,
        ..config(file.path())
    })
    .unwrap();
    let inboxes = log.set_watchers(vec![watcher(1, "hit", None)]).inboxes;
    assert_eq!(texts_up_to(&inboxes[&1], 19_999).len(), 20);
    let counters = log.counters();
    assert_eq!(
        (counters.records_examined, counters.lost_queue),
        (20_000, 0)
    );
}

/// Writes a line that occurs once in this boot; `None` (with the reason) where the kernel log cannot be written.
fn inject_unique() -> Option<String> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let unique = format!(
        "gpud test {}/{count} {};",
        std::process::id(),
        clock::now_ms()
    );
    match inject(severity("KERN_WARNING"), &format!("{unique}\twith a tab")) {
        Ok(()) => Some(unique),
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}

#[test]
fn a_line_in_the_real_kernel_log_reaches_the_inbox() {
    let log = KernelLog::start(Config::new("/dev/kmsg".into())).unwrap();
    let inboxes = log
        .set_watchers(vec![watcher(1, "^gpud test", None)])
        .inboxes;
    until(|| (log.status().state != SourceState::Starting).then_some(()));
    let Some(unique) = inject_unique() else {
        return;
    };
    let message = until(|| {
        inboxes[&1]
            .drain(99)
            .messages
            .into_iter()
            .find(|message| message.text.starts_with(&unique))
    });
    assert_eq!(message.text, format!("{unique} with a tab"));
    assert_eq!((message.level, message.facility), (4, 5));
    assert!(
        message.time.abs_diff(clock::now_ms()) < 60_000,
        "dated {}",
        message.time
    );
    let counters = log.counters();
    assert_eq!(
        (counters.unparsable, counters.lost_queue, counters.reopened),
        (0, 0, 0)
    );

    let found = read_back(
        Path::new("/dev/kmsg"),
        &regex::RegexSet::new([regex::escape(&unique)]).unwrap(),
        5,
        PATIENCE,
        BootClock::booted_at(0),
    )
    .unwrap();
    assert_eq!(
        found
            .messages
            .iter()
            .map(|found| found.sequence)
            .collect::<Vec<_>>(),
        [message.sequence]
    );
}

#[test]
fn a_restart_with_the_cursor_delivers_only_what_is_new() {
    let Some(old) = inject_unique() else { return };
    let mut watched = watcher(1, &regex::escape(&old), None);
    let taken_from = |log: &KernelLog, watched: &Watcher| {
        let inbox = log.set_watchers(vec![watched.clone()]).inboxes[&1].clone();
        until(|| Some(inbox.drain(99)).filter(|batch| !batch.messages.is_empty()))
    };
    let log = KernelLog::start(Config::new("/dev/kmsg".into())).unwrap();
    let before = taken_from(&log, &watched);
    drop(log);
    assert!(before.messages[0].text.starts_with(&old));

    let Some(new) = inject_unique() else { return };
    watched.patterns.push(regex::escape(&new));
    watched.cursor = before.high_sequence;
    let config = Config {
        resume_after: before.high_sequence,
        ..Config::new("/dev/kmsg".into())
    };
    let log = KernelLog::start(config).unwrap();
    // The old line stands before the new one, so it would be here as well.
    let after = taken_from(&log, &watched);
    assert_eq!(after.messages.len(), 1);
    assert!(after.messages[0].text.starts_with(&new));
    assert_eq!(log.counters().lost_overrun, 0);
}

#[test]
fn what_does_not_fit_into_an_inbox_is_read_from_the_log_again() {
    let limits = InboxLimits {
        messages: 4,
        bytes: 1 << 20,
    };
    let watchers = vec![Watcher {
        limits,
        ..watcher(1, "want", None)
    }];
    let (mut matcher, watching) = Matcher::new(BootClock::booted_at(0), watchers);
    let inbox = &watching.inboxes[&1];
    let mut log = tempfile::NamedTempFile::new().unwrap();
    for sequence in 0..20 {
        let text = if sequence % 2 == 0 { "want" } else { "other" };
        let record = record(sequence, text);
        matcher.feed(record.as_bytes()).unwrap();
        // The ring has overwritten what is older.
        if sequence >= 11 {
            log.write_all(record.as_bytes()).unwrap();
        }
    }
    matcher.finish_batch();
    let mut seen = Vec::new();
    let mut lost = Vec::new();
    let mut places = Vec::new();
    loop {
        let batch = inbox.drain(3);
        seen.extend(batch.messages.iter().map(|message| message.sequence));
        lost.extend(batch.lost);
        places.push(batch.high_sequence);
        if batch.messages.is_empty() && !batch.overflowed {
            break;
        }
        if batch.overflowed {
            matcher.refill(log.path(), &|| false);
        }
    }
    assert_eq!(seen, [0, 2, 4, 6, 12, 14, 16, 18]);
    assert_eq!(lost.len(), 1);
    assert_eq!(
        (lost[0].first_lost, lost[0].last_lost, lost[0].count),
        (8, 10, 2)
    );
    assert!(places.is_sorted(), "{places:?}");
    assert_eq!(places.last(), Some(&Some(19)));
    // What comes later is put in as usual.
    matcher.feed(record(20, "want").as_bytes()).unwrap();
    assert_eq!(inbox.drain(3).messages[0].sequence, 20);
}

#[test]
fn a_log_that_is_gone_for_a_while_costs_nothing() {
    let limits = InboxLimits {
        messages: 2,
        bytes: 1 << 20,
    };
    let watchers = vec![Watcher {
        limits,
        ..watcher(1, "want", None)
    }];
    let (mut matcher, watching) = Matcher::new(BootClock::booted_at(0), watchers);
    let inbox = &watching.inboxes[&1];
    let mut log = tempfile::NamedTempFile::new().unwrap();
    for sequence in 0..4 {
        let record = record(sequence, "want");
        matcher.feed(record.as_bytes()).unwrap();
        log.write_all(record.as_bytes()).unwrap();
    }
    assert_eq!(inbox.drain(9).messages.len(), 2);
    matcher.refill(Path::new("/nonexistent"), &|| false);
    let batch = inbox.drain(9);
    assert_eq!(
        (batch.messages.len(), batch.overflowed, batch.high_sequence),
        (0, true, Some(1))
    );
    matcher.refill(log.path(), &|| false);
    let batch = inbox.drain(9);
    let sequences: Vec<u64> = batch.messages.iter().map(|m| m.sequence).collect();
    assert_eq!((sequences, batch.lost), (vec![2, 3], None));
}
