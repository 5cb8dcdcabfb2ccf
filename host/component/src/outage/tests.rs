use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use super::*;
use crate::{
    metrics,
    model::{Event, Health, HealthState, Subject},
    node::Node,
    store::{KmsgCursor, Location, Store, StoreOptions},
};

const BOOT: &str = "boot";

fn event(second: u64, text: &str) -> Event {
    Event {
        time: second * 1000,
        name: "e".to_owned(),
        message: format!("{text} {}", "x".repeat(20_000)),
        ..Event::default()
    }
}

/// Services whose database has no room for one more event, until [`make_room`].
async fn full() -> (tempfile::TempDir, Arc<Services>) {
    let folder = tempfile::tempdir().unwrap();
    let options = StoreOptions {
        max_bytes: Some(400_000),
        ..StoreOptions::new(Location::File(folder.path().join("gpud.state")))
    };
    let store = Store::open(options).unwrap().store;
    let mut second = 1;
    while store
        .insert_events("ballast", vec![event(second, "ballast")], None)
        .await
        .is_ok()
    {
        second += 1;
    }
    assert!(matches!(store.health(), Some(StoreError::DiskFull(_))));
    let node = Arc::new(Node::of_log(1_000_000).unwrap());
    let metrics = Arc::new(metrics::Registry::new());
    (
        folder,
        Arc::new(Services::new(node, Some(store), metrics).await),
    )
}

async fn make_room(services: &Services) {
    let store = services.store.as_ref().unwrap();
    store.delete_events("ballast", u64::MAX / 2).await.unwrap();
}

async fn texts(services: &Services, component: &str) -> Vec<String> {
    let store = services.store.as_ref().unwrap();
    let events = store.events(component, 0, None).await.unwrap();
    let word = |text: &str| text.split(' ').next().unwrap_or_default().to_owned();
    events
        .iter()
        .rev()
        .map(|row| word(&row.event.message))
        .collect()
}

fn batch(second: u64, text: &str, sequence: u64) -> Commit {
    Commit {
        events: vec![event(second, text)],
        cursor: Some(KmsgCursor {
            boot_id: BOOT.to_owned(),
            sequence,
        }),
        ..Commit::default()
    }
}

#[tokio::test]
async fn a_batch_waits_for_the_database_and_the_place_in_the_log_with_it() {
    let (_folder, services) = full().await;
    let store = services.store.clone().unwrap();
    // A small write works, so that the next failure is the batch's.
    store.meta_set("k", "v").await.unwrap();
    assert_eq!(store.outage(), None);
    let changes = Arc::new(AtomicU32::new(0));
    let waiting = tokio::spawn({
        let (services, changes) = (Arc::clone(&services), Arc::clone(&changes));
        async move {
            let never = std::future::pending();
            let changed = || {
                changes.fetch_add(1, Ordering::Relaxed);
            };
            commit_when_possible(&services, "c", batch(5, "first", 7), changed, never).await
        }
    });
    while changes.load(Ordering::Relaxed) == 0 {
        tokio::task::yield_now().await;
    }
    assert!(store.outage().is_some());
    assert_eq!(store.kmsg_cursor("c", BOOT).await, Ok(None));
    // The component judges by it already.
    assert!(store.has_waiting("c"));
    assert_eq!(texts(&services, "c").await, ["first"]);
    assert!(!waiting.is_finished());
    make_room(&services).await;
    assert_eq!(waiting.await.unwrap(), Ok(Some(vec![Inserted::New])));
    assert_eq!(store.kmsg_cursor("c", BOOT).await, Ok(Some(7)));
    assert_eq!(texts(&services, "c").await, ["first"]);
    assert_eq!(store.outage(), None);
    assert!(!store.has_waiting("c"));
    assert_eq!(changes.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn who_ends_leaves_the_batch_to_the_next_start() {
    let (_folder, services) = full().await;
    let ended = std::future::ready(());
    let left = commit_when_possible(&services, "c", batch(5, "first", 7), || {}, ended).await;
    assert_eq!(left, Ok(None));
    let store = services.store.clone().unwrap();
    assert_eq!(store.kmsg_cursor("c", BOOT).await, Ok(None));
}

#[tokio::test]
async fn what_checks_found_is_stored_before_what_comes_later() {
    let (_folder, services) = full().await;
    let change = |reason: &str| HealthState {
        name: Some("c".to_owned()),
        health: Health::Unhealthy,
        reason: format!("{reason} {}", "x".repeat(20_000)),
        ..HealthState::default()
    };
    for second in [5, 6] {
        // The second check finds the same once more.
        let found = vec![event(second, "first")];
        let stored = commit::events_and_state(&services, "c", found, Default::default()).await;
        assert!(matches!(stored, Err(StoreError::DiskFull(_))), "{stored:?}");
    }
    let mut broken = change("broken");
    broken.subject = Some(Subject::Unit("a".to_owned()));
    commit::changes(&services, "c", &[], std::slice::from_ref(&broken), 5).await;
    make_room(&services).await;
    let later = vec![event(9, "later")];
    let stored = commit::events_and_state(&services, "c", later, Default::default()).await;
    assert_eq!(stored, Ok(()));
    assert_eq!(texts(&services, "c").await, ["first", "later"]);
    let store = services.store.clone().unwrap();
    let changes = store.state_history("c", 0).await.unwrap();
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].subject, broken.subject);
    assert!(services.unsaved.components().is_empty());
    // Two others in its place: its end is recorded before they begin.
    let [mut b, mut c] = [broken.clone(), broken.clone()];
    b.subject = Some(Subject::Unit("b".to_owned()));
    c.subject = Some(Subject::Unit("c".to_owned()));
    let after = [b.clone(), c.clone()];
    commit::changes(&services, "c", std::slice::from_ref(&broken), &after, 6).await;
    let changes = store.state_history("c", 5).await.unwrap();
    let shown: Vec<_> = changes
        .iter()
        .map(|change| (&change.health, &change.subject))
        .collect();
    let expected = [
        (&Health::Unhealthy, &c.subject),
        (&Health::Unhealthy, &b.subject),
        (&Health::Healthy, &broken.subject),
    ];
    assert_eq!(shown, expected);
}

