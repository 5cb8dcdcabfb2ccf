use super::super::event_row::EventRow;
use super::super::{Inserted, KmsgCursor, StoreError, StoredEvent};
use super::{event, in_memory, insert, messages};
use crate::model::{Event, EventType, Evidence, Merge, Subject};
use proptest::prelude::*;

fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = list.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned()));
    owned.collect()
}

#[tokio::test]
async fn equal_events_of_one_second_are_counted() {
    let base = Event {
        extra_info: pairs(&[("a", "1"), ("b", "2")]),
        subject: Some(Subject::Mount("/".to_owned())),
        ..event(5, "oom", "text")
    };
    let with = |change: fn(&mut Event)| {
        let mut other = base.clone();
        change(&mut other);
        other
    };
    let cases: Vec<(&str, Event, Inserted)> = vec![
        ("the same", base.clone(), Inserted::Counted),
        (
            "later in the second",
            with(|e| e.time += 999),
            Inserted::Counted,
        ),
        (
            "extra info in another order",
            with(|e| e.extra_info.reverse()),
            Inserted::Counted,
        ),
        (
            "other evidence",
            with(|e| e.evidence.push(Evidence::Kmsg(7))),
            Inserted::Counted,
        ),
        ("next second", with(|e| e.time += 1000), Inserted::New),
        ("name", with(|e| e.name.push('x')), Inserted::New),
        (
            "type",
            with(|e| e.event_type = EventType::Fatal),
            Inserted::New,
        ),
        ("message", with(|e| e.message.push('x')), Inserted::New),
        ("subject", with(|e| e.subject = None), Inserted::New),
        (
            "extra info",
            with(|e| e.extra_info = pairs(&[("a", "1")])),
            Inserted::New,
        ),
    ];
    for (what, other, expected) in cases {
        let store = in_memory();
        assert_eq!(insert(&store, "c", base.clone()).await, Inserted::New);
        assert_eq!(insert(&store, "c", other.clone()).await, expected, "{what}");
        let rows = store.events("c", 0, None).await.unwrap();
        if expected == Inserted::Counted {
            assert_eq!(rows.len(), 1, "{what}");
            assert_eq!(
                (rows[0].count, rows[0].last_time),
                (2, other.time),
                "{what}"
            );
            assert_eq!(rows[0].event, base, "{what}");
        } else {
            assert_eq!(rows.len(), 2, "{what}");
        }
        assert_eq!(insert(&store, "other", base.clone()).await, Inserted::New);
    }
}

/// In one batch or in several, and with `insert_counted`.
#[tokio::test]
async fn repeats_add_the_facts_of_their_lines() {
    let of_line = |pid: &str, data: &str| Event {
        extra_info: pairs(&[("data", data), ("pid", pid)]),
        merge: Some(Merge {
            key: "k".to_owned(),
            window_seconds: 60,
        }),
        ..event(65, "n", "x")
    };
    let store = in_memory();
    let batches = [
        vec![of_line("1", "a"), of_line("2", "b")],
        vec![of_line("3", "c")],
        vec![of_line("1", "d")],
    ];
    for batch in batches {
        store.insert_events("a", batch, None).await.unwrap();
    }
    let counted = StoredEvent {
        event: of_line("4", "e"),
        count: 10,
        last_time: 66_000,
    };
    store.insert_counted("a", vec![counted]).await.unwrap();
    let found = store.events("a", 0, None).await.unwrap();
    assert_eq!((found.len(), found[0].count), (1, 14));
    let expected = of_line("1, 2, 3, 4", "a").extra_info;
    assert_eq!(found[0].event.extra_info, expected);
}

