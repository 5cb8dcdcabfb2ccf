//! Whether a component ever had an event.

use crate::history::StoredEvent;
use crate::{AccessError, state};

/// Key of the mark in the component's `state`.
const KEY: &str = "seen";

/// Whether [`remember_seen`] ever stored that the component had an event.
///
/// A component that is shown only where it has something to say stays visible by it, so that an operator sees that its
/// events were cleared. A store that does not answer counts as no.
pub fn seen_before() -> bool {
    matches!(state::get(KEY), Ok(Some(_)))
}

/// Stores that the component had an event, if there is any.
///
/// # Errors
/// When the store does not answer.
pub fn remember_seen(events: &[StoredEvent]) -> Result<(), AccessError> {
    if events.is_empty() || seen_before() {
        return Ok(());
    }
    state::set(KEY, b"1")
}
