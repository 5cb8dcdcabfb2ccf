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
mod tests;
