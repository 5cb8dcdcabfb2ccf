//! The problem with the store right now, as its own calls found it.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::Notify;

use super::StoreError;
use crate::{model::UnixMillis, node::clock::Clock};

/// Why nothing can be written, and since when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outage {
    /// The error of the last write that failed, or of work that does not end.
    pub error: StoreError,
    /// When the first of these failed.
    pub since: UnixMillis,
}

/// The last fault of the machine that the store met.
#[derive(Debug, Default)]
pub(super) struct HealthCell {
    outage: Mutex<Option<Outage>>,
    /// Pieces of work that were given up and have not ended. The database hangs while there are any.
    given_up: AtomicUsize,
    over: Notify,
}

impl HealthCell {
    /// Notes how the last writes went. Corruption stays until the store is reopened, anything else until writes work.
    pub(super) fn set(&self, fault: Option<StoreError>) {
        let mut current = self.outage.lock().unwrap_or_else(PoisonError::into_inner);
        let since = match &*current {
            Some(outage) if matches!(outage.error, StoreError::Corrupt(_)) => return,
            Some(outage) => Some(outage.since),
            None => None,
        };
        let Some(error) = fault else {
            // Other work may still hang.
            if !self.hangs()
                && let Some(outage) = current.take()
            {
                let since = super::time_text(outage.since);
                tracing::warn!(since, "the database can be written again");
                drop(current);
                self.over.notify_waiters();
            }
            return;
        };
        let since = since.unwrap_or_else(|| Clock::Live.now_ms());
        if current.as_ref().map(|outage| &outage.error) != Some(&error) {
            let since = super::time_text(since);
            tracing::error!(since, "the database cannot be written: {error}");
        }
        *current = Some(Outage { error, since });
    }

    /// Notes that a caller no longer waits for its work.
    pub(super) fn gave_up(&self) {
        self.given_up.fetch_add(1, Ordering::AcqRel);
        self.set(Some(StoreError::Hangs));
    }

    /// Notes that work which a caller no longer waited for has ended.
    pub(super) fn answered(&self) {
        let is_last = self.given_up.fetch_sub(1, Ordering::AcqRel) == 1;
        let is_of_hang = |outage: Outage| outage.error == StoreError::Hangs;
        if is_last && self.get().is_some_and(is_of_hang) {
            self.set(None);
        }
    }

    /// Whether work that was given up has not ended yet.
    pub(super) fn hangs(&self) -> bool {
        self.given_up.load(Ordering::Acquire) > 0
    }

    /// Notes the result of a read. Only corruption matters: a read that works is no evidence about writing.
    pub(super) fn note_read(&self, error: &StoreError) {
        if matches!(error, StoreError::Corrupt(_)) {
            self.set(Some(error.clone()));
        }
    }

    pub(super) fn get(&self) -> Option<Outage> {
        self.outage
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Waits until a write works again; returns at once if none failed.
    pub(super) async fn over(&self) {
        let mut over = std::pin::pin!(self.over.notified());
        // Registered before looking, so that an end in between wakes us.
        over.as_mut().enable();
        if self.get().is_some() {
            over.await;
        }
    }

    pub(super) fn is_full(&self) -> bool {
        matches!(
            self.get().map(|outage| outage.error),
            Some(StoreError::DiskFull(_))
        )
    }

    /// Whether another process held the database at the last write.
    pub(super) fn is_locked(&self) -> bool {
        matches!(
            self.get().map(|outage| outage.error),
            Some(StoreError::Locked(_))
        )
    }

    pub(super) fn is_corrupt(&self) -> bool {
        matches!(
            self.get().map(|outage| outage.error),
            Some(StoreError::Corrupt(_))
        )
    }
}
