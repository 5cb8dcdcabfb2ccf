use super::super::{
    Commit, Latch, Location, STATE_FILE, Sample, StateChange, Store, StoreError, StoreOptions,
};
use super::{event, in_memory, insert};
use crate::model::{Health, Subject};

mod boots;

const DAY: u64 = 24 * 3600 * 1000;

#[tokio::test]
async fn a_cursor_never_goes_back_and_belongs_to_one_boot() {
    let store = in_memory();
    let save = |boot: &'static str, list: &[(&str, u64)]| {
        let store = store.clone();
        let list: Vec<_> = list.iter().map(|(c, s)| ((*c).to_owned(), *s)).collect();
        async move { store.save_kmsg_cursors(boot, &list).await.unwrap() }
    };
    save("one", &[("a", 5), ("b", 7)]).await;
    save("one", &[("a", 3)]).await;
    assert_eq!(store.kmsg_cursor("a", "one").await.unwrap(), Some(5));
    assert_eq!(store.kmsg_cursor("a", "two").await.unwrap(), None);
    save("two", &[("a", 1)]).await;
    assert_eq!(store.kmsg_cursor("a", "two").await.unwrap(), Some(1));
    assert_eq!(store.kmsg_cursor("a", "one").await.unwrap(), None);
    assert_eq!(store.kmsg_cursor("b", "one").await.unwrap(), None);
}

#[tokio::test]
async fn plugin_state_is_stored_per_component() {
    let store = in_memory();
    store.state_set("a", "k", b"one".to_vec()).await.unwrap();
    store.state_set("a", "k", b"two".to_vec()).await.unwrap();
    store.state_set("a", "j", Vec::new()).await.unwrap();
    store.state_set("b", "k", b"b".to_vec()).await.unwrap();
    assert_eq!(
        store.state_get("a", "k").await.unwrap(),
        Some(b"two".to_vec())
    );
    assert_eq!(store.state_get("a", "j").await.unwrap(), Some(Vec::new()));
    assert_eq!(store.state_get("c", "k").await.unwrap(), None);
    assert_eq!(store.state_keys("a").await.unwrap(), ["j", "k"]);
    assert!(store.state_delete("a", "k").await.unwrap());
    assert!(!store.state_delete("a", "k").await.unwrap());
    assert_eq!(store.state_keys("a").await.unwrap(), ["j"]);
    assert_eq!(
        store.state_get("b", "k").await.unwrap(),
        Some(b"b".to_vec())
    );
}

#[tokio::test]
async fn a_value_that_was_read_before_follows_every_write() {
    let folder = tempfile::tempdir().unwrap();
    let file = Location::File(folder.path().join(STATE_FILE));
    let in_file = Store::open(StoreOptions::new(file)).unwrap().store;
    for store in [in_memory(), in_file] {
        let value = || async { store.state_get("a", "k").await.unwrap() };
        let commit = |value: Option<&[u8]>| {
            let written = ("k".to_owned(), value.map(<[u8]>::to_vec));
            let commit = Commit {
                state_writes: [written].into(),
                ..Commit::default()
            };
            store.commit("a", commit)
        };
        assert_eq!((value().await, value().await), (None, None));
        store.state_set("a", "k", b"set".to_vec()).await.unwrap();
        assert_eq!(value().await, Some(b"set".to_vec()));
        commit(Some(b"committed")).await.unwrap();
        assert_eq!(value().await, Some(b"committed".to_vec()));
        assert_eq!(value().await, Some(b"committed".to_vec()));
        commit(None).await.unwrap();
        assert_eq!(value().await, None);
        store.state_set("a", "k", b"again".to_vec()).await.unwrap();
        assert_eq!(value().await, Some(b"again".to_vec()));
        store.state_delete("a", "k").await.unwrap();
        assert_eq!(value().await, None);
        store.checkpoint_and_close().await.unwrap();
        let closed = store.state_get("a", "k").await;
        assert!(matches!(closed, Err(StoreError::Closed)), "{closed:?}");
    }
}

#[tokio::test]
async fn plugin_state_has_a_quota() {
    let too_large = |result: Result<(), StoreError>| match result {
        Err(StoreError::TooLarge { what, .. }) => what,
        other => panic!("{other:?}"),
    };
    let store = in_memory();
    let large = || vec![0_u8; 64 * 1024];
    let set = |key: String, value: Vec<u8>| {
        let store = store.clone();
        async move { store.state_set("a", &key, value).await }
    };
    let mut over = large();
    over.push(0);
    assert_eq!(
        too_large(set("k".to_owned(), over).await),
        "plugin state value in bytes"
    );
    assert_eq!(
        too_large(set("k".repeat(1025), large()).await),
        "plugin state key in bytes"
    );
    for number in 0..15 {
        set(format!("k{number}"), large()).await.unwrap();
    }
    assert_eq!(
        too_large(set("last".to_owned(), large()).await),
        "plugin state of a in bytes"
    );
    // Replacing is not adding, and others are not concerned.
    set("k3".to_owned(), large()).await.unwrap();
    store.state_set("b", "k", large()).await.unwrap();
    for number in 15..256 {
        set(format!("k{number}"), Vec::new()).await.unwrap();
    }
    assert_eq!(
        too_large(set("one more".to_owned(), Vec::new()).await),
        "plugin state of a in keys"
    );
    assert_eq!(store.state_keys("a").await.unwrap().len(), 256);
}

