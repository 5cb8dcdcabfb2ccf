use super::super::compact;
use super::super::retention::RULES;
use super::super::{PurgeCounts, Sample, StateChange, Store, StoreError, StoreOptions};
use super::{event, in_memory, insert, messages, open, options, state_file};
use crate::model::{Event, EventType, Health};

const DAY: u64 = 24 * 3600 * 1000;
const NOW: u64 = 1_770_000_000_000;

#[tokio::test]
async fn every_table_with_a_time_has_a_rule() {
    let store = in_memory();
    let timed: Vec<String> = store
        .read(|conn| {
            let mut query = conn.prepare(
                "SELECT DISTINCT tables.name FROM sqlite_master AS tables, pragma_table_info(tables.name) AS columns
                 WHERE tables.type = 'table' AND (columns.name LIKE '%time%' OR columns.name LIKE '%\\_ms' ESCAPE '\\')
                 ORDER BY tables.name",
            )?;
            let names = query.query_map([], |row| row.get(0))?;
            Ok(names.collect::<Result<_, _>>()?)
        })
        .await
        .unwrap();
    let mut ruled: Vec<&str> = RULES.iter().map(|rule| rule.table).collect();
    ruled.sort_unstable();
    assert_eq!(timed, ruled);
}

#[tokio::test]
async fn each_table_loses_exactly_what_is_past_its_retention() {
    let store = in_memory();
    let sample = || {
        vec![Sample {
            component: "a".to_owned(),
            name: "m".to_owned(),
            labels: Vec::new(),
            value: 1.0,
        }]
    };
    let change = |time, reason: &str| StateChange {
        time,
        name: "a".to_owned(),
        health: Health::Healthy,
        reason: reason.to_owned(),
        subject: None,
    };
    for (age, what) in [(14 * DAY + 1000, "old"), (14 * DAY, "kept")] {
        insert(&store, "a", event((NOW - age) / 1000, "e", what)).await;
        store
            .record_state("a", change(NOW - age, what))
            .await
            .unwrap();
        store.add_mark("a", NOW - age).await.unwrap();
    }
    store.add_mark("only", NOW - 99 * DAY).await.unwrap();
    for age in [3 * DAY / 24 + 1, 3 * DAY / 24] {
        store.insert_samples(NOW - age, sample()).await.unwrap();
    }
    let purged = store.purge(NOW).await.unwrap();
    assert_eq!(
        purged,
        PurgeCounts {
            old: 4,
            ..PurgeCounts::default()
        }
    );
    assert_eq!(messages(&store, "a").await, ["kept"]);
    assert_eq!(store.state_history("a", 0).await.unwrap()[0].reason, "kept");
    assert_eq!(store.marks("a", 0).await.unwrap(), [NOW - 14 * DAY]);
    // The newest mark of a component stays.
    assert_eq!(store.marks("only", 0).await.unwrap().len(), 1);
    assert_eq!(store.samples(0, None).await.unwrap().len(), 1);
    // Series without samples go too.
    store.purge(NOW + DAY).await.unwrap();
    let series: i64 = store
        .read(
            |conn| Ok(conn.query_row("SELECT count(*) FROM metric_series", [], |row| row.get(0))?),
        )
        .await
        .unwrap();
    assert_eq!(series, 0);
}

#[tokio::test]
async fn one_component_cannot_fill_the_table() {
    let store = in_memory();
    insert(&store, "quiet", event(NOW / 1000, "e", "kept")).await;
    store
        .write(super::super::Kind::InsertUpdate, |conn| {
            Ok(conn.execute(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100003)
                 INSERT INTO event (component, time_ms, last_time_ms, name, type, message, detail, count, dedup)
                 SELECT 'loud', ?1 + i * 1000, ?1 + i * 1000, '', '', i, '{}', 1, randomblob(16) FROM n",
                [NOW as i64],
            )?)
        })
        .await
        .unwrap();
    let purged = store.purge(NOW).await.unwrap();
    assert_eq!(
        purged,
        PurgeCounts {
            excess: 3,
            ..PurgeCounts::default()
        }
    );
    let left = messages(&store, "loud").await;
    assert_eq!((left.len(), left.last().unwrap().as_str()), (100_000, "4"));
    assert_eq!(messages(&store, "quiet").await, ["kept"]);
}

