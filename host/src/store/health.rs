//! What is wrong with the store right now, as its own calls found it.

use std::sync::{Mutex, PoisonError};

use super::StoreError;

/// The last fault of the machine that the store met.
#[derive(Debug, Default)]
pub(super) struct HealthCell(Mutex<Option<StoreError>>);

impl HealthCell {
    /// Notes how the last writes went. Corruption stays until the store is opened anew, anything else until writes work.
    pub(super) fn set(&self, fault: Option<StoreError>) {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !matches!(*current, Some(StoreError::Corrupt(_))) {
            if let Some(fault) = fault
                .as_ref()
                .filter(|fault| current.as_ref() != Some(fault))
            {
                tracing::error!(error = %fault, "the store cannot write");
            }
            *current = fault;
        }
    }

    /// Notes what a read met. Only corruption matters: a read that works says nothing about writing.
    pub(super) fn note_read(&self, error: &StoreError) {
        if matches!(error, StoreError::Corrupt(_)) {
            self.set(Some(error.clone()));
        }
    }

    pub(super) fn get(&self) -> Option<StoreError> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(super) fn is_corrupt(&self) -> bool {
        matches!(self.get(), Some(StoreError::Corrupt(_)))
    }
}
