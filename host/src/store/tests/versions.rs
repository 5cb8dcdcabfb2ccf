use super::super::{Commit, EventRead, EventsVersion, Sample, Store};
use super::{event, in_memory, insert, open};

const NOW: u64 = 1_770_000_000_000;
const DAY: u64 = 24 * 3600 * 1000;

fn sample() -> Sample {
    Sample {
        component: "a".to_owned(),
        name: "m".to_owned(),
        labels: Vec::new(),
        value: 1.0,
    }
}

/// Versions of the components `a`, `b`, and of the samples.
fn versions(store: &Store) -> (EventsVersion, EventsVersion, u64) {
    (
        store.events_version("a"),
        store.events_version("b"),
        store.samples_version(),
    )
}

/// Every way to change events or samples, what it is called, and whose versions it moves: added and removed of `a`,
/// those of `b`, and the samples.
#[tokio::test]
async fn every_change_moves_the_version_and_nothing_else_does() {
    let folder = tempfile::tempdir().unwrap();
    for store in [in_memory(), open(folder.path())] {
        let mut before = versions(&store);
        let mut moved = |what: &str, expected: [bool; 5]| {
            let now = versions(&store);
            let moved = [
                now.0.added != before.0.added,
                now.0.removed != before.0.removed,
                now.1.added != before.1.added,
                now.1.removed != before.1.removed,
                now.2 != before.2,
            ];
            assert_eq!(moved, expected, "{what}");
            before = now;
        };
        insert(&store, "a", event(NOW / 1000, "e", "x")).await;
        moved("insert_events", [true, false, false, false, false]);
        let commit = Commit {
            events: vec![event(NOW / 1000 - 60, "e", "x")],
            ..Commit::default()
        };
        store.commit("b", commit).await.unwrap();
        moved("commit", [false, false, true, false, false]);
        store.commit("b", Commit::default()).await.unwrap();
        moved("commit without events", [false; 5]);
        store.delete_events("a", NOW).await.unwrap();
        moved("delete_events", [false, true, false, false, false]);
        store.insert_samples(NOW, vec![sample()]).await.unwrap();
        moved("insert_samples", [false, false, false, false, true]);
        store.purge(NOW).await.unwrap();
        moved("purge of nothing", [false; 5]);
        store.purge(NOW + DAY).await.unwrap();
        moved("purge of samples", [false, false, false, false, true]);
        store.purge(NOW + 15 * DAY).await.unwrap();
        moved("purge of events", [false, true, false, true, false]);
        let os = store.events_version("os");
        store.record_reboot(NOW, NOW - 5000, "boot").await.unwrap();
        assert_ne!(store.events_version("os"), os);
    }
}

/// Every way for a row to come, after it was seen that there is none.
#[tokio::test]
async fn what_comes_after_nothing_is_found() {
    let folder = tempfile::tempdir().unwrap();
    for store in [in_memory(), open(folder.path())] {
        let events = async |component: &str, since| {
            let first = store.events(component, since, Some(1)).await.unwrap();
            let again = store.events(component, since, None).await.unwrap();
            assert_eq!(first.len(), again.len().min(1));
            again.len()
        };
        assert_eq!(events("a", NOW - DAY).await, 0);
        insert(&store, "a", event(NOW / 1000, "e", "x")).await;
        assert_eq!(events("a", NOW - DAY).await, 1);
        assert_eq!(events("a", NOW).await, 0);
        assert_eq!(events("a", NOW - DAY).await, 1, "of an earlier time");

        assert!(store.events("b", NOW, Some(0)).await.unwrap().is_empty());
        let commit = Commit {
            events: vec![event(NOW / 1000 + 60, "e", "x")],
            ..Commit::default()
        };
        store.commit("b", commit).await.unwrap();
        assert_eq!(events("b", NOW).await, 1);

        assert_eq!(events("os", 0).await, 0);
        store.record_reboot(NOW, NOW - 5000, "boot").await.unwrap();
        assert_eq!(events("os", 0).await, 1);

        assert!(store.marks("a", 5).await.unwrap().is_empty());
        store.add_mark("a", 7).await.unwrap();
        assert_eq!(store.marks("a", 5).await.unwrap(), [7]);
        assert!(store.marks("a", 7).await.unwrap().is_empty());
        assert_eq!(store.marks("a", 6).await.unwrap(), [7]);

        store.checkpoint_and_close().await.unwrap();
        assert!(store.events("a", NOW, None).await.is_err());
        assert!(store.marks("a", 7).await.is_err());
    }
}

#[tokio::test]
async fn rows_are_read_from_where_a_list_ended() {
    let store = in_memory();
    for (component, second, message) in [
        ("a", 10, "first"),
        ("b", 11, "other"),
        ("a", 12, "third"),
        ("a", 11, "late"),
        ("a", 12, "same second"),
    ] {
        insert(&store, component, event(second, "e", message)).await;
    }
    let read = async |since: u64, after_row| {
        let wanted = |component: &str| EventRead {
            component: component.to_owned(),
            since,
            after_row,
        };
        let found = store.read_events(vec![wanted("a"), wanted("none")]).await;
        let mut found = found.unwrap();
        assert!(found["none"].is_empty());
        found.remove("a").unwrap()
    };
    let all = read(0, 0).await;
    let texts: Vec<_> = all.iter().map(|row| row.event.message.as_str()).collect();
    assert_eq!(texts, ["same second", "third", "late", "first"]);
    let third = all
        .iter()
        .find(|row| row.event.message == "third")
        .unwrap()
        .row;
    let later = read(0, third).await;
    let texts: Vec<_> = later.iter().map(|row| row.event.message.as_str()).collect();
    assert_eq!(texts, ["same second", "late"]);
    assert_eq!(read(11_500, 0).await.len(), 2, "by whole seconds");
}
