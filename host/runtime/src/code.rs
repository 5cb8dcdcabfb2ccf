//! The machine code of loaded plugins. Plugins with the same component share its code, whatever each of them is called
//! and may reach.

use std::{
    collections::HashMap,
    sync::{Arc, MutexGuard, PoisonError, Weak},
};

use super::{
    Runtime,
    archive::Key,
    cache,
    error::LoadError,
    guest::{self, Guest},
    plugin::Wasm,
};
use crate::capability::Grants;

/// A plugin's code.
pub(super) struct Code {
    name: String,
    grants: Arc<Grants>,
    guest: Arc<Guest>,
}

/// The codes of all plugins.
#[derive(Default)]
pub(super) struct Codes {
    components: HashMap<Key, Weak<Guest>>,
    /// Held while a component is loaded: others with the same component wait, and find it.
    turns: HashMap<Key, Weak<CompileTurn>>,
}

type CompileTurn = tokio::sync::Mutex<()>;

impl Codes {
    fn find(&self, key: Key) -> Option<Arc<Guest>> {
        self.components.get(&key)?.upgrade()
    }

    fn turn(&mut self, key: Key) -> Arc<CompileTurn> {
        self.turns.retain(|_, turn| turn.strong_count() > 0);
        let waiting = self.turns.get(&key).and_then(Weak::upgrade);
        waiting.unwrap_or_else(|| {
            let turn = Arc::default();
            self.turns.insert(key, Arc::downgrade(&turn));
            turn
        })
    }

    fn insert(&mut self, key: Key, guest: &Arc<Guest>) {
        self.components.retain(|_, guest| guest.strong_count() > 0);
        self.components.insert(key, Arc::downgrade(guest));
    }
}

impl Code {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn grants(&self) -> Arc<Grants> {
        Arc::clone(&self.grants)
    }

    pub(super) fn guest(&self) -> &Arc<Guest> {
        &self.guest
    }
}

impl Runtime {
    /// Returns the code of a component, linked: of another plugin with the same one, from the cache, or compiled.
    pub(super) async fn code(
        &self,
        name: &str,
        wasm: Wasm<'_>,
        key: Key,
        grants: Grants,
    ) -> Result<Code, LoadError> {
        let (engine, cache) = (&self.shared.engine, &self.shared.cache);
        let turn = self.codes().turn(key);
        let _turn = turn.lock().await;
        let found = self.codes().find(key);
        let guest = match found {
            Some(guest) => {
                guest::granted(name, &guest.imports, &grants)?;
                guest
            }
            None => {
                let component = cache.component(engine, name, key, wasm).await?;
                let guest = Arc::new(guest::link(name, engine, &component, &grants)?);
                self.codes().insert(key, &guest);
                guest
            }
        };
        Ok(Code {
            name: name.to_owned(),
            grants: Arc::new(grants),
            guest,
        })
    }

    /// Returns the key of a component.
    pub(super) fn key(&self, wasm: Wasm<'_>) -> Key {
        cache::key(&self.shared.engine, wasm)
    }

    fn codes(&self) -> MutexGuard<'_, Codes> {
        let codes = self.shared.codes.lock();
        codes.unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
