//! The machine code of each loaded plugin: what is called now, and how it gets better while the daemon runs.

use std::{
    ops::Range,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak},
    time::Duration,
};

use super::{
    Runtime,
    cache::Entry,
    error::LoadError,
    guest::{self, Guest},
};
use crate::capability::Grants;

/// A plugin's code.
pub(super) struct Code {
    name: String,
    grants: Arc<Grants>,
    guest: RwLock<Arc<Guest>>,
    /// Set while the code is what could be had quickly.
    quick: Mutex<Option<Entry>>,
}

/// Code that stays loaded for as long as this lives.
pub struct CodeInUse(Arc<Guest>);

impl PartialEq for CodeInUse {
    /// The very same code, at the same addresses.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl CodeInUse {
    /// The addresses at which its file is mapped: whole pages.
    pub fn addresses(&self) -> Range<usize> {
        let Range { start, end } = self.0.component().image_range();
        start.addr()..end.addr().next_multiple_of(rustix::param::page_size())
    }
}

impl Code {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn grants(&self) -> Arc<Grants> {
        Arc::clone(&self.grants)
    }

    /// What calls are to be made on from now on.
    pub(super) fn guest(&self) -> Arc<Guest> {
        Arc::clone(&self.guest.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn quick(&self) -> MutexGuard<'_, Option<Entry>> {
        self.quick.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Runtime {
    /// Compiles a component (or finds it compiled) and links it.
    pub(super) async fn code(
        &self,
        name: &str,
        wasm: &[u8],
        grants: Grants,
    ) -> Result<Arc<Code>, LoadError> {
        let engine = &self.shared.engine;
        let (component, quick) = self.shared.cache.component(engine, name, wasm).await?;
        let guest = guest::link(name, engine, &component, &grants)?;
        let code = Arc::new(Code {
            name: name.to_owned(),
            grants: Arc::new(grants),
            guest: RwLock::new(Arc::new(guest)),
            quick: Mutex::new(quick),
        });
        self.loaded().push(Arc::downgrade(&code));
        self.shared.new_code.notify_one();
        Ok(code)
    }

    /// The code of all plugins that are loaded now.
    pub fn code_in_use(&self) -> Vec<CodeInUse> {
        let codes = self.codes();
        codes.iter().map(|code| CodeInUse(code.guest())).collect()
    }

    /// For ever: compiles thoroughly what was compiled quickly, one by one and in the background, whenever nothing was
    /// loaded for as long as `quiet`. A call that runs goes on with the code that it began with.
    pub async fn improve_code(&self, quiet: Duration) {
        loop {
            while tokio::time::timeout(quiet, self.shared.new_code.notified())
                .await
                .is_ok()
            {}
            for code in self.codes() {
                self.improve(&code).await;
            }
            self.shared.new_code.notified().await;
        }
    }

    async fn improve(&self, code: &Code) {
        let Some(entry) = code.quick().clone() else {
            return;
        };
        let shared = &self.shared;
        let compiled = shared.cache.thorough(&shared.engine, &code.name, &entry);
        let linked = compiled.await.and_then(|component| {
            guest::link(&code.name, &shared.engine, &component, &code.grants)
        });
        // One that fails would fail again.
        code.quick().take();
        match linked {
            Ok(guest) => {
                *code.guest.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(guest);
            }
            Err(error) => tracing::warn!("it stays with its first code: {error}"),
        }
    }

    fn codes(&self) -> Vec<Arc<Code>> {
        let mut loaded = self.loaded();
        loaded.retain(|code| code.strong_count() > 0);
        loaded.iter().filter_map(Weak::upgrade).collect()
    }

    fn loaded(&self) -> MutexGuard<'_, Vec<Weak<Code>>> {
        self.shared
            .loaded
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
