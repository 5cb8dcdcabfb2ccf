//! Events that cannot be written yet. Components read them among their own, so that a disk that is full does not hide
//! what the kernel said: a verdict does not wait for room.

use std::{
    cmp::Reverse,
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{Store, StoredEvent};
use crate::model::{Event, UnixMillis};

/// The events that wait, by component, each batch with a number.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    batches: Mutex<Batches>,
}

#[derive(Debug, Default)]
struct Batches {
    next: u64,
    by_component: BTreeMap<String, BTreeMap<u64, Vec<Event>>>,
}

/// Events that wait. They no longer do when this is dropped: they are stored, or their finder has given up.
#[derive(Debug)]
pub struct WaitingEvents {
    waiting: Arc<Waiting>,
    component: String,
    number: u64,
}

impl Store {
    /// Has [`Store::events`] of a component return these too, for as long as the answer is kept.
    #[must_use]
    pub fn show_waiting(&self, component: &str, events: Vec<Event>) -> WaitingEvents {
        let waiting = Arc::clone(&self.inner.waiting);
        let mut batches = waiting.lock();
        let number = batches.next;
        batches.next += 1;
        let of_component = batches
            .by_component
            .entry(component.to_owned())
            .or_default();
        of_component.insert(number, events);
        drop(batches);
        WaitingEvents {
            waiting,
            component: component.to_owned(),
            number,
        }
    }

    /// Whether something that a component found waits to be written.
    pub fn has_waiting(&self, component: &str) -> bool {
        self.inner
            .waiting
            .lock()
            .by_component
            .contains_key(component)
    }
}

impl Waiting {
    /// Adds the component's events whose second is later than that of `since`, in the order of [`Store::events`].
    pub(super) fn add_to(
        &self,
        stored: Vec<StoredEvent>,
        component: &str,
        since: UnixMillis,
        limit: Option<u32>,
    ) -> Vec<StoredEvent> {
        let batches = self.lock();
        let Some(waiting) = batches.by_component.get(component) else {
            return stored;
        };
        let newest_first = waiting.values().rev().flat_map(|batch| batch.iter().rev());
        let mut events: Vec<StoredEvent> = newest_first
            .filter(|event| event.time / 1000 > since / 1000)
            .filter(|event| !stored.iter().any(|stored| is_same(&stored.event, event)))
            .map(|event| StoredEvent {
                event: event.clone(),
                count: 1,
                last_time: event.time,
            })
            .collect();
        drop(batches);
        events.extend(stored);
        events.sort_by_key(|event| Reverse(event.event.time / 1000));
        if let Some(limit) = limit {
            events.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        }
        events
    }

    fn lock(&self) -> MutexGuard<'_, Batches> {
        self.batches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether storing one of them would find the other there.
fn is_same(stored: &Event, event: &Event) -> bool {
    stored.time == event.time
        && stored.name == event.name
        && stored.event_type == event.event_type
        && stored.message == event.message
}

impl Drop for WaitingEvents {
    fn drop(&mut self) {
        let mut batches = self.waiting.lock();
        if let Some(of_component) = batches.by_component.get_mut(&self.component) {
            of_component.remove(&self.number);
            if of_component.is_empty() {
                batches.by_component.remove(&self.component);
            }
        }
    }
}