#[tokio::test]
async fn merged_events_share_a_window_name_and_key() {
    let merged = |second: u64, name: &str, key: &str, message: &str| Event {
        merge: Some(Merge {
            key: key.to_owned(),
            window_seconds: 60,
        }),
        ..event(second, name, message)
    };
    let store = in_memory();
    let steps = [
        (merged(65, "n", "k", "first"), Inserted::New),
        (merged(119, "n", "k", "second"), Inserted::Counted),
        (merged(60, "n", "k", "third"), Inserted::Counted),
        (merged(120, "n", "k", "next window"), Inserted::New),
        (merged(65, "n", "other", "other key"), Inserted::New),
        (merged(65, "m", "k", "other name"), Inserted::New),
        (event(65, "n", "first"), Inserted::New),
    ];
    for (event, expected) in steps {
        let message = event.message.clone();
        assert_eq!(insert(&store, "c", event).await, expected, "{message}");
    }
    let rows = store.events("c", 0, None).await.unwrap();
    let first = rows.iter().find(|row| row.count > 1).unwrap();
    assert_eq!((first.count, first.last_time), (3, 119_000));
    assert_eq!(first.event.message, "first");
    assert_eq!(rows.len(), 5);
}

#[tokio::test]
async fn events_are_newest_first_after_the_second_of_since() {
    let store = in_memory();
    let mut early = event(11, "e", "11 late insert");
    early.time -= 500;
    for row in [
        event(11, "e", "11 first"),
        event(10, "e", "10"),
        event(12, "e", "12"),
        event(11, "e", "11 second"),
        early,
    ] {
        insert(&store, "c", row).await;
    }
    let read = |since: u64, limit: Option<u32>| {
        let store = store.clone();
        async move {
            let rows = store.events("c", since, limit).await.unwrap();
            rows.into_iter()
                .map(|row| row.event.message)
                .collect::<Vec<_>>()
        }
    };
    let all = ["12", "11 second", "11 first", "11 late insert", "10"];
    assert_eq!(read(0, None).await, all);
    assert_eq!(read(9_999, None).await, all);
    assert_eq!(read(10_000, None).await, all[..3]);
    assert_eq!(read(10_999, None).await, all[..3]);
    assert_eq!(read(11_500, None).await, all[..1]);
    assert_eq!(read(12_000, None).await, [""; 0]);
    assert_eq!(read(u64::MAX, None).await, [""; 0]);
    assert_eq!(read(0, Some(2)).await, all[..2]);
    let latest = store.latest_event("c").await.unwrap().unwrap();
    assert_eq!(latest.event.message, "12");
    assert_eq!(store.latest_event("none").await.unwrap(), None);
}

#[tokio::test]
async fn all_events_has_an_entry_for_every_name() {
    let store = in_memory();
    insert(&store, "a", event(1, "e", "a1")).await;
    insert(&store, "a", event(2, "e", "a2")).await;
    insert(&store, "b\"'", event(3, "e", "b3")).await;
    insert(&store, "unasked", event(3, "e", "x")).await;
    let names = ["a", "b\"'", "empty"].map(str::to_owned);
    let found = store.all_events(&names, 1_000).await.unwrap();
    let shown: Vec<(&str, Vec<&str>)> = found
        .iter()
        .map(|(name, rows)| {
            let messages = rows.iter().map(|row| row.event.message.as_str());
            (name.as_str(), messages.collect())
        })
        .collect();
    let expected = [("a", vec!["a2"]), ("b\"'", vec!["b3"]), ("empty", vec![])];
    assert_eq!(shown, expected);
}

#[tokio::test]
async fn delete_takes_what_was_last_seen_by_then_and_leaves_the_cursor() {
    let store = in_memory();
    let repeated = |second| Event {
        merge: Some(Merge {
            key: "k".to_owned(),
            window_seconds: 3600,
        }),
        ..event(second, "r", "still going")
    };
    let cursor = KmsgCursor {
        boot_id: "boot".to_owned(),
        sequence: 9,
    };
    let rows = vec![
        event(10, "e", "at"),
        event(11, "e", "after"),
        repeated(8),
        repeated(12),
    ];
    store.insert_events("c", rows, Some(cursor)).await.unwrap();
    insert(&store, "other", event(1, "e", "kept")).await;
    assert_eq!(store.delete_events("c", 10_000).await.unwrap(), 1);
    assert_eq!(messages(&store, "c").await, ["after", "still going"]);
    assert_eq!(messages(&store, "other").await, ["kept"]);
    assert_eq!(store.kmsg_cursor("c", "boot").await.unwrap(), Some(9));
}

