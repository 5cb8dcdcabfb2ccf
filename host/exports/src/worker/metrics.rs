//! Sends the present value of all metrics at an interval.

use std::time::{Duration, Instant};

use super::Worker;
use crate::{
    DeliveryError, MetricExport,
    metrics::{MetricPicture, Pushed},
    retry,
    status::shortened,
};

/// Longest wait before the first push.
const FIRST: Duration = Duration::from_secs(10);

/// Works until the stop. A push that failed is tried again with the values of then.
pub(super) async fn run(export: &mut impl MetricExport, worker: &Worker) {
    let interval = export.interval();
    let mut backoff = worker.backoff();
    // Not all nodes of a fleet at one moment.
    let mut pause = interval.min(FIRST).mul_f64(retry::random());
    loop {
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = worker.stop.cancelled() => return,
        }
        let began = Instant::now();
        let done = tokio::select! {
            done = worker.attempt(push(export, worker)) => done,
            () = worker.stop.cancelled() => return,
        };
        let context = &worker.context;
        let status = context.status.metrics();
        match done {
            Ok(pushed) => {
                backoff.reset();
                if pushed.refused > 0 {
                    let (points, message) = (pushed.refused, shortened(&pushed.message));
                    tracing::error!(
                        export = context.export,
                        points,
                        "points of metrics were refused: {message}"
                    );
                }
                if status.pushed(&pushed, context.now()) {
                    tracing::info!(export = context.export, "metrics are sent again");
                }
                pause = interval.saturating_sub(began.elapsed());
            }
            Err(error) => {
                let (message, asked) = match error {
                    DeliveryError::Transient {
                        message,
                        retry_after,
                    } => (message, retry_after),
                    DeliveryError::Refused { message, .. }
                    | DeliveryError::PartlyTaken { message, .. } => (message, None),
                };
                if status.failed(&message, context.now()) {
                    tracing::warn!(
                        export = context.export,
                        "no metrics could be sent: {message}; it is tried again"
                    );
                }
                pause = backoff.next(asked, retry::random());
            }
        }
    }
}

/// Takes a picture and sends it.
async fn push(export: &mut impl MetricExport, worker: &Worker) -> Result<Pushed, DeliveryError> {
    let context = &worker.context;
    let readings = match &context.environment.metrics {
        Some(source) => source.read().await,
        None => return Ok(Pushed::default()),
    };
    let picture = MetricPicture {
        time: context.now(),
        readings,
        snapshot: worker.snapshots.borrow().clone(),
    };
    export.push(&picture, context).await
}
