//! `state`: small values that survive from call to call. Writes are stored only if the call succeeds.

use std::sync::Arc;

use super::{
    Call,
    wire::{
        state::Host,
        types::{AccessError, SizeInfo},
    },
};

/// Longest key, bytes.
const MAX_KEY: usize = 256;
/// Largest value, bytes.
const MAX_VALUE: usize = 64 * 1024;
/// Most keys written by one call; the store bounds the total.
const MAX_KEYS: usize = 256;
/// Most bytes of keys and values written by one call: the store would refuse more, together with the results of the call.
const MAX_WRITTEN: usize = 1024 * 1024;

impl Host for Call {
    async fn get(&mut self, key: String) -> Result<Option<Vec<u8>>, AccessError> {
        self.enter("state.get")?;
        if let Some(pending) = self.state_writes.get(&key) {
            return Ok(pending.clone());
        }
        let value = match (self.values.clone(), self.store.clone()) {
            (Some(values), _) => values.get(&key).cloned(),
            (None, Some(store)) => {
                let identity = Arc::clone(&self.identity);
                self.read(store.state_get(&identity.component, &key))
                    .await?
            }
            (None, None) => return Ok(None),
        };
        self.charge("state.get", value.as_ref().map_or(0, Vec::len))?;
        Ok(value)
    }

    async fn set(&mut self, key: String, value: Vec<u8>) -> Result<(), AccessError> {
        self.enter("state.set")?;
        within("state key", key.len(), MAX_KEY)?;
        within("state value", value.len(), MAX_VALUE)?;
        if !self.state_writes.contains_key(&key) {
            within("state keys written", self.state_writes.len() + 1, MAX_KEYS)?;
        }
        let others = self.state_writes.iter().filter(|(other, _)| **other != key);
        let written: usize = others
            .filter_map(|(key, value)| Some(key.len() + value.as_ref()?.len()))
            .sum();
        within(
            "state values written",
            written + key.len() + value.len(),
            MAX_WRITTEN,
        )?;
        self.charge("state.set", value.len())?;
        self.state_writes.insert(key, Some(value));
        Ok(())
    }

    async fn delete(&mut self, key: String) -> Result<(), AccessError> {
        self.enter("state.delete")?;
        within("state key", key.len(), MAX_KEY)?;
        within("state keys written", self.state_writes.len(), MAX_KEYS)?;
        self.state_writes.insert(key, None);
        Ok(())
    }

    async fn keys(&mut self, prefix: String) -> Result<Vec<String>, AccessError> {
        self.enter("state.keys")?;
        let identity = Arc::clone(&self.identity);
        let mut keys = match (self.values.clone(), self.store.clone()) {
            (Some(values), _) => values.keys().cloned().collect(),
            (None, Some(store)) => self.read(store.state_keys(&identity.component)).await?,
            (None, None) => Vec::new(),
        };
        keys.retain(|key| key.starts_with(&prefix) && !self.state_writes.contains_key(key));
        let written = self
            .state_writes
            .iter()
            .filter(|(_, value)| value.is_some());
        keys.extend(
            written
                .map(|(key, _)| key.clone())
                .filter(|key| key.starts_with(&prefix)),
        );
        keys.sort_unstable();
        self.charge("state.keys", keys.iter().map(String::len).sum())?;
        Ok(keys)
    }
}

fn within(what: &str, size: usize, limit: usize) -> Result<(), AccessError> {
    if size <= limit {
        return Ok(());
    }
    Err(AccessError::TooLarge(SizeInfo {
        what: what.to_owned(),
        size: size as u64,
        limit: limit as u64,
    }))
}
