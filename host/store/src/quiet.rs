//! Since when there is nothing: most components of a healthy machine have no events for days, and to ask the thread of a
//! connection for nothing costs more than the rest of a check.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::model::UnixMillis;

/// Of which components a table was seen to have no rows, and since which time.
#[derive(Debug, Default)]
pub(super) struct Quiet {
    state: Mutex<QuietState>,
}

#[derive(Debug, Default)]
struct QuietState {
    components: HashMap<String, QuietComponent>,
    closed: bool,
}

#[derive(Debug, Default)]
struct QuietComponent {
    /// Goes up when a row came.
    version: u64,
    nothing_since: Option<UnixMillis>,
}

/// The table must be read. Pass this to [`Quiet::keep`] if it has no rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct QuietMiss {
    version: u64,
}

impl Quiet {
    fn lock(&self) -> MutexGuard<'_, QuietState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `Ok`: there is no row later than `since`. Rows only come, and older ones go, so that of a later time there is
    /// none either.
    pub(super) fn since(&self, component: &str, since: UnixMillis) -> Result<(), QuietMiss> {
        let state = self.lock();
        let known = state.components.get(component);
        match known.and_then(|known| known.nothing_since) {
            Some(nothing) if nothing <= since => Ok(()),
            _ => Err(QuietMiss {
                version: known.map_or(0, |known| known.version),
            }),
        }
    }

    /// Keeps that no row is later than `since`, unless one came since that was asked.
    pub(super) fn keep(&self, component: &str, since: UnixMillis, miss: QuietMiss) {
        let mut state = self.lock();
        if state.closed {
            return;
        }
        let known = state.components.entry(component.to_owned()).or_default();
        if known.version == miss.version {
            let earliest = known.nothing_since.map_or(since, |known| known.min(since));
            known.nothing_since = Some(earliest);
        }
    }

    /// Rows of this component came, or may have.
    pub(super) fn added(&self, component: &str) {
        let mut state = self.lock();
        let known = state.components.entry(component.to_owned()).or_default();
        known.version += 1;
        known.nothing_since = None;
    }

    /// Forgets everything: later callers get the error that the store is closed.
    pub(super) fn close(&self) {
        *self.lock() = QuietState {
            closed: true,
            ..QuietState::default()
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn miss(quiet: &Quiet, component: &str, since: u64) -> QuietMiss {
        quiet.since(component, since).unwrap_err()
    }

    #[test]
    fn nothing_is_known_until_a_row_comes() {
        let quiet = Quiet::default();
        let asked = miss(&quiet, "a", 50);
        quiet.keep("a", 50, asked);
        assert_eq!(quiet.since("a", 50), Ok(()));
        assert_eq!(quiet.since("a", 51), Ok(()));
        // Earlier there may be something, and that is not forgotten when a later time is asked for.
        let asked = miss(&quiet, "a", 49);
        quiet.keep("a", 60, asked);
        assert_eq!(quiet.since("a", 50), Ok(()));
        miss(&quiet, "b", 50);
        quiet.added("b");
        assert_eq!(quiet.since("a", 50), Ok(()));
        quiet.added("a");
        miss(&quiet, "a", 50);
    }

    #[test]
    fn a_row_that_comes_while_the_table_is_read_counts() {
        let quiet = Quiet::default();
        let asked = miss(&quiet, "a", 50);
        quiet.added("a");
        quiet.keep("a", 50, asked);
        miss(&quiet, "a", 50);
    }

    #[test]
    fn a_closed_store_knows_nothing() {
        let quiet = Quiet::default();
        let asked = miss(&quiet, "a", 50);
        quiet.keep("a", 50, asked);
        quiet.close();
        let asked = miss(&quiet, "a", 50);
        quiet.keep("a", 50, asked);
        miss(&quiet, "a", 50);
    }
}
