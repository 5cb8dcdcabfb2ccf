//! Gives up a database that does not answer: a disk or a file system that hangs must not hold up checks.
//!
//! What was given up while it waited is not done any more. What had begun is done once the disk answers, and again by the
//! caller's next try: an event may then be counted twice, and none is lost.

use std::{
    future::Future,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    time::Duration,
};

use super::{StoreError, health::HealthCell};

const UNDERWAY: u8 = 0;
const ENDED: u8 = 1;
const GIVEN_UP: u8 = 2;

/// One piece of work, as the thread that does it sees it. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct PendingWork {
    state: Arc<AtomicU8>,
    health: Arc<HealthCell>,
}

/// One piece of work, as its caller sees it.
#[derive(Debug)]
pub(super) struct PendingAnswer {
    state: Arc<AtomicU8>,
    health: Arc<HealthCell>,
}

/// Begins a piece of work, unless the database hangs: one more would only wait as well.
///
/// # Errors
/// [`StoreError::Hangs`].
pub(super) fn begin(health: &Arc<HealthCell>) -> Result<(PendingWork, PendingAnswer), StoreError> {
    if health.hangs() {
        return Err(StoreError::Hangs);
    }
    let state = Arc::new(AtomicU8::new(UNDERWAY));
    let work = PendingWork {
        state: Arc::clone(&state),
        health: Arc::clone(health),
    };
    let waiting = PendingAnswer {
        state,
        health: Arc::clone(health),
    };
    Ok((work, waiting))
}

impl PendingWork {
    /// Whether nobody waits for it any more.
    pub fn is_given_up(&self) -> bool {
        self.state.load(Ordering::Acquire) == GIVEN_UP
    }
}

impl Drop for PendingWork {
    fn drop(&mut self) {
        if self.state.swap(ENDED, Ordering::AcqRel) == GIVEN_UP {
            self.health.answered();
        }
    }
}

impl PendingAnswer {
    /// Waits for the answer, for this long. Then it interrupts the work: what only takes long ends, and what waits for a disk
    /// does not.
    ///
    /// # Errors
    /// [`StoreError::Hangs`]; else as the answer is.
    pub async fn wait<T>(
        self,
        answer: impl Future<Output = Result<T, StoreError>>,
        patience: Duration,
        interrupt: impl FnOnce(),
    ) -> Result<T, StoreError> {
        let mut answer = pin!(answer);
        if let Ok(answer) = tokio::time::timeout(patience, &mut answer).await {
            return answer;
        }
        interrupt();
        if let Ok(answer) = tokio::time::timeout(patience / 2, &mut answer).await {
            return answer;
        }
        // Counted before it is given up, since it may end in the same moment.
        self.health.gave_up();
        let given_up =
            self.state
                .compare_exchange(UNDERWAY, GIVEN_UP, Ordering::AcqRel, Ordering::Acquire);
        match given_up {
            Ok(_) => Err(StoreError::Hangs),
            Err(_) => {
                self.health.answered();
                answer.await
            }
        }
    }
}
