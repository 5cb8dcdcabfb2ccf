use std::sync::Arc;

use axum::body::to_bytes;
use proptest::prelude::*;

use super::*;
use crate::{server::test_backend::Fake, wire::to_json};

/// What the list should be, made from all events at once.
fn wanted(backend: &Fake, after: i64) -> String {
    let events = backend.cpu_events(after, 0);
    if events.is_empty() {
        return "null".into();
    }
    let events: Vec<Event> = events
        .into_iter()
        .map(|listed| listed.event.into())
        .collect();
    String::from_utf8(to_json(&events).unwrap()).unwrap()
}

async fn got(lists: &EventLists, backend: &Fake, after: i64) -> String {
    let list = lists.get(backend, &["cpu".to_owned()], after).await;
    let mut answer = Pieces::default();
    list[0].as_ref().unwrap().write(after, &mut answer);
    let body = to_bytes(answer.plain(), usize::MAX).await.unwrap();
    String::from_utf8(body.to_vec()).unwrap()
}

#[derive(Debug, Clone)]
enum Step {
    /// Seconds after the first events, bytes of text.
    Add(Vec<(u64, usize)>),
    Remove(usize),
    Ask(i64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        prop::collection::vec((0_u64..40, prop_oneof![Just(1_usize), Just(9_000)]), 0..12)
            .prop_map(Step::Add),
        (0_usize..20).prop_map(Step::Remove),
        (-3_i64..43).prop_map(Step::Ask),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn lists_are_what_they_would_be_if_made_anew(steps in prop::collection::vec(step(), 1..20)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (lists, backend) = (EventLists::default(), Arc::<Fake>::default());
            for step in steps {
                match step {
                    Step::Add(new) => {
                        let mut events = backend.events.lock().unwrap();
                        events.extend(new.iter().map(|(second, length)| {
                            (1_741_060_000 + second, "x".repeat(*length))
                        }));
                        backend.events_version.lock().unwrap().added += 1;
                    }
                    Step::Remove(at) => {
                        let mut events = backend.events.lock().unwrap();
                        if at < events.len() {
                            events.remove(at);
                        }
                        backend.events_version.lock().unwrap().removed += 1;
                    }
                    Step::Ask(second) => {
                        let after = 1_741_060_000 + second;
                        let (got, wanted) = (got(&lists, &backend, after).await, wanted(&backend, after));
                        prop_assert!(got == wanted, "after {second}");
                    }
                }
            }
            Ok(())
        })?;
    }
}

#[tokio::test]
async fn what_is_too_large_is_served_and_not_kept() {
    let backend = Arc::<Fake>::default();
    let text = "x".repeat(1 << 20);
    let events = (0..20).map(|n| (1_741_060_010 + n, text.clone()));
    *backend.events.lock().unwrap() = events.collect();
    let lists = EventLists::default();
    assert_eq!(got(&lists, &backend, 0).await, wanted(&backend, 0));
    assert!(lists.0.lock().await.is_empty());
}

#[tokio::test]
async fn what_is_not_used_is_dropped() {
    let (lists, backend) = (EventLists::default(), Fake::default());
    got(&lists, &backend, 0).await;
    lists.forget(Instant::now() - Duration::from_secs(60)).await;
    assert!(!lists.0.lock().await.is_empty());
    lists.forget(Instant::now() + Duration::from_secs(60)).await;
    assert!(lists.0.lock().await.is_empty());
}
