//! Values of checkers that were read before. Every check reads its own and few write them, and to ask the thread of a
//! connection costs more than to read.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Most bytes of cached keys and values; beyond, all are dropped.
const MAX_BYTES: usize = 2 * 1024 * 1024;
/// The cost of an entry besides its key and value.
const ENTRY_BYTES: usize = 128;

/// The known facts about the table `plugin_state`.
#[derive(Debug, Default)]
pub(super) struct Values {
    state: Mutex<ValuesState>,
}

#[derive(Debug, Default)]
struct ValuesState {
    components: HashMap<String, ComponentValues>,
    bytes: usize,
    closed: bool,
}

#[derive(Debug, Default)]
struct ComponentValues {
    /// Goes up when a value was written.
    version: u64,
    /// `None`: there is none of this key.
    values: HashMap<String, Option<Vec<u8>>>,
}

/// The value must be read from the table. Pass this to [`Values::keep`] with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ValueMiss {
    version: u64,
}

impl Values {
    fn lock(&self) -> MutexGuard<'_, ValuesState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value of a key, if it is known.
    pub(super) fn get(&self, component: &str, key: &str) -> Result<Option<Vec<u8>>, ValueMiss> {
        let state = self.lock();
        let Some(known) = state.components.get(component) else {
            return Err(ValueMiss { version: 0 });
        };
        let miss = ValueMiss {
            version: known.version,
        };
        known.values.get(key).cloned().ok_or(miss)
    }

    /// Keeps what was read, unless something was written since it was asked for: then it may be what was there before.
    pub(super) fn keep(&self, component: &str, key: &str, value: Option<Vec<u8>>, miss: ValueMiss) {
        let mut state = self.lock();
        let bytes = ENTRY_BYTES + key.len() + value.as_ref().map_or(0, Vec::len);
        if state.closed || bytes > MAX_BYTES {
            return;
        }
        if state.bytes + bytes > MAX_BYTES {
            for known in state.components.values_mut() {
                known.values.clear();
            }
            state.bytes = 0;
        }
        let known = state.components.entry(component.to_owned()).or_default();
        if known.version == miss.version && known.values.insert(key.to_owned(), value).is_none() {
            state.bytes += bytes;
        }
    }

    /// Values of this component were written, or may have been.
    pub(super) fn changed(&self, component: &str) {
        let mut state = self.lock();
        let known = state.components.entry(component.to_owned()).or_default();
        known.version += 1;
        let gone = known.values.drain();
        let gone: usize = gone
            .map(|(key, value)| ENTRY_BYTES + key.len() + value.map_or(0, |value| value.len()))
            .sum();
        state.bytes = state.bytes.saturating_sub(gone);
    }

    /// Forgets everything: later callers get the error that the store is closed.
    pub(super) fn close(&self) {
        *self.lock() = ValuesState {
            closed: true,
            ..ValuesState::default()
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn miss(values: &Values, component: &str, key: &str) -> ValueMiss {
        values.get(component, key).unwrap_err()
    }

    #[test]
    fn what_was_read_is_known_until_something_is_written() {
        let values = Values::default();
        for value in [Some(b"one".to_vec()), None] {
            let asked = miss(&values, "a", "k");
            values.keep("a", "k", value.clone(), asked);
            assert_eq!(values.get("a", "k"), Ok(value));
            values.changed("b");
            assert!(values.get("a", "k").is_ok());
            values.changed("a");
        }
        miss(&values, "a", "k");
        assert_eq!(values.lock().bytes, 0);
    }

    #[test]
    fn values_that_may_be_outdated_are_not_cached() {
        let values = Values::default();
        let asked = miss(&values, "a", "k");
        values.changed("a");
        values.keep("a", "k", Some(b"old".to_vec()), asked);
        miss(&values, "a", "k");
    }

    #[test]
    fn it_is_bounded() {
        let values = Values::default();
        for n in 0..200 {
            let key = n.to_string();
            let asked = miss(&values, "a", &key);
            values.keep("a", &key, Some(vec![0; 64 * 1024]), asked);
            assert!(values.lock().bytes <= MAX_BYTES);
            assert!(values.get("a", &key).is_ok());
        }
        let asked = miss(&values, "b", "k");
        values.keep("b", "k", Some(vec![0; MAX_BYTES]), asked);
        miss(&values, "b", "k");
    }

    #[test]
    fn a_closed_store_knows_nothing() {
        let values = Values::default();
        let asked = miss(&values, "a", "k");
        values.keep("a", "k", None, asked);
        values.close();
        let asked = miss(&values, "a", "k");
        values.keep("a", "k", None, asked);
        miss(&values, "a", "k");
    }
}
