//! Logs that are not there, or have no messages.

use super::*;

#[test]
fn a_missing_source_is_shown_and_found_when_it_comes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kmsg");
    let log = KernelLog::start(config(&path)).unwrap();
    let inboxes = log.set_watchers(vec![watcher(1, "Xid", None)]).inboxes;
    let (error, since) = until(|| match log.status().state {
        SourceState::Unavailable { error, since } => Some((error, since)),
        _ => None,
    });
    assert_eq!(error, SourceError::NotFound(path.display().to_string()));
    assert!(since > 1_600_000_000_000);
    std::fs::write(&path, record(3, "Xid")).unwrap();
    assert_eq!(texts_up_to(&inboxes[&1], 3), ["Xid"]);
    // The message may be through before the reader has said that it is back.
    until(|| (log.status().state == SourceState::Following).then_some(()));
}

#[test]
fn dev_null_is_a_log_without_messages_and_ends_at_once() {
    let log = KernelLog::start(Config {
        file_poll: PATIENCE,
        ..config(Path::new("/dev/null"))
    })
    .unwrap();
    until(|| (log.status().state == SourceState::Following).then_some(()));
    let inboxes = log.set_watchers(vec![watcher(1, ".", None)]).inboxes;
    log.shutdown();
    assert_eq!(log.status().state, SourceState::Stopped);
    assert!(log.threads.lock().unwrap().is_empty());
    assert_eq!(log.counters(), CounterValues::default());
    assert_eq!(inboxes[&1].drain(9), Batch::default());
}
