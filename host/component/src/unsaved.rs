//! Findings of checks while the database could not be written. They are stored with the component's next commit.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::{
    model::Event,
    store::{Commit, StateChange},
};

/// Most events of one component; the oldest go first, and are counted in the log.
const MAX_EVENTS: usize = 256;
/// Most changes of state of one component; the oldest go first.
const MAX_CHANGES: usize = 256;

/// Data that could not be stored, by component.
#[derive(Debug, Default)]
pub(super) struct Unsaved {
    components: Mutex<BTreeMap<String, UnsavedData>>,
}

/// Data of one component that waits to be stored.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct UnsavedData {
    /// Events and values.
    pub commit: Commit,
    /// Changes of state, in their order.
    pub changes: VecDeque<StateChange>,
}

impl Unsaved {
    /// Takes the waiting data of a component.
    pub fn take(&self, component: &str) -> Option<UnsavedData> {
        self.lock().remove(component)
    }

    /// Returns the components that have waiting data.
    pub fn components(&self) -> Vec<String> {
        self.lock().keys().cloned().collect()
    }

    /// Adds the findings of a check. The check saw the database as it was before the outage, so an event that equals a
    /// waiting one but for its time is not new.
    pub fn keep(&self, component: &str, found: Commit) {
        let mut components = self.lock();
        let waiting = components.entry(component.to_owned()).or_default();
        for event in found.events {
            if !waiting.commit.events.iter().any(|old| is_same(old, &event)) {
                waiting.commit.events.push(event);
            }
        }
        let over = waiting.commit.events.len().saturating_sub(MAX_EVENTS);
        if over > 0 {
            waiting.commit.events.drain(..over);
            tracing::error!(
                component,
                events = over,
                "events are lost: too many came while the database could not be written"
            );
        }
        waiting.commit.state_writes.extend(found.state_writes);
    }

    /// Adds a change of state.
    pub fn keep_change(&self, component: &str, change: StateChange) {
        let mut components = self.lock();
        let changes = &mut components.entry(component.to_owned()).or_default().changes;
        changes.push_back(change);
        if changes.len() > MAX_CHANGES {
            changes.pop_front();
        }
    }

    /// Puts back data that was taken and could not be stored, before the data that was added since.
    pub fn put_back(&self, component: &str, earlier: UnsavedData) {
        let since = self.lock().insert(component.to_owned(), earlier);
        let Some(since) = since else { return };
        self.keep(component, since.commit);
        for change in since.changes {
            self.keep_change(component, change);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, UnsavedData>> {
        self.components
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_same(one: &Event, other: &Event) -> bool {
    one.name == other.name
        && one.event_type == other.event_type
        && one.message == other.message
        && one.subject == other.subject
        && one.extra_info == other.extra_info
}

#[cfg(test)]
mod tests;