/// The worst event of all is the oldest, and a flood of lesser ones of other seconds follows.
#[tokio::test]
async fn a_flood_of_lesser_events_displaces_no_fatal_one() {
    let store = in_memory();
    for (second, event_type) in [
        (1, EventType::Fatal),
        (2, EventType::Warning),
        (3, EventType::Critical),
    ] {
        let worst = Event {
            event_type,
            ..event(NOW / 1000 + second, "e", &second.to_string())
        };
        insert(&store, "loud", worst).await;
    }
    store
        .write(super::super::Kind::InsertUpdate, |conn| {
            Ok(conn.execute(
                "WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < 100010)
                 INSERT INTO event (component, time_ms, last_time_ms, name, type, message, detail, count, dedup)
                 SELECT 'loud', ?1 + i * 1000, ?1 + i * 1000, '', 'Warning', i, '{}', 1, randomblob(16) FROM n",
                [NOW as i64],
            )?)
        })
        .await
        .unwrap();
    assert_eq!(store.purge(NOW).await.unwrap().excess, 4);
    let left = messages(&store, "loud").await;
    assert_eq!(left.len(), 100_000);
    let oldest: Vec<&str> = left.iter().rev().take(3).map(String::as_str).collect();
    assert_eq!(oldest, ["1", "3", "13"]);
    // A checker that reads no more than it may gets them too, in the place of the oldest others.
    let read = store.events("loud", 0, Some(10_000)).await.unwrap();
    let read: Vec<&str> = read
        .iter()
        .map(|stored| stored.event.message.as_str())
        .collect();
    assert_eq!((read.len(), read[0]), (10_000, "100010"));
    assert_eq!(read[9_997..], ["90013", "3", "1"]);
    // Of few, half are the newest in any case.
    let read = store.events("loud", 0, Some(3)).await.unwrap();
    let read: Vec<&str> = read
        .iter()
        .map(|stored| stored.event.message.as_str())
        .collect();
    assert_eq!(read, ["100010", "100009", "3"]);
}

#[tokio::test]
async fn purged_space_is_given_back_and_the_log_stays_small() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let text = "x".repeat(10_000);
    for round in 0..20 {
        let rows = (0..100)
            .map(|row| event(round * 100 + row, "e", &text))
            .collect();
        store.insert_events("a", rows, None).await.unwrap();
    }
    let full = store.size_bytes().await.unwrap();
    assert!(full > 20_000_000, "{full}");
    let log = state_file(folder.path()).with_extension("state-wal");
    let log = std::fs::metadata(log).unwrap().len();
    assert!(log < 10_000_000, "{log}");
    // 2,000 rows of three pages: the first purge gives a part back, the next ones the rest.
    for _ in 0..4 {
        store.purge(NOW).await.unwrap();
    }
    let empty = store.size_bytes().await.unwrap();
    assert!(empty < 1_000_000, "{empty}");
    let counters = store.counters();
    assert_eq!(counters.vacuum.count, 4);
    assert_eq!(counters.insert_update.count, 20);
    assert_eq!(counters.select.count, 2);
    assert!(counters.delete.count > 4 && counters.insert_update.time.as_nanos() > 0);
}

#[tokio::test]
async fn compacting_needs_the_folder_and_shrinks_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = state_file(folder.path());
    assert!(matches!(compact(&file), Err(StoreError::Io(_))));
    assert!(!file.exists());
    let store = open(folder.path());
    let rows = (0..100)
        .map(|row| event(row, "e", &"x".repeat(10_000)))
        .collect();
    store.insert_events("a", rows, None).await.unwrap();
    insert(&store, "a", event(200, "e", "kept")).await;
    store.delete_events("a", 100_000).await.unwrap();
    assert!(matches!(compact(&file), Err(StoreError::OtherDaemon(_))));
    store.checkpoint_and_close().await.unwrap();
    let sizes = compact(&file).unwrap();
    assert!(
        sizes.before > 1_000_000 && sizes.after < 200_000,
        "{sizes:?}"
    );
    assert_eq!(std::fs::metadata(&file).unwrap().len(), sizes.after);
    assert_eq!(messages(&open(folder.path()), "a").await, ["kept"]);
}

#[tokio::test]
async fn a_component_that_fills_the_database_loses_its_oldest_events() {
    let folder = tempfile::tempdir().unwrap();
    let small = StoreOptions {
        max_bytes: Some(40 << 20),
        ..options(folder.path())
    };
    let store = Store::open(small).unwrap().store;
    insert(&store, "quiet", event(NOW / 1000, "e", "kept")).await;
    let text = "x".repeat(20_000);
    let mut second = NOW / 1000;
    let full = loop {
        second += 1;
        let heavy = vec![event(second, "e", &format!("{second} {text}"))];
        if let Err(error) = store.insert_events("heavy", heavy, None).await {
            break error;
        }
    };
    assert!(matches!(full, StoreError::DiskFull(_)), "{full}");
    let purged = store.purge(NOW).await.unwrap();
    assert!(purged.heavy > 0, "{purged:?}");
    insert(&store, "quiet", event(second + 1, "e", "goes on")).await;
    assert_eq!(messages(&store, "quiet").await, ["goes on", "kept"]);
    // What is not nearly full stays.
    let left = messages(&store, "heavy").await.len();
    assert_eq!(store.purge(NOW).await.unwrap().heavy, 0);
    assert_eq!(messages(&store, "heavy").await.len(), left);
}
