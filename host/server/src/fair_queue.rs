//! A queue for something of which there is only so much. The client that holds the least of it is served first; of those who
//! hold as little, each has one turn before any of them has a second. So a client waits for other clients, and not for all
//! that they want.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::oneshot;

use super::peer::Identity;

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
    /// Turns that were given out.
    turns: u64,
}

/// What one client waits for.
#[derive(Debug)]
struct ClientQueue {
    /// Its place among the clients: the lowest is next. It gets a new one when it begins to wait, and each time it is served.
    turn: u64,
    waiters: VecDeque<oneshot::Sender<Permit>>,
}

/// One of the places of the queue, until it is dropped.
#[derive(Debug)]
pub(super) struct Permit {
    queue: Arc<FairQueue>,
    holder: Option<Holder>,
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
            let turn = state.new_turn();
            let begun = || ClientQueue {
                turn,
                waiters: VecDeque::new(),
            };
            let ClientQueue { waiters, .. } = state.waiting.entry(holder).or_insert_with(begun);
            // Requests that no longer wait leave nothing behind.
            waiters.retain(|one| !one.is_closed());
            waiters.push_back(place);
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
        }
    }

    fn release(self: &Arc<Self>, holder: Option<Holder>) {
        let mut served = Vec::new();
        {
            let mut state = self.lock();
            state.all = state.all.saturating_sub(1);
            if let Some(holder) = holder {
                state.others = state.others.saturating_sub(1);
                count_down(&mut state.held, holder.identity);
                count_down(&mut state.held_by_group, holder.group);
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
            (held, waiting.turn)
        });
        let next = *next?.0;
        let turn = self.new_turn();
        let queue = self.waiting.get_mut(&next)?;
        queue.turn = turn;
        Some((next, queue.waiters.pop_front()?))
    }

    fn new_turn(&mut self) -> u64 {
        self.turns += 1;
        self.turns
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
        self.queue.release(self.holder);
    }
}

#[cfg(test)]
mod tests;
