use super::super::{KmsgCursor, PurgeCounts, StoredEvent};
use super::{Store, event, in_memory};
use crate::model::{Event, Merge};

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
/// Begins an hour.
const START: u64 = 1_770_000_000 / HOUR * HOUR;

/// A kernel message's event, counted by the minute.
fn repeat(second: u64, key: &str) -> Event {
    Event {
        merge: Some(Merge {
            key: key.to_owned(),
            window_seconds: 60,
        }),
        ..event(second, "error_xid", key)
    }
}

async fn log(store: &Store, boot: &str, events: Vec<Event>) {
    let cursor = KmsgCursor {
        boot_id: boot.to_owned(),
        sequence: 1,
    };
    store
        .insert_events("xid", events, Some(cursor))
        .await
        .unwrap();
}

/// Oldest first: message, second of the first after the start, second of the last, count.
async fn rows(store: &Store) -> Vec<(String, u64, u64, u64)> {
    let seconds = |millis: u64| millis / 1000 - START;
    let row = |stored: StoredEvent| {
        let StoredEvent {
            event,
            count,
            last_time,
        } = stored;
        (
            event.message,
            seconds(event.time),
            seconds(last_time),
            count,
        )
    };
    let events = store.events("xid", 0, None).await.unwrap();
    events.into_iter().rev().map(row).collect()
}

#[tokio::test]
async fn repeats_of_a_past_hour_become_one_row_with_all_counts() {
    let store = in_memory();
    // Every ten seconds for two hours, and in between one of another GPU.
    let flood = (0..720).map(|n| repeat(START + n * 10, "79 gpu0"));
    log(&store, "boot", flood.collect()).await;
    log(&store, "boot", vec![repeat(START + 1800, "48 gpu1")]).await;
    assert_eq!(rows(&store).await.len(), 121);
    // Too young.
    let now = |hours: u64| (START + hours * HOUR) * 1000;
    assert_eq!(store.purge(now(2)).await.unwrap(), PurgeCounts::default());
    assert_eq!(rows(&store).await.len(), 121);
    // The first hour is old enough, then both, then nothing is left to do.
    assert_eq!(store.purge(now(3)).await.unwrap().condensed, 59);
    assert_eq!(store.purge(now(9)).await.unwrap().condensed, 59);
    assert_eq!(store.purge(now(10)).await.unwrap().condensed, 0);
    let row = |key: &str, first, last, count| (key.to_owned(), first, last, count);
    assert_eq!(
        rows(&store).await,
        [
            row("79 gpu0", 0, 3590, 360),
            row("48 gpu1", 1800, 1800, 1),
            row("79 gpu0", 3600, 7190, 360),
        ]
    );
}

#[tokio::test]
async fn what_the_lines_of_an_hour_say_is_joined() {
    let store = in_memory();
    let of = |minute: u64, key: &str, pid: &str, link: &str| Event {
        extra_info: [("pid", pid), ("link", link), ("detail", pid)]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        ..repeat(START + minute * MINUTE, key)
    };
    let rows = vec![
        of(0, "79", "1", "3"),
        of(1, "79", "2", "3"),
        of(2, "other", "9", "1"),
        of(3, "79", "2", "4"),
        of(4, "other", "9", "1"),
    ];
    for row in rows {
        log(&store, "boot", vec![row]).await;
    }
    assert_eq!(
        store
            .purge((START + 9 * HOUR) * 1000)
            .await
            .unwrap()
            .condensed,
        3
    );
    let events = store.events("xid", 0, None).await.unwrap();
    let facts = |place: usize| {
        let pairs = events[place].event.extra_info.iter();
        let pairs = pairs.map(|(key, value)| format!("{key}={value}"));
        pairs.collect::<Vec<_>>().join("; ")
    };
    // Newest first.
    assert_eq!(facts(0), "pid=9; link=1; detail=9");
    assert_eq!(facts(1), "pid=1, 2; link=3, 4; detail=1");
    assert_eq!((events[0].count, events[1].count), (2, 3));
}

#[tokio::test]
async fn what_is_not_a_repeat_stays() {
    let store = in_memory();
    // The same error on both sides of a reboot, and events without a merge rule or without a boot.
    for (boot, minute) in [("a", 1), ("a", 2), ("b", 3)] {
        log(&store, boot, vec![repeat(START + minute * MINUTE, "79")]).await;
    }
    log(
        &store,
        "b",
        vec![event(START + 240, "e", "x"), event(START + 300, "e", "x")],
    )
    .await;
    // Counted by five minutes: the rows may mean something.
    let mut slow = [repeat(START + 480, "s"), repeat(START + 900, "s")];
    for event in &mut slow {
        event.merge.as_mut().unwrap().window_seconds = 300;
    }
    log(&store, "b", slow.into()).await;
    let checked = vec![repeat(START + 360, "c"), repeat(START + 420, "c")];
    store.insert_events("xid", checked, None).await.unwrap();
    let purged = store.purge((START + 9 * HOUR) * 1000).await.unwrap();
    assert_eq!(purged.condensed, 1);
    let messages: Vec<_> = rows(&store)
        .await
        .into_iter()
        .map(|row| (row.0, row.3))
        .collect();
    let row = |key: &str, count| (key.to_owned(), count);
    assert_eq!(
        messages,
        [
            row("79", 2),
            row("79", 1),
            row("x", 1),
            row("x", 1),
            row("c", 1),
            row("c", 1),
            row("s", 1),
            row("s", 1)
        ]
    );
}
