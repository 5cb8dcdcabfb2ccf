use super::super::{Kind, Sample, Store, StoreError, StoreOptions};
use super::{event, insert, messages, open, options, state_file};
use rusqlite::Connection;
use std::os::unix::fs::FileExt;
use std::sync::mpsc;
use std::time::Duration;

/// Holds the writer thread until the sender is dropped, so that later jobs wait and are committed together.
async fn hold(
    store: &Store,
) -> (
    mpsc::Sender<()>,
    tokio::task::JoinHandle<Result<(), StoreError>>,
) {
    let (release, held) = mpsc::channel::<()>();
    let (begins, begun) = tokio::sync::oneshot::channel();
    let store = store.clone();
    let job = tokio::spawn(async move {
        let held = std::sync::Mutex::new(held);
        let mut begins = Some(begins);
        store
            .write(Kind::InsertUpdate, move |_| {
                begins.take().map(|begins| begins.send(()));
                let _ = held.lock().unwrap().recv();
                Ok(())
            })
            .await
    });
    begun.await.unwrap();
    (release, job)
}

#[tokio::test]
async fn a_bad_job_does_not_fail_the_jobs_committed_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let (release, held) = hold(&store).await;
    let good = |second: u64| {
        let store = store.clone();
        async move {
            store
                .insert_events("c", vec![event(second, "e", "good")], None)
                .await
        }
    };
    let bad = store.write(Kind::InsertUpdate, |conn| {
        conn.execute("INSERT INTO meta (key, value) VALUES ('half', 'done')", [])?;
        Ok(conn.execute("INSERT INTO no_such_table VALUES (1)", [])?)
    });
    // The whole transaction goes, as SQLite does it on its own account for some faults.
    let fatal = store.write(Kind::InsertUpdate, |conn| {
        conn.execute_batch("ROLLBACK")?;
        Ok(conn.execute("INSERT INTO no_such_table VALUES (1)", [])?)
    });
    let release = async move {
        // All are in the queue once this runs: `join!` polls in order.
        drop(release);
    };
    let (first, bad, fatal, second, ()) = tokio::join!(good(1), bad, fatal, good(2), release);
    held.await.unwrap().unwrap();
    assert!(first.is_ok() && second.is_ok(), "{first:?} {second:?}");
    assert!(matches!(bad, Err(StoreError::Sql(_))), "{bad:?}");
    assert!(matches!(fatal, Err(StoreError::Sql(_))), "{fatal:?}");
    assert_eq!(messages(&store, "c").await, ["good", "good"]);
    let counts: Vec<u64> = store
        .events("c", 0, None)
        .await
        .unwrap()
        .iter()
        .map(|row| row.count)
        .collect();
    assert_eq!(counts, [1, 1]);
    assert_eq!(store.meta_get("half").await.unwrap(), None);
    assert_eq!(store.health(), None);
}

#[tokio::test]
async fn a_full_disk_fails_writes_until_there_is_space() {
    let folder = tempfile::tempdir().unwrap();
    let small = StoreOptions {
        max_bytes: Some(400_000),
        ..options(folder.path())
    };
    let store = Store::open(small).unwrap().store;
    let text = "x".repeat(20_000);
    let mut stored = 0_u64;
    let full = loop {
        let rows = vec![event(stored + 1, "e", &text)];
        match store.insert_events("c", rows, None).await {
            Ok(_) => stored += 1,
            Err(error) => break error,
        }
        assert!(stored < 100, "the limit is not kept");
    };
    assert!(matches!(full, StoreError::DiskFull(_)), "{full}");
    assert_eq!(store.health(), Some(full));
    assert!(stored > 5);
    assert_eq!(messages(&store, "c").await.len() as u64, stored);
    // What is too large to be stored must not fail what waits beside it.
    let (release, held) = hold(&store).await;
    let large = store.insert_events("c", vec![event(999, "e", &text)], None);
    let small = store.meta_set("k", "v");
    let (large, small, ()) = tokio::join!(large, small, async move { drop(release) });
    held.await.unwrap().unwrap();
    assert!(matches!(large, Err(StoreError::DiskFull(_))), "{large:?}");
    assert_eq!(small, Ok(()));
    // What writes nothing is no evidence of room.
    let large = store.insert_events("c", vec![event(999, "e", &text)], None);
    assert!(matches!(large.await, Err(StoreError::DiskFull(_))));
    let since = store.outage();
    store.delete_events("nobody", 2_000).await.unwrap();
    assert_eq!(store.outage(), since);
    store.delete_events("c", 2_000).await.unwrap();
    insert(&store, "c", event(1_000, "e", &text)).await;
    assert_eq!(store.health(), None);
}

