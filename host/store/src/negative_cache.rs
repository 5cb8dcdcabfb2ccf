//! Caches since when a component has no rows. Most components of a healthy machine have no events for days, and a query
//! without result, on the thread of a connection, costs more than the rest of a check.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::model::UnixMillis;

/// The components without rows in a table, each with the time since which it has none.
#[derive(Debug, Default)]
pub(super) struct NegativeCache {
    state: Mutex<NegativeState>,
}

#[derive(Debug, Default)]
struct NegativeState {
    components: HashMap<String, ComponentAbsence>,
    closed: bool,
}

#[derive(Debug, Default)]
struct ComponentAbsence {
    /// Increases with each new row.
    version: u64,
    nothing_since: Option<UnixMillis>,
}

/// The table must be read. Pass this to [`NegativeCache::keep`] if it has no rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NegativeCacheMiss {
    version: u64,
}

impl NegativeCache {
    fn lock(&self) -> MutexGuard<'_, NegativeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `Ok`: there is no row later than `since`. Only newer rows are added and only older ones removed, so there is
    /// none of a later time either.
    pub(super) fn since(
        &self,
        component: &str,
        since: UnixMillis,
    ) -> Result<(), NegativeCacheMiss> {
        let state = self.lock();
        let known = state.components.get(component);
        match known.and_then(|known| known.nothing_since) {
            Some(nothing) if nothing <= since => Ok(()),
            _ => Err(NegativeCacheMiss {
                version: known.map_or(0, |known| known.version),
            }),
        }
    }

    /// Remembers that no row is later than `since`, unless one was added since the query.
    pub(super) fn keep(&self, component: &str, since: UnixMillis, miss: NegativeCacheMiss) {
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
        *self.lock() = NegativeState {
            closed: true,
            ..NegativeState::default()
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn miss(cache: &NegativeCache, component: &str, since: u64) -> NegativeCacheMiss {
        cache.since(component, since).unwrap_err()
    }

    #[test]
    fn nothing_is_known_until_a_row_comes() {
        let cache = NegativeCache::default();
        let asked = miss(&cache, "a", 50);
        cache.keep("a", 50, asked);
        assert_eq!(cache.since("a", 50), Ok(()));
        assert_eq!(cache.since("a", 51), Ok(()));
        // Earlier there may be something, and that is not forgotten when a later time is asked for.
        let asked = miss(&cache, "a", 49);
        cache.keep("a", 60, asked);
        assert_eq!(cache.since("a", 50), Ok(()));
        miss(&cache, "b", 50);
        cache.added("b");
        assert_eq!(cache.since("a", 50), Ok(()));
        cache.added("a");
        miss(&cache, "a", 50);
    }

    #[test]
    fn a_row_that_comes_while_the_table_is_read_counts() {
        let cache = NegativeCache::default();
        let asked = miss(&cache, "a", 50);
        cache.added("a");
        cache.keep("a", 50, asked);
        miss(&cache, "a", 50);
    }

    #[test]
    fn a_closed_store_knows_nothing() {
        let cache = NegativeCache::default();
        let asked = miss(&cache, "a", 50);
        cache.keep("a", 50, asked);
        cache.close();
        let asked = miss(&cache, "a", 50);
        cache.keep("a", 50, asked);
        miss(&cache, "a", 50);
    }
}
