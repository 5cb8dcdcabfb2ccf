//! A queue for something of which there is only so much. The client that holds the least of it is served first; of those who
//! hold as little, the one that has had it for the least time (start-time fair queueing). So a client that wants little hardly
//! waits for those who want much, however many they are.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::oneshot, time::Instant};

use super::peer::Identity;

/// Milliseconds: of those who have had the queue as long, the client that came first is served first.
const STEP: u128 = 50;
/// Most clients of which it is known how long they have had the queue.
const MAX_KNOWN: usize = 4096;

/// The bounds of one resource.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quota {
    /// For all clients together.
    pub(super) all: usize,
    /// Of these, for all clients but root and gpud's own user.
    pub(super) others: usize,
    /// Of those, for one client.
    pub(super) each: usize,
}

/// A client that has a share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Holder {
    /// Its identity.
    pub(super) identity: Identity,
    /// Which clients may be the same person.
    pub(super) group: Identity,
}

/// The queue.
#[derive(Debug)]
pub(super) struct FairQueue {
    quota: Quota,
    state: Mutex<QueueState>,
}

#[derive(Debug, Default)]
struct QueueState {
    all: usize,
    others: usize,
    held: HashMap<Identity, usize>,
    held_by_group: HashMap<Identity, usize>,
    /// By client; `None` for root and gpud's own user.
    waiting: HashMap<Option<Holder>, ClientQueue>,
    arrivals: u64,
    /// How much of the queue's time a client would have had if all had had as much.
    fair_time: Duration,
    /// The same for those who have had more.
    had: HashMap<Identity, Duration>,
}

/// What one client waits for.
#[derive(Debug, Default)]
struct ClientQueue {
    /// When it began to wait, among the clients.
    arrival: u64,
    /// At least this counts as its time: a client that comes late has no claim to what others had before.
    from: Duration,
    waiters: VecDeque<oneshot::Sender<Permit>>,
}

/// One of the places of the queue, until it is dropped.
#[derive(Debug)]
pub(super) struct Permit {
    queue: Arc<FairQueue>,
    holder: Option<Holder>,
    /// What its client has had before.
    from: Duration,
    since: Instant,
}

impl FairQueue {
    pub(super) fn new(quota: Quota) -> Self {
        Self {
            quota,
            state: Mutex::default(),
        }
    }

    /// Waits for a permit of this client; of root or gpud's own user for `None`. It stops waiting when the future is dropped.
    pub(super) async fn take(self: &Arc<Self>, holder: Option<Holder>) -> Option<Permit> {
        let place = {
            let mut state = self.lock();
            if state.has_room(holder, self.quota) {
                return Some(self.grant(&mut state, holder));
            }
            let (place, permit) = oneshot::channel();
            state.arrivals += 1;
            let (arrival, from) = (state.arrivals, state.fair_time);
            let queue = state.waiting.entry(holder).or_default();
            // Requests that no longer wait leave nothing behind.
            queue.waiters.retain(|one| !one.is_closed());
            if queue.waiters.is_empty() {
                (queue.arrival, queue.from) = (arrival, from);
            }
            queue.waiters.push_back(place);
            permit
        };
        place.await.ok()
    }

    /// Returns how many permits nobody holds.
    #[cfg(test)]
    pub(super) fn free(&self) -> usize {
        self.quota.all - self.lock().all
    }

    fn grant(self: &Arc<Self>, state: &mut QueueState, holder: Option<Holder>) -> Permit {
        state.all += 1;
        if let Some(holder) = holder {
            state.others += 1;
            *state.held.entry(holder.identity).or_default() += 1;
            *state.held_by_group.entry(holder.group).or_default() += 1;
        }
        Permit {
            queue: Arc::clone(self),
            holder,
            from: state.begin(holder),
            since: Instant::now(),
        }
    }

    fn release(self: &Arc<Self>, permit: &Permit) {
        let mut served = Vec::new();
        {
            let mut state = self.lock();
            state.all = state.all.saturating_sub(1);
            if let Some(holder) = permit.holder {
                state.others = state.others.saturating_sub(1);
                count_down(&mut state.held, holder.identity);
                count_down(&mut state.held_by_group, holder.group);
                state.charge(holder, permit.from, permit.since.elapsed());
            }
            while let Some((next, place)) = state.next(self.quota) {
                served.push((place, self.grant(&mut state, next)));
            }
        }
        for (place, permit) in served {
            // A request that has just stopped waiting gives it back by dropping it.
            let _ = place.send(permit);
        }
    }

    /// Numbers are whole whatever panicked beside them.
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueueState {
    fn has_room(&self, holder: Option<Holder>, quota: Quota) -> bool {
        let others = holder.is_none_or(|holder| {
            self.others < quota.others && count(&self.held, holder.identity) < quota.each
        });
        self.all < quota.all && others
    }

    /// Takes the next one to be served out of the queue: root and gpud's own user before all, then the client that holds the least.
    fn next(&mut self, quota: Quota) -> Option<(Option<Holder>, oneshot::Sender<Permit>)> {
        self.waiting.retain(|_, ClientQueue { waiters, .. }| {
            while waiters.front().is_some_and(oneshot::Sender::is_closed) {
                waiters.pop_front();
            }
            !waiters.is_empty()
        });
        let can_be_served = self
            .waiting
            .iter()
            .filter(|(holder, _)| self.has_room(**holder, quota));
        let next = can_be_served.min_by_key(|(holder, waiting)| {
            let held = holder.map(|holder| {
                let by_group = count(&self.held_by_group, holder.group);
                (by_group, count(&self.held, holder.identity))
            });
            let had = holder.and_then(|holder| self.had.get(&holder.group));
            let had = had.map_or(waiting.from, |had| waiting.from.max(*had));
            (held, had.as_millis() / STEP, waiting.arrival)
        });
        let next = *next?.0;
        let first = self.waiting.get_mut(&next)?.waiters.pop_front()?;
        Some((next, first))
    }

    /// Returns what a client has had that is served now, which moves the fair time on.
    fn begin(&mut self, holder: Option<Holder>) -> Duration {
        let Some(holder) = holder else {
            return Duration::ZERO;
        };
        let waited_from = self.waiting.get(&Some(holder)).map(|waiting| waiting.from);
        let had = self.had.get(&holder.group).copied().unwrap_or_default();
        let from = had.max(waited_from.unwrap_or(self.fair_time));
        self.fair_time = self.fair_time.max(from);
        from
    }

    /// Notes how long a client that had this much before was served.
    fn charge(&mut self, holder: Holder, from: Duration, time: Duration) {
        let had = self.had.entry(holder.group).or_default();
        *had = from.max(*had) + time;
        if self.had.len() > MAX_KNOWN {
            let fair_time = self.fair_time;
            self.had.retain(|_, had| *had > fair_time);
        }
        let have_all_had_theirs = self.others == 0 && self.waiting.is_empty();
        if have_all_had_theirs || self.had.len() > MAX_KNOWN {
            self.fair_time = Duration::ZERO;
            self.had.clear();
        }
    }
}

fn count(counts: &HashMap<Identity, usize>, of: Identity) -> usize {
    counts.get(&of).copied().unwrap_or_default()
}

fn count_down(counts: &mut HashMap<Identity, usize>, of: Identity) {
    if let Some(count) = counts.get_mut(&of) {
        *count = count.saturating_sub(1);
        if *count == 0 {
            counts.remove(&of);
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.queue.release(self);
    }
}

#[cfg(test)]
mod tests;
