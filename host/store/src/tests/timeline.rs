use super::super::{Cursor, Entry, EntryContent, EntryId, StateChange, Store, TimelineRead};
use super::{event, in_memory, insert};
use crate::model::{Event, Health, Merge, Subject};
use proptest::prelude::*;

async fn change(store: &Store, component: &str, time: u64, health: Health) {
    change_of(store, component, time, health, None).await;
}

async fn change_of(store: &Store, component: &str, time: u64, health: Health, unit: Option<&str>) {
    let change = StateChange {
        time,
        name: "n".to_owned(),
        health,
        reason: "r".to_owned(),
        subject: unit.map(|name| Subject::Unit(name.to_owned())),
    };
    store.record_state(component, change).await.unwrap();
}

/// An entry in a few words.
fn short(entry: &Entry) -> String {
    match &entry.content {
        EntryContent::Event(event) => format!("{} {} x{}", entry.id, event.event.name, event.count),
        EntryContent::Change { from, to, .. } => {
            let from = from.as_ref().map_or("-", Health::as_str);
            format!("{} {from} > {}", entry.id, to.as_str())
        }
    }
}

/// All pages of this size, each entry in a few words.
async fn pages(store: &Store, read: TimelineRead) -> Vec<String> {
    let mut found = Vec::new();
    let mut read = read;
    loop {
        let page = store.timeline(read.clone()).await.unwrap();
        assert!(page.entries.len() <= read.limit as usize);
        found.extend(page.entries.iter().map(short));
        let Some(next) = page.next else {
            return found;
        };
        // As a client gives it back.
        read.before = Some(next.to_string().parse().unwrap());
    }
}

#[tokio::test]
async fn events_and_changes_newest_first_whatever_the_size_of_a_page() {
    let store = in_memory();
    let again = |second| Event {
        merge: Some(Merge {
            key: "k".to_owned(),
            window_seconds: 1000,
        }),
        ..event(second, "repeated", "")
    };
    insert(&store, "a", again(1)).await;
    insert(&store, "a", again(9)).await;
    for number in 2..6 {
        insert(&store, "b", event(number, &format!("b{number}"), "")).await;
    }
    change(&store, "a", 1000, Health::Healthy).await;
    change(&store, "a", 3000, Health::Unhealthy).await;
    change(&store, "a", 3000, Health::Initializing).await;
    change(&store, "a", 4000, Health::Unhealthy).await;
    change(&store, "a", 5000, Health::Healthy).await;
    change(&store, "b", 5000, Health::Degraded).await;
    let all = [
        "e1 repeated x2",
        "e5 b5 x1",
        "c6 - > Degraded",
        "c5 Unhealthy > Healthy",
        "e4 b4 x1",
        "e3 b3 x1",
        "c2 Healthy > Unhealthy",
        "e2 b2 x1",
    ];
    for limit in 1..10 {
        let read = TimelineRead {
            limit,
            ..TimelineRead::default()
        };
        assert_eq!(pages(&store, read.clone()).await, all, "{limit}");
        let of_b = TimelineRead {
            components: Some(vec!["b".to_owned()]),
            since: 4000,
            ..read
        };
        assert_eq!(
            pages(&store, of_b).await,
            ["e5 b5 x1", "c6 - > Degraded", "e4 b4 x1"]
        );
    }
}

#[tokio::test]
async fn one_event_is_read_with_the_line_of_its_first_sighting() {
    let store = in_memory();
    let of_line = |second, line: &str| Event {
        kernel_line: Some(line.to_owned()),
        merge: Some(Merge {
            key: "k".to_owned(),
            window_seconds: 1000,
        }),
        ..event(second, "repeated", "")
    };
    insert(&store, "a", of_line(1, "first line")).await;
    insert(&store, "a", of_line(9, "second line")).await;
    let found = store.timeline_event(1).await.unwrap().unwrap();
    assert_eq!(short(&found), "e1 repeated x2");
    assert_eq!(found.component, "a");
    let EntryContent::Event(stored) = found.content else {
        panic!("an event");
    };
    assert_eq!(stored.event.kernel_line.as_deref(), Some("first line"));
    assert_eq!(store.timeline_event(2).await.unwrap(), None);
    for (text, id) in [
        ("e12", Some(EntryId::Event(12))),
        ("c7", Some(EntryId::Change(7))),
        ("", None),
        ("e", None),
        ("e-1", None),
        ("x1", None),
        ("\u{e9}1", None),
    ] {
        assert_eq!(EntryId::parse(text), id, "{text}");
    }
}

