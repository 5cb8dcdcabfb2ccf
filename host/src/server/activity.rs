//! When something last happened on a connection.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::time::sleep;

/// Knows whether requests are under way on a connection, and since when none is.
#[derive(Debug)]
pub(super) struct Activity(Mutex<(usize, Instant)>);

impl Default for Activity {
    fn default() -> Self {
        Self(Mutex::new((0, Instant::now())))
    }
}

impl Activity {
    /// Counts one request until the guard is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> Busy {
        let mut state = self.lock();
        *state = (state.0 + 1, Instant::now());
        Busy(Arc::clone(self))
    }

    /// Returns whether a request is under way, and when the last one began or ended, or the connection itself.
    pub(super) fn last(&self) -> (bool, Instant) {
        let (busy, at) = *self.lock();
        (busy > 0, at)
    }

    /// Returns once no request has been under way for this long.
    pub(super) async fn idle(&self, limit: Duration) {
        loop {
            let quiet = match self.last() {
                (true, _) => Duration::ZERO,
                (false, since) => since.elapsed(),
            };
            if quiet >= limit {
                return;
            }
            sleep(limit.saturating_sub(quiet)).await;
        }
    }

    /// A count and a time are whole whatever panicked beside them.
    fn lock(&self) -> MutexGuard<'_, (usize, Instant)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request under way.
pub(super) struct Busy(Arc<Activity>);

impl Drop for Busy {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        *state = (state.0.saturating_sub(1), Instant::now());
    }
}
