//! Keeps an engine's picture of the node up to date.

use std::{sync::Arc, time::Instant};

use super::Worker;
use crate::{DeliveryError, Snapshot, StateExport};

/// Works until the stop.
pub(super) async fn run(export: &mut impl StateExport, worker: &Worker) {
    let mut snapshots = worker.snapshots.clone();
    let mut backoff = worker.backoff();
    // Since when the engine's picture is an old one.
    let mut waiting_since = None;
    loop {
        let snapshot = snapshots.borrow_and_update().clone();
        if let Some(snapshot) = snapshot {
            let since = *waiting_since.get_or_insert_with(|| worker.context.now());
            worker.context.status.set_oldest_waiting(Some(since));
            match apply(export, worker, &snapshot).await {
                Ok(began) => {
                    waiting_since = None;
                    worker.context.status.set_oldest_waiting(None);
                    worker.succeeded(&mut backoff, 1, began);
                }
                Err(error) => {
                    let (message, asked) = match error {
                        DeliveryError::Transient {
                            message,
                            retry_after,
                        } => (message, retry_after),
                        // The engine may take the next picture.
                        DeliveryError::Refused { message, .. }
                        | DeliveryError::PartlyTaken { message, .. } => (message, None),
                    };
                    worker.pause(&mut backoff, &message, asked).await;
                    if worker.stop.is_cancelled() {
                        return;
                    }
                    continue;
                }
            }
        }
        tokio::select! {
            changed = snapshots.changed() => if changed.is_err() {
                worker.stop.cancelled().await;
                return;
            },
            () = tokio::time::sleep(export.resync()) => {
                tracing::debug!(export = worker.context.export, "the state is sent once more");
            }
            () = worker.stop.cancelled() => return,
        }
    }
}

async fn apply(
    export: &mut impl StateExport,
    worker: &Worker,
    snapshot: &Arc<Snapshot>,
) -> Result<Instant, DeliveryError> {
    let began = Instant::now();
    let select = &worker.context.select;
    let selected;
    let snapshot = if select.components.is_empty() {
        snapshot
    } else {
        selected = Arc::new(snapshot.only(|component| select.wants_component(component)));
        &selected
    };
    let applied = export.apply(snapshot, &worker.context);
    worker.attempt(applied).await.map(|()| began)
}