#[tokio::test]
async fn since_when_states_are_what_they_are() {
    let store = in_memory();
    assert_eq!(store.healthy_since().await.unwrap(), None);
    change(&store, "a", 1, Health::Healthy).await;
    change(&store, "a", 2, Health::Unhealthy).await;
    change(&store, "b", 3, Health::Healthy).await;
    // A restart finds the same again.
    change(&store, "a", 4, Health::Initializing).await;
    change(&store, "a", 5, Health::Unhealthy).await;
    let key = |component: &str| (component.to_owned(), "n".to_owned(), None);
    let asked = vec![
        (key("a"), Health::Unhealthy),
        (key("b"), Health::Degraded),
        (key("c"), Health::Unhealthy),
    ];
    let found = store.beginnings(asked).await.unwrap();
    assert_eq!(found, [(key("a"), 2)].into());
    change(&store, "a", 6, Health::Healthy).await;
    change(&store, "c", 7, Health::Healthy).await;
    assert_eq!(store.healthy_since().await.unwrap(), Some(6));
}

#[tokio::test]
async fn states_of_one_name_with_different_subjects_have_histories_of_their_own() {
    let store = in_memory();
    let [a, b] = [Some("a"), Some("b")];
    change_of(&store, "units", 1, Health::Healthy, None).await;
    change_of(&store, "units", 2, Health::Unhealthy, a).await;
    change_of(&store, "units", 3, Health::Unhealthy, b).await;
    // A restart finds the same again.
    change_of(&store, "units", 4, Health::Initializing, None).await;
    change_of(&store, "units", 5, Health::Unhealthy, a).await;
    change_of(&store, "units", 6, Health::Healthy, b).await;
    let read = TimelineRead {
        limit: 10,
        ..TimelineRead::default()
    };
    let page = store.timeline(read.clone()).await.unwrap();
    let shown: Vec<String> = page.entries.iter().map(about).collect();
    assert_eq!(
        shown,
        [
            "c6 Unhealthy > Healthy Some(Unit(\"b\"))",
            "c3 Healthy > Unhealthy Some(Unit(\"b\"))",
            "c2 Healthy > Unhealthy Some(Unit(\"a\"))",
        ]
    );
    let key = |unit: Option<&str>| {
        let subject = unit.map(|name| Subject::Unit(name.to_owned()));
        ("units".to_owned(), "n".to_owned(), subject)
    };
    let asked = vec![(key(a), Health::Unhealthy), (key(b), Health::Healthy)];
    let found = store.beginnings(asked).await.unwrap();
    assert_eq!(found, [(key(a), 2), (key(b), 6)].into());
    change_of(&store, "units", 7, Health::Healthy, a).await;
    let page = store.timeline(read).await.unwrap();
    let newest = page.entries.first().map(about);
    let expected = "c7 Unhealthy > Healthy Some(Unit(\"a\"))";
    assert_eq!(newest.as_deref(), Some(expected));
}

#[tokio::test]
async fn a_state_that_goes_over_to_another_subject_began_with_the_first() {
    let store = in_memory();
    change_of(&store, "c", 1, Health::Healthy, None).await;
    change_of(&store, "c", 2, Health::Unhealthy, Some("a")).await;
    let key = ("c".to_owned(), "n".to_owned(), Some(Subject::Node));
    let asked = vec![(key.clone(), Health::Unhealthy)];
    let found = store.beginnings(asked).await.unwrap();
    assert_eq!(found, [(key, 2)].into());
}

/// A change in a few words, with its subject.
fn about(entry: &Entry) -> String {
    let EntryContent::Change { subject, .. } = &entry.content else {
        return short(entry);
    };
    format!("{} {subject:?}", short(entry))
}

#[tokio::test]
async fn healthy_from_the_beginning() {
    let store = in_memory();
    change(&store, "a", 5, Health::Healthy).await;
    change(&store, "b", 7, Health::Healthy).await;
    assert_eq!(store.healthy_since().await.unwrap(), Some(5));
}

#[tokio::test]
async fn a_page_holds_so_many_bytes_and_at_least_one_entry() {
    let store = in_memory();
    for number in 1..9 {
        insert(&store, "a", event(number, "e", &"x".repeat(1_000_000))).await;
    }
    let read = TimelineRead {
        limit: 100,
        ..TimelineRead::default()
    };
    let page = store.timeline(read.clone()).await.unwrap();
    assert_eq!(page.entries.len(), 4);
    assert_eq!(pages(&store, read).await.len(), 8);
}

proptest! {
    #[test]
    fn any_text_is_a_cursor_or_is_refused(text in "([0-9]{0,22}-?[ec]?[-+0-9]{0,22}|\\PC{0,8})") {
        if let Ok(cursor) = text.parse::<Cursor>() {
            prop_assert_eq!(cursor.to_string().parse::<Cursor>(), Ok(cursor));
        }
    }
}
