//! More calls than instances, and hostile ones in every slot: each waits for its turn, and each gets it.

use std::sync::Arc;

use gpud::runtime::CallError;

use crate::lab;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_component_that_traps_does_no_harm_to_others_in_its_plugin() {
    let lab = lab::shared().await;
    let family = lab.guest("family", lab::limits()).await;
    for _ in 0..3 {
        let spoils = lab::check(&family, "spoils").await;
        assert!(
            matches!(spoils.answer, Err(CallError::Trap(_))),
            "{:?}",
            spoils.answer
        );
        let innocent = lab::check(&family, "innocent").await;
        assert_eq!(lab::reason(&innocent), Ok("all well"));
    }
    let innocent = family.patterns(&lab::call_context("innocent")).await;
    assert_eq!(innocent.answer, Ok(Vec::new()));
    let spoils = family.patterns(&lab::call_context("spoils")).await;
    assert_eq!(spoils.answer, Ok(vec!["family".to_owned()]));
    let other = lab::check(&family, "other").await;
    assert_eq!(
        lab::reason(&other).map_err(ToString::to_string),
        Err("failed: this plugin has no component `other`".to_owned())
    );
}

/// More than the runtime has slots.
const CALLS: usize = 40;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_calls_than_slots_all_finish() {
    let lab = lab::shared().await;
    let endless = Arc::new(lab.guest("loop_forever", lab::short()).await);
    let good = Arc::new(lab.guest("well_behaved", lab::limits()).await);
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..CALLS {
        let (endless, good) = (Arc::clone(&endless), Arc::clone(&good));
        calls.spawn(async move {
            let finished = lab::check(&endless, "loop-forever").await;
            assert_eq!(
                finished.answer.map(drop),
                Err(CallError::Deadline(lab::SHORT))
            );
        });
        calls.spawn(async move {
            let finished = lab::check(&good, "well-behaved").await;
            assert_eq!(lab::reason(&finished), Ok("all well"));
        });
    }
    while let Some(ended) = calls.join_next().await {
        ended.unwrap();
    }
}
