//! The task of an export: it takes records or states, hands them to the engine, and tries failed deliveries again.
//!
//! A worker ends when it is asked to, at the latest after [`STOP_GRACE`]. A panic of an engine is an error like others.

mod metrics;
mod records;
mod state;
#[cfg(test)]
pub(crate) mod tests;

use std::{
    any::Any,
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::FutureExt as _;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{
    Context, DeliveryError, Export, MetricExport, Snapshot, StateExport,
    buffer::Buffer,
    retry::{self, Backoff},
    status::shortened,
};

/// How long a worker may go on after it was asked to stop.
pub const STOP_GRACE: Duration = Duration::from_secs(2);

/// Runs the tasks of one export, with everything that they share.
#[derive(Debug)]
pub struct Worker {
    /// The services that the engine may use.
    pub context: Context,
    /// The records that wait.
    pub buffer: Arc<Buffer>,
    /// The node's present state.
    pub snapshots: watch::Receiver<Option<Arc<Snapshot>>>,
    /// How many records an engine gets at once.
    pub batch_records: usize,
    /// The longest pause between two tries.
    pub longest_pause: Duration,
    /// Asks the workers to end.
    pub stop: CancellationToken,
}

impl Worker {
    /// Delivers records until it is asked to stop.
    pub async fn run_records(&self, mut export: impl Export) {
        let spooling = self.buffer.keep_spooling(&self.stop);
        let work = async { tokio::join!(spooling, records::run(&mut export, self)) };
        self.until_stopped(work).await;
    }

    /// Keeps the engine's picture of the node up to date until it is asked to stop.
    pub async fn run_state(&self, mut export: impl StateExport) {
        self.until_stopped(state::run(&mut export, self)).await;
    }

    /// Sends metrics until it is asked to stop.
    pub async fn run_metrics(&self, mut export: impl MetricExport) {
        self.until_stopped(metrics::run(&mut export, self)).await;
    }

    /// Runs to the end, but not longer than [`STOP_GRACE`] after the stop.
    async fn until_stopped<T>(&self, work: impl Future<Output = T>) {
        let deadline = async {
            self.stop.cancelled().await;
            tokio::time::sleep(STOP_GRACE).await;
        };
        tokio::select! {
            _ = work => {}
            () = deadline => {
                tracing::warn!(export = self.context.export, "the export did not stop in time and is ended");
            }
        }
    }

    /// Makes one attempt within the export's time limit; a panic is an error.
    async fn attempt<T>(
        &self,
        delivery: impl Future<Output = Result<T, DeliveryError>>,
    ) -> Result<T, DeliveryError> {
        let limit = self.context.timeout;
        let guarded = AssertUnwindSafe(delivery).catch_unwind();
        match tokio::time::timeout(limit, guarded).await {
            Ok(Ok(done)) => done.map_err(DeliveryError::shortened),
            Ok(Err(panic)) => Err(DeliveryError::transient(format!(
                "the export panicked, please report it: {}",
                shortened(panic_text(panic.as_ref()))
            ))),
            Err(_) => Err(DeliveryError::transient(format!(
                "no answer within {limit:?}"
            ))),
        }
    }

    fn backoff(&self) -> Backoff {
        Backoff::new(
            Duration::from_secs(1).min(self.longest_pause),
            self.longest_pause,
        )
    }

    /// Notes a failure, and waits before the next try; not after the stop.
    async fn pause(&self, backoff: &mut Backoff, message: &str, asked: Option<Duration>) {
        let pause = backoff.next(asked, retry::random());
        let now = self.context.now();
        let pause_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        let next = now.saturating_add(pause_ms);
        if self.context.status.failed(message, now, next) {
            tracing::warn!(export = self.context.export, "{message}; it is tried again");
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = self.stop.cancelled() => {}
        }
    }

    /// Notes a success.
    fn succeeded(&self, backoff: &mut Backoff, count: usize, began: Instant) {
        if backoff.failures() > 0 {
            let failures = backoff.failures();
            tracing::info!(
                export = self.context.export,
                "delivered after {failures} failures"
            );
        }
        backoff.reset();
        self.context.status.succeeded(count, self.context.now());
        tracing::debug!(export = self.context.export, took = ?began.elapsed(), "delivered {count}");
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    text.or(owned).unwrap_or("no message")
}
