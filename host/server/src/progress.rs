//! Tracks whether a client reads its answers.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

/// Counts the pieces of an answer that were handed to the connection and are not written yet.
#[derive(Debug)]
pub(super) struct Progress(Mutex<Pieces>);

#[derive(Debug)]
struct Pieces {
    waiting: usize,
    /// When the client last took a piece, or when the first one began to wait.
    since: Instant,
    waker: Option<Waker>,
}

impl Default for Progress {
    fn default() -> Self {
        Self(Mutex::new(Pieces {
            waiting: 0,
            since: Instant::now(),
            waker: None,
        }))
    }
}

impl Progress {
    /// Notes that a piece is handed to the connection.
    pub(super) fn hand_over(&self) {
        let mut pieces = self.lock();
        if pieces.waiting == 0 {
            pieces.since = Instant::now();
        }
        pieces.waiting += 1;
    }

    /// Notes that a piece was written, or thrown away.
    pub(super) fn release(&self) {
        let waker = {
            let mut pieces = self.lock();
            pieces.waiting = pieces.waiting.saturating_sub(1);
            pieces.since = Instant::now();
            match pieces.waiting {
                0 => pieces.waker.take(),
                _ => None,
            }
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Returns whether pieces wait of which the client has taken none for this long.
    pub(super) fn is_stalled(&self, now: Instant, limit: Duration) -> bool {
        let pieces = self.lock();
        pieces.waiting > 0 && now.saturating_duration_since(pieces.since) >= limit
    }

    /// Returns `Ready` once no piece waits.
    pub(super) fn poll_released(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut pieces = self.lock();
        if pieces.waiting == 0 {
            return Poll::Ready(());
        }
        pieces.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    /// A count and a time are whole whatever panicked beside them.
    fn lock(&self) -> MutexGuard<'_, Pieces> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, sync::Arc};

    use super::*;

    const LIMIT: Duration = Duration::from_secs(30);

    #[test]
    fn only_a_client_that_takes_nothing_of_what_waits_has_stalled() {
        let progress = Progress::default();
        let later = || Instant::now() + LIMIT;
        assert!(!progress.is_stalled(later(), LIMIT), "nothing to take");
        progress.hand_over();
        assert!(!progress.is_stalled(Instant::now(), LIMIT));
        assert!(progress.is_stalled(later(), LIMIT));
        let before = later();
        progress.hand_over();
        assert!(
            progress.is_stalled(before, LIMIT),
            "more of it changes nothing"
        );
        progress.release();
        assert!(!progress.is_stalled(before, LIMIT), "it took one");
        assert!(progress.is_stalled(later(), LIMIT), "and leaves the other");
        progress.release();
        assert!(!progress.is_stalled(later(), LIMIT));
    }

    #[tokio::test]
    async fn an_answer_learns_when_all_was_taken() {
        let progress = Arc::new(Progress::default());
        progress.hand_over();
        progress.hand_over();
        let waiting = tokio::spawn({
            let progress = Arc::clone(&progress);
            async move { poll_fn(|cx| progress.poll_released(cx)).await }
        });
        tokio::task::yield_now().await;
        progress.release();
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        progress.release();
        waiting.await.unwrap();
    }
}
