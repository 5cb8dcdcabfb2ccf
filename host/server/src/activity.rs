//! The time of the last activity on a connection.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::time::sleep;

/// Knows whether requests are in flight on a connection, and since when none is.
#[derive(Debug)]
pub(super) struct Activity(Mutex<(usize, Instant)>);

impl Default for Activity {
    fn default() -> Self {
        Self(Mutex::new((0, Instant::now())))
    }
}

impl Activity {
    /// Counts one request until the guard and all its copies are dropped.
    pub(super) fn begin(self: &Arc<Self>) -> InFlightRequest {
        let mut state = self.lock();
        *state = (state.0 + 1, Instant::now());
        InFlightRequest {
            _guard: Arc::new(ActivityGuard(Arc::clone(self))),
        }
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

/// A request in flight. An answer that continues after its head holds a copy.
#[derive(Clone)]
pub(super) struct InFlightRequest {
    _guard: Arc<ActivityGuard>,
}

struct ActivityGuard(Arc<Activity>);

impl Drop for ActivityGuard {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        *state = (state.0.saturating_sub(1), Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_busy_until_the_last_copy_is_dropped() {
        let activity = Arc::<Activity>::default();
        let is_busy = || activity.last().0;
        let request = activity.begin();
        let answer = request.clone();
        drop(request);
        assert!(is_busy());
        let another = activity.begin();
        drop(answer);
        assert!(is_busy(), "another request is under way");
        drop(another);
        assert!(!is_busy());
    }
}