#[tokio::test]
async fn events_of_the_future_are_deleted_and_those_up_to_the_present_stay() {
    let store = in_memory();
    for (second, message) in [(9, "before"), (10, "at"), (11, "after"), (99, "much later")] {
        insert(&store, "c", event(second, "e", message)).await;
    }
    insert(&store, "other", event(99, "e", "kept")).await;
    assert_eq!(store.delete_events_after("c", 10_000).await.unwrap(), 2);
    assert_eq!(messages(&store, "c").await, ["at", "before"]);
    assert_eq!(messages(&store, "other").await, ["kept"]);
}

#[tokio::test]
async fn events_and_cursor_are_stored_together_or_not_at_all() {
    let store = in_memory();
    let cursor = KmsgCursor {
        boot_id: "boot".to_owned(),
        sequence: 9,
    };
    let huge = event(2, "e", &"x".repeat(1024 * 1024));
    let rows = vec![event(1, "e", "fine"), huge];
    let refused = store.insert_events("c", rows, Some(cursor)).await;
    assert!(
        matches!(refused, Err(StoreError::TooLarge { .. })),
        "{refused:?}"
    );
    assert_eq!(messages(&store, "c").await, [""; 0]);
    assert_eq!(store.kmsg_cursor("c", "boot").await.unwrap(), None);
}

fn any_subject() -> impl Strategy<Value = Option<Subject>> {
    let text = ".{0,12}";
    let maybe = proptest::option::of(text);
    prop_oneof![
        Just(None),
        Just(Some(Subject::Node)),
        (maybe.clone(), maybe.clone(), maybe).prop_map(|(uuid, serial, pci_id)| Some(
            Subject::Gpu {
                uuid,
                serial,
                pci_id
            }
        )),
        (text, any::<u32>()).prop_map(|(device, port)| Some(Subject::Port { device, port })),
        text.prop_map(|mount| Some(Subject::Mount(mount))),
        text.prop_map(|unit| Some(Subject::Unit(unit))),
        (text, text).prop_map(|(kind, id)| Some(Subject::Other { kind, id })),
    ]
}

fn any_evidence() -> impl Strategy<Value = Evidence> {
    let text = ".{0,12}";
    prop_oneof![
        any::<u64>().prop_map(Evidence::Kmsg),
        text.prop_map(Evidence::File),
        text.prop_map(Evidence::Nvml),
        text.prop_map(Evidence::Other),
    ]
}

prop_compose! {
    fn any_event()(
        time in 1_000_u64..=4_000_000_000_000,
        name in ".{0,12}",
        event_type in prop_oneof![
            Just(EventType::Unknown), Just(EventType::Info), Just(EventType::Warning),
            Just(EventType::Critical), Just(EventType::Fatal),
            "later-[a-z]{0,6}".prop_map(EventType::Other),
        ],
        message in ".{0,40}",
        subject in any_subject(),
        evidence in proptest::collection::vec(any_evidence(), 0..3),
        extra_info in proptest::collection::vec((".{0,8}", ".{0,8}"), 0..4),
        kernel_line in proptest::option::of(".{0,40}"),
    ) -> Event {
        Event { time, name, event_type, message, subject, evidence, extra_info, kernel_line, merge: None }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn an_event_reads_back_as_it_was(event in any_event()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let store = in_memory();
        let read = runtime.block_on(async {
            insert(&store, "c", event.clone()).await;
            store.latest_event("c").await.unwrap().unwrap()
        });
        prop_assert_eq!(read.count, 1);
        prop_assert_eq!(read.last_time, event.time);
        prop_assert_eq!(read.event, event);
    }

    #[test]
    fn borders_between_texts_count_for_identity(a in "[ab]{1,4}", b in "[ab]{1,4}", cut in 0_usize..4) {
        let whole = format!("{a}{b}");
        let cut = cut.min(whole.len());
        let one = EventRow::new(event(1, &a, &b), None).unwrap();
        let other = EventRow::new(event(1, &whole[..cut], &whole[cut..]), None).unwrap();
        prop_assert_eq!(one.dedup == other.dedup, cut == a.len());
    }
}