#[tokio::test]
async fn what_waits_is_read_among_what_is_stored() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let read = async |limit| {
        let events = store.events("c", 2_500, limit).await.unwrap();
        let messages = events.into_iter().map(|row| row.event.message);
        messages.collect::<Vec<_>>()
    };
    // Nothing is known to be there, and that is remembered.
    assert_eq!(read(None).await, [""; 0]);
    let lot = |seconds: &[u64]| {
        let events = seconds.iter().map(|&at| event(at, "e", &at.to_string()));
        events.collect::<Vec<_>>()
    };
    let first = store.show_waiting("c", lot(&[2, 3, 5]));
    assert!(store.has_waiting("c") && !store.has_waiting("d"));
    assert_eq!(read(None).await, ["5", "3"]);
    // One of them was stored before: it counts once.
    store.insert_events("c", lot(&[4, 5]), None).await.unwrap();
    let second = store.show_waiting("c", lot(&[6]));
    assert_eq!(read(None).await, ["6", "5", "4", "3"]);
    assert_eq!(read(Some(2)).await, ["6", "5"]);
    assert_eq!(store.events("d", 0, None).await, Ok(Vec::new()));
    drop(first);
    assert_eq!(read(None).await, ["6", "5", "4"]);
    drop(second);
    assert_eq!(read(None).await, ["5", "4"]);
    assert!(!store.has_waiting("c"));
}

#[tokio::test]
async fn corruption_met_while_running_is_reported_and_set_aside_at_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let rows = (1..=300)
        .map(|row| event(row, "e", &format!("{row:0>900}")))
        .collect();
    store.insert_events("c", rows, None).await.unwrap();
    store.checkpoint_and_close().await.unwrap();
    let store = open(folder.path());
    let file = std::fs::File::options()
        .write(true)
        .open(state_file(folder.path()))
        .unwrap();
    let pages = std::fs::metadata(state_file(folder.path())).unwrap().len() / 4096;
    for page in 20..pages {
        file.write_all_at(&[0xA5; 4096], page * 4096).unwrap();
    }
    let read = store.events("c", 0, None).await;
    assert!(matches!(read, Err(StoreError::Corrupt(_))), "{read:?}");
    assert!(matches!(store.health(), Some(StoreError::Corrupt(_))));
    // A write that works does not make the file whole.
    store.meta_set("k", "v").await.unwrap();
    assert!(matches!(store.health(), Some(StoreError::Corrupt(_))));
    store.checkpoint_and_close().await.unwrap();
    let opened = Store::open(options(folder.path())).unwrap();
    assert!(opened.set_aside.is_some());
}

#[tokio::test]
async fn a_write_behind_a_foreign_lock_waits_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let other = Connection::open(state_file(folder.path())).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let write = tokio::spawn({
        let store = store.clone();
        async move { store.meta_set("k", "v").await }
    });
    // Reads go on in the meantime.
    assert_eq!(store.meta_get("k").await.unwrap(), None);
    other.execute_batch("COMMIT").unwrap();
    write.await.unwrap().unwrap();
    assert_eq!(store.meta_get("k").await.unwrap().as_deref(), Some("v"));
}