#[tokio::test]
async fn marks_of_the_future_are_dated_now_and_hide_no_later_one() {
    let store = in_memory();
    for (component, time) in [("a", 5), ("a", 70), ("a", 90), ("b", 80), ("c", 10)] {
        store.add_mark(component, time).await.unwrap();
    }
    assert_eq!(store.settle_marks(50).await.unwrap(), 3);
    assert_eq!(store.settle_marks(50).await.unwrap(), 0);
    for (component, expected) in [("a", vec![50, 5]), ("b", vec![50]), ("c", vec![10])] {
        assert_eq!(
            store.marks(component, 0).await.unwrap(),
            expected,
            "{component}"
        );
    }
    assert_eq!(store.marks("a", 50).await.unwrap(), [0_u64; 0]);
    store.add_mark("a", 51).await.unwrap();
    assert_eq!(store.marks("a", 50).await.unwrap(), [51]);
}

#[tokio::test]
async fn marks_latches_history_and_metadata_read_back() {
    let store = in_memory();
    for time in [5, 9, 7, 9] {
        store.add_mark("a", time).await.unwrap();
    }
    assert_eq!(store.marks("a", 5).await.unwrap(), [9, 7]);
    assert_eq!(store.marks("b", 0).await.unwrap(), [0_u64; 0]);

    let latch = |component: &str, key: &str, json: &str| Latch {
        component: component.to_owned(),
        key: key.to_owned(),
        json: json.to_owned(),
    };
    for (component, key, json) in [
        ("b", "k", "1"),
        ("a", "k", "2"),
        ("a", "k", "3"),
        ("a", "j", "4"),
    ] {
        store.save_latch(component, key, json).await.unwrap();
    }
    assert!(store.delete_latch("a", "j").await.unwrap());
    assert!(!store.delete_latch("a", "j").await.unwrap());
    let expected = [latch("a", "k", "3"), latch("b", "k", "1")];
    assert_eq!(store.latches().await.unwrap(), expected);
    let over = store.save_latch("a", "k", &"x".repeat(64 * 1024)).await;
    assert!(matches!(over, Err(StoreError::TooLarge { .. })));

    let change = |time, health: Health| StateChange {
        time,
        name: "n".to_owned(),
        health,
        reason: "r".to_owned(),
        subject: (time == 2).then(|| Subject::Unit("u".to_owned())),
    };
    let changes = [
        change(3, Health::Unhealthy),
        change(2, Health::Other("later".to_owned())),
        change(1, Health::Healthy),
    ];
    for change in changes.iter().rev() {
        store.record_state("a", change.clone()).await.unwrap();
    }
    assert_eq!(store.state_history("a", 0).await.unwrap(), changes);
    assert_eq!(store.state_history("a", 2).await.unwrap(), changes[..1]);

    assert_eq!(store.meta_get("m").await.unwrap(), None);
    store.meta_set("m", "1").await.unwrap();
    store.meta_set("m", "2").await.unwrap();
    assert_eq!(store.meta_get("m").await.unwrap().as_deref(), Some("2"));
}

#[tokio::test]
async fn a_component_has_at_most_a_thousand_latches() {
    let store = in_memory();
    for number in 0..1000 {
        store
            .save_latch("a", &number.to_string(), "")
            .await
            .unwrap();
    }
    store.save_latch("a", "999", "again").await.unwrap();
    store.save_latch("b", "x", "").await.unwrap();
    let over = store.save_latch("a", "1000", "").await;
    assert!(matches!(
        over,
        Err(StoreError::TooLarge { limit: 1000, .. })
    ));
}

#[tokio::test]
async fn samples_come_back_by_time_and_component() {
    let sample = |component: &str, label: &str, value| Sample {
        component: component.to_owned(),
        name: "m".to_owned(),
        labels: vec![("l".to_owned(), label.to_owned())],
        value,
    };
    let store = in_memory();
    let second = vec![
        sample("a", "x", 3.0),
        sample("b", "x", 4.0),
        sample("a", "x", 5.0),
    ];
    store.insert_samples(2_000, second).await.unwrap();
    let first = vec![
        sample("a", "x", 1.0),
        sample("a", "y", 2.0),
        sample("a", "nan", f64::NAN),
        sample("a", "inf", f64::INFINITY),
    ];
    store.insert_samples(1_000, first).await.unwrap();
    let read = |since: u64, names: Option<Vec<String>>| {
        let store = store.clone();
        async move {
            let found = store.samples(since, names.as_deref()).await.unwrap();
            found
                .into_iter()
                .map(|row| {
                    let label = row.series.labels[0].1.clone();
                    (row.time, row.series.component.clone(), label, row.value)
                })
                .collect::<Vec<_>>()
        }
    };
    let row = |time, component: &str, label: &str, value| {
        (time, component.to_owned(), label.to_owned(), value)
    };
    let all = read(0, None).await;
    assert_eq!(all.len(), 4);
    assert!(all.is_sorted_by_key(|row| row.0));
    let of_a = [
        row(1_000, "a", "x", 1.0),
        row(1_000, "a", "y", 2.0),
        row(2_000, "a", "x", 5.0),
    ];
    assert_eq!(read(1_000, Some(vec!["a".to_owned()])).await, of_a);
    assert_eq!(read(1_001, Some(vec!["a".to_owned()])).await, of_a[2..]);
    assert_eq!(read(0, Some(vec![])).await, []);
}
