//! The problem with the store right now, as its own calls found it.

use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use super::StoreError;
use crate::{model::UnixMillis, node::clock::Clock};

/// Why nothing can be written, and since when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outage {
    /// The error of the last failed write.
    pub error: StoreError,
    /// When the first of these writes failed.
    pub since: UnixMillis,
}

/// The last fault of the machine that the store met.
#[derive(Debug, Default)]
pub(super) struct HealthCell {
    outage: Mutex<Option<Outage>>,
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
            if let Some(outage) = current.take() {
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

    pub(super) fn is_corrupt(&self) -> bool {
        matches!(
            self.get().map(|outage| outage.error),
            Some(StoreError::Corrupt(_))
        )
    }
}