#[tokio::test]
async fn many_writers_and_readers_share_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let tasks: Vec<_> = (0..50_u64)
        .map(|task| {
            let store = store.clone();
            tokio::spawn(async move {
                let component = format!("c{task}");
                for second in 0..10 {
                    insert(&store, &component, event(second + 1, "e", "m")).await;
                    // What was acknowledged is seen at once.
                    assert_eq!(messages(&store, &component).await.len() as u64, second + 1);
                }
                let sample = Sample {
                    component,
                    name: "m".to_owned(),
                    labels: Vec::new(),
                    value: 1.0,
                };
                store.insert_samples(task, vec![sample]).await.unwrap();
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(store.samples(0, None).await.unwrap().len(), 50);
}

/// Gives up on a job that holds the writer.
async fn hung(folder: &std::path::Path) -> (Store, mpsc::Sender<()>) {
    let patient = StoreOptions {
        patience: Duration::from_millis(300),
        ..options(folder)
    };
    let store = Store::open(patient).unwrap().store;
    let (release, held) = hold(&store).await;
    assert_eq!(held.await.unwrap(), Err(StoreError::Hangs));
    (store, release)
}

#[tokio::test]
async fn a_database_that_hangs_holds_up_nobody_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (store, release) = hung(folder.path()).await;
    assert_eq!(store.health(), Some(StoreError::Hangs));
    let refused = store
        .insert_events("c", vec![event(1, "e", "refused")], None)
        .await;
    assert_eq!(refused.unwrap_err(), StoreError::Hangs);
    assert_eq!(store.reboots(0).await.unwrap_err(), StoreError::Hangs);
    assert!(store.trouble().unwrap().contains("does not answer"));
    drop(release);
    store.outage_over().await;
    assert_eq!(store.health(), None);
    insert(&store, "c", event(2, "e", "again")).await;
    assert_eq!(messages(&store, "c").await, ["again"]);
}

#[tokio::test]
async fn what_was_given_up_in_the_queue_is_not_done() {
    let folder = tempfile::tempdir().unwrap();
    let patient = StoreOptions {
        patience: Duration::from_millis(300),
        ..options(folder.path())
    };
    let store = Store::open(patient).unwrap().store;
    let (release, held) = hold(&store).await;
    let (waiting, held) = tokio::join!(
        store.insert_events("c", vec![event(1, "e", "given up")], None),
        held
    );
    assert_eq!(waiting.unwrap_err(), StoreError::Hangs);
    assert_eq!(held.unwrap(), Err(StoreError::Hangs));
    drop(release);
    store.outage_over().await;
    assert!(messages(&store, "c").await.is_empty());
}

#[tokio::test]
async fn a_database_that_hangs_is_closed_in_time() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _release) = hung(folder.path()).await;
    assert_eq!(store.checkpoint_and_close().await, Err(StoreError::Hangs));
}

#[tokio::test]
async fn a_read_that_takes_long_is_ended_and_is_no_disk_that_hangs() {
    let folder = tempfile::tempdir().unwrap();
    let patient = StoreOptions {
        patience: Duration::from_millis(300),
        ..options(folder.path())
    };
    let store = Store::open(patient).unwrap().store;
    let slow = || {
        store.read(|conn| {
            let endless = "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
            Ok(conn.query_row(endless, [], |row| row.get::<_, i64>(0))?)
        })
    };
    let (first, second, third) = tokio::join!(slow(), slow(), slow());
    for read in [first, second, third] {
        assert_eq!(read.unwrap_err(), StoreError::Slow);
    }
    assert_eq!(store.health(), None);
    insert(&store, "c", event(1, "e", "goes on")).await;
    assert_eq!(messages(&store, "c").await, ["goes on"]);
}

#[tokio::test]
async fn a_lock_that_is_still_held_is_not_waited_for_as_long_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let other = Connection::open(state_file(folder.path())).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut waits = Vec::new();
    for second in 1..=2 {
        let begun = std::time::Instant::now();
        let events = vec![event(second, "e", "waits")];
        let stored = store.insert_events("c", events, None).await;
        assert!(matches!(stored, Err(StoreError::Locked(_))), "{stored:?}");
        waits.push(begun.elapsed());
    }
    // The baseline is the first wait.
    assert!(waits[1] < waits[0] / 5, "{waits:?}");
    other.execute_batch("ROLLBACK").unwrap();
    insert(&store, "c", event(3, "e", "stored")).await;
    assert_eq!(store.outage(), None);
    assert_eq!(messages(&store, "c").await, ["stored"]);
}