#[tokio::test]
async fn the_component_of_own_trouble_says_that_the_disk_is_full() {
    let (_folder, services) = full().await;
    let healthy = || vec![HealthState::default()];
    let shown = services.with_own_trouble("os", healthy());
    assert_eq!(shown[0].health, Health::Degraded);
    assert!(
        shown[0].reason.contains("no space left"),
        "{}",
        shown[0].reason
    );
    assert!(shown[0].reason.contains(" since 20"), "{}", shown[0].reason);
    assert_eq!(services.with_own_trouble("cpu", healthy()), healthy());
    make_room(&services).await;
    assert_eq!(services.with_own_trouble("os", healthy()), healthy());
}

#[tokio::test]
async fn a_latch_that_could_not_be_written_is_written_later() {
    let (_folder, services) = full().await;
    let store = services.store.clone().unwrap();
    let latched = HealthState {
        health: Health::Unhealthy,
        reason: "x".repeat(20_000),
        latch: true,
        ..HealthState::default()
    };
    for saved in [false, true] {
        let states = vec![latched.clone()];
        let latches = &services.latches;
        latches.apply("c", states, 1, BOOT, Some(&store)).await;
        assert_eq!(!store.latches().await.unwrap().is_empty(), saved);
        make_room(&services).await;
    }
}

#[tokio::test]
async fn a_component_judges_by_what_waits_behind_the_lock_of_another_process() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gpud.state");
    let options = StoreOptions::new(Location::File(path.clone()));
    let store = Store::open(options).unwrap().store;
    let node = Arc::new(Node::of_log(1_000_000).unwrap());
    let metrics = Arc::new(metrics::Registry::new());
    let services = Arc::new(Services::new(node, Some(store.clone()), metrics).await);
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let waiting = tokio::spawn({
        let services = Arc::clone(&services);
        async move {
            let never = std::future::pending();
            commit_when_possible(&services, "c", batch(5, "first", 7), || {}, never).await
        }
    });
    while !store.has_waiting("c") {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // What a check finds in the meantime does not wait for its turn to write: the verdict would, too.
    let found = vec![event(6, "check")];
    let stored = commit::events_and_state(&services, "c", found, Default::default()).await;
    assert_eq!(stored, Ok(()));
    // The first try has not failed yet.
    assert_eq!(store.outage(), None);
    assert_eq!(texts(&services, "c").await, ["first"]);
    while store.outage().is_none() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // From now on nobody waits for long.
    other.execute_batch("ROLLBACK").unwrap();
    store.meta_set("k", "v").await.unwrap();
    assert_eq!(waiting.await.unwrap(), Ok(Some(vec![Inserted::New])));
    assert!(!store.has_waiting("c"));
    commit::save_unsaved(&services, "c").await.unwrap();
    assert_eq!(texts(&services, "c").await, ["first", "check"]);
}
