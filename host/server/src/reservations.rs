//! Reserves memory for answers and streams: bounded, shared fairly, and reclaimed from clients that do not read.
//!
//! A reservation lasts until the last piece of its answer was written to the connection or dropped, so the pool counts
//! what the daemon holds. [`Allocations`] decides which reservation makes room for another.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use bytes::Bytes;
use tokio::sync::Notify;

use super::{
    allocations::Allocations,
    cancellation::{CancelStep, Cancellation},
    fair_queue::{Holder, Quota},
    progress::Progress,
};

/// Between two steps to end an answer that is still there.
const STEP_TIME: Duration = Duration::from_secs(10);

/// The reservations of one kind.
#[derive(Debug)]
pub(super) struct ReservationPool {
    quota: Quota,
    state: Mutex<PoolState>,
    freed: Notify,
}

#[derive(Debug, Default)]
struct PoolState {
    /// Without the reservations that make room for others.
    allocations: Allocations,
    answers: HashMap<u64, ReservedAnswer>,
}

/// An answer with a reservation.
#[derive(Debug)]
struct ReservedAnswer {
    progress: Arc<Progress>,
    cancellation: Cancellation,
    /// The last step to end it, and when that was.
    leaving: Option<(CancelStep, Instant)>,
}

/// A reservation. It ends when it and all pieces that were sent from it are dropped.
#[derive(Debug)]
pub(super) struct Reservation {
    pool: Arc<ReservationPool>,
    number: u64,
    progress: Arc<Progress>,
    cancellation: Cancellation,
}

impl ReservationPool {
    pub(super) fn new(quota: Quota) -> Self {
        Self {
            quota,
            state: Mutex::default(),
            freed: Notify::new(),
        }
    }

    /// Reserves this size for this client, if need be by ending another client's; for root or gpud's own user with
    /// `None`. An answer that is larger than one client's share counts as one share. `None` if there is no room.
    pub(super) fn take(
        self: &Arc<Self>,
        holder: Option<Holder>,
        size: usize,
        cancellation: &Cancellation,
    ) -> Option<Reservation> {
        let size = size.min(self.quota.each);
        let mut displaced = Vec::new();
        let reservation = {
            let mut state = self.lock();
            let leaving = state.allocations.make_room(holder, size, self.quota)?;
            let now = Instant::now();
            for number in leaving {
                displaced.extend(state.displace(number, now));
            }
            let number = state.allocations.add(holder, size);
            let progress = Arc::<Progress>::default();
            let answer = ReservedAnswer {
                progress: Arc::clone(&progress),
                cancellation: cancellation.clone(),
                leaving: None,
            };
            state.answers.insert(number, answer);
            Reservation {
                pool: Arc::clone(self),
                number,
                progress,
                cancellation: cancellation.clone(),
            }
        };
        for cancellation in displaced {
            tracing::debug!(client = ?holder, "an answer makes room for another client's");
            cancellation.take(CancelStep::Ask);
        }
        Some(reservation)
    }

    /// Waits until this size can be reserved.
    pub(super) async fn wait(
        self: &Arc<Self>,
        holder: Option<Holder>,
        size: usize,
        cancellation: &Cancellation,
    ) -> Reservation {
        loop {
            // This also notices a part that is freed between the look and the wait.
            let freed = self.freed.notified();
            if let Some(reservation) = self.take(holder, size, cancellation) {
                return reservation;
            }
            freed.await;
        }
    }

    /// Ends answers of which the client has taken nothing for this long, and those that were asked to end and have not.
    pub(super) fn end_stalled(&self, now: Instant, limit: Duration) {
        let mut due = Vec::new();
        for answer in self.lock().answers.values_mut() {
            if let Some(step) = answer.next_step(now, limit) {
                answer.leaving = Some((step, now));
                due.push((step, answer.cancellation.clone()));
            }
        }
        for (step, cancellation) in due {
            tracing::debug!(?step, "a client does not take its answer");
            cancellation.take(step);
        }
    }

    /// Returns how much is held.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.lock().allocations.held()
    }

    /// Numbers are whole whatever panicked beside them.
    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PoolState {
    /// Stops counting a reservation; returns how its answer is ended.
    fn displace(&mut self, number: u64, now: Instant) -> Option<Cancellation> {
        self.allocations.remove(number);
        let answer = self.answers.get_mut(&number)?;
        // One that is being ended already goes on from there.
        answer.leaving.get_or_insert((CancelStep::Ask, now));
        Some(answer.cancellation.clone())
    }
}

impl ReservedAnswer {
    fn next_step(&self, now: Instant, limit: Duration) -> Option<CancelStep> {
        match self.leaving {
            None => self
                .progress
                .is_stalled(now, limit)
                .then_some(CancelStep::EndStream),
            Some((last, at)) => {
                let is_late = now.saturating_duration_since(at) >= STEP_TIME;
                is_late.then(|| last.next()).flatten()
            }
        }
    }
}

impl Reservation {
    /// Returns these bytes as a piece of the answer, which keeps the reservation until it was written.
    pub(super) fn piece(self: &Arc<Self>, bytes: Bytes) -> Bytes {
        self.progress.hand_over();
        Bytes::from_owner(ReservedBytes {
            bytes,
            reservation: Arc::clone(self),
        })
    }

    /// Returns a number that no other reservation has.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Returns how the answer is ended from outside.
    pub(super) fn cancellation(&self) -> &Cancellation {
        &self.cancellation
    }

    /// Returns whether the client takes its pieces.
    pub(super) fn progress(&self) -> &Progress {
        &self.progress
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        {
            let mut state = self.pool.lock();
            state.allocations.remove(self.number);
            state.answers.remove(&self.number);
        }
        self.pool.freed.notify_waiters();
    }
}

struct ReservedBytes {
    bytes: Bytes,
    reservation: Arc<Reservation>,
}

impl AsRef<[u8]> for ReservedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for ReservedBytes {
    fn drop(&mut self) {
        self.reservation.progress.release();
    }
}

#[cfg(test)]
mod tests;
