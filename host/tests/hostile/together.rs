//! More calls than instances, and hostile ones in every slot: each waits for its turn, and each gets it.

use std::sync::Arc;

use gpud::runtime::CallError;

use crate::lab;

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
