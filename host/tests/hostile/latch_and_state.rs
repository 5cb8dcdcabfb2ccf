//! What a plugin leaves behind: only whole calls, only within its quota, and no verdict that it takes back at will.

use std::time::Duration;

use gpud::{
    model::{Health, Trigger},
    store::Store,
};

use crate::{
    as_component::{guest, services, store},
    lab,
};

#[tokio::test]
async fn values_written_before_a_trap_are_dropped() {
    let lab = lab::shared().await;
    let store = store();
    let services = services(&lab, store.clone()).await;
    let component = guest(&lab, "state_then_trap", "state-then-trap", lab::limits()).await;
    let states = component.check(&services, Trigger::Manual).await;
    assert_eq!(states[0].health, Health::Unhealthy, "{states:?}");
    assert_eq!(store.state_keys("state-then-trap").await, Ok(vec![]));
    let states = component.check(&services, Trigger::Scheduled).await;
    assert_eq!(states[0].reason, "found None");

    // The guest can read what is there, so the line above is no accident.
    store
        .state_set("state-then-trap", "half", b"x".to_vec())
        .await
        .unwrap();
    let states = component.check(&services, Trigger::Scheduled).await;
    assert_eq!(states[0].reason, "found Some(\"x\")");
}

async fn stored_bytes(store: &Store, component: &str) -> usize {
    let mut bytes = 0;
    for key in store.state_keys(component).await.unwrap() {
        bytes += key.len()
            + store
                .state_get(component, &key)
                .await
                .unwrap()
                .unwrap()
                .len();
    }
    bytes
}

#[tokio::test]
async fn a_full_key_value_store_is_an_error_for_its_guest_only() {
    let lab = lab::shared().await;
    let store = store();
    let services = services(&lab, store.clone()).await;
    let hog = guest(&lab, "state_hog", "state-hog", lab::limits()).await;
    let states = hog.check(&services, Trigger::Scheduled).await;
    assert_eq!(states[0].reason, "no more room");
    assert_eq!(
        states[0].error.as_deref(),
        Some("state values written: 1080098 is more than the limit of 1048576")
    );
    let bytes = stored_bytes(&store, "state-hog").await;
    assert!((900_000..=1 << 20).contains(&bytes), "{bytes}");
    assert_eq!(
        store.events("state-hog", 0, None).await.unwrap().len(),
        1,
        "its event is stored"
    );
    let neighbour = store
        .state_set("well-behaved", "key", vec![0; 60_000])
        .await;
    assert_eq!(neighbour, Ok(()), "a neighbour has a quota of its own");
}

#[tokio::test]
async fn a_key_value_store_filled_over_many_checks_stays_within_its_quota() {
    let lab = lab::shared().await;
    let store = store();
    let services = services(&lab, store.clone()).await;
    let hog = guest(&lab, "state_hog", "state-hog/slow", lab::limits()).await;
    let log = lab::log();
    for _ in 0..4 {
        hog.check(&services, Trigger::Manual).await;
        // Its keys carry the time.
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let bytes = stored_bytes(&store, "state-hog/slow").await;
    assert!((900_000..=1 << 20).contains(&bytes), "{bytes}");
    let refused = "plugin state of state-hog/slow in bytes";
    assert!(
        log.lines().iter().any(|line| line.contains(refused)),
        "{:?}",
        log.lines()
    );
}

#[tokio::test]
async fn a_latched_verdict_outlives_its_author_and_the_daemon() {
    let lab = lab::shared().await;
    let store = store();
    let latched = |reason: &str, health: &Health| {
        assert_eq!((reason, health), ("the fan fell off", &Health::Unhealthy));
    };
    let component = guest(&lab, "latches", "latches", lab::limits()).await;
    let daemon = services(&lab, store.clone()).await;
    for trigger in [Trigger::Startup, Trigger::Scheduled, Trigger::Manual] {
        let states = component.check(&daemon, trigger).await;
        assert_eq!(states.len(), 1);
        latched(&states[0].reason, &states[0].health);
    }

    // Another daemon over the same store, whose plugin never saw the fan fall.
    let daemon = services(&lab, store.clone()).await;
    let component = guest(&lab, "latches", "latches", lab::limits()).await;
    let states = component.check(&daemon, Trigger::Scheduled).await;
    latched(&states[0].reason, &states[0].health);

    component.set_healthy(&daemon).await.unwrap();
    assert_eq!(component.states(0)[0].reason, "never mind");
    let daemon = services(&lab, store).await;
    let states = component.check(&daemon, Trigger::Scheduled).await;
    assert_eq!(states[0].reason, "never mind", "it stays cleared");
}
