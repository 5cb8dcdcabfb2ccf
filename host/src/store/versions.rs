//! Numbers that change when rows do, so that what was read can be kept until then.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::quiet::Quiet;
use super::values::Values;

/// Changes whenever the events of a component do: rows came, or rows went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EventsVersion {
    /// Goes up after rows came.
    pub added: u64,
    /// Goes up after rows went.
    pub removed: u64,
}

/// The versions of one store. They go up after a commit and before its answer: who was told of a write finds the new
/// version, and a version that is asked for before a read is never newer than what is read.
#[derive(Debug, Default)]
pub(super) struct Versions {
    events: Mutex<HashMap<String, EventsVersion>>,
    /// Of all components.
    events_removed: AtomicU64,
    samples: AtomicU64,
    /// Of checkers, as far as they were read since they were written.
    pub(super) values: Values,
    /// Of which components there are no events.
    pub(super) quiet_events: Quiet,
    /// Of which there are no marks.
    pub(super) quiet_marks: Quiet,
}

impl Versions {
    pub(super) fn events(&self, component: &str) -> EventsVersion {
        let of_all = self.events_removed.load(Ordering::Acquire);
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let mut version = events.get(component).copied().unwrap_or_default();
        version.removed += of_all;
        version
    }

    pub(super) fn samples(&self) -> u64 {
        self.samples.load(Ordering::Acquire)
    }

    /// Events of this component came.
    pub(super) fn events_added(&self, component: &str) {
        self.change(component, |version| version.added += 1);
        self.quiet_events.added(component);
    }

    /// Events of this component went.
    pub(super) fn events_removed(&self, component: &str) {
        self.change(component, |version| version.removed += 1);
    }

    /// Events went, of whatever component.
    pub(super) fn any_events_removed(&self) {
        self.events_removed.fetch_add(1, Ordering::AcqRel);
    }

    /// Nothing is known from now on.
    pub(super) fn close(&self) {
        self.values.close();
        self.quiet_events.close();
        self.quiet_marks.close();
    }

    /// Samples came or went.
    pub(super) fn samples_changed(&self) {
        self.samples.fetch_add(1, Ordering::AcqRel);
    }

    fn change(&self, component: &str, change: impl FnOnce(&mut EventsVersion)) {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        change(events.entry(component.to_owned()).or_default());
    }
}
