//! The machine code of each loaded plugin: what is called now, and how it gets better while the daemon runs.
//!
//! Plugins with the same component share its code, whatever each of them is called and may reach.

use std::{
    collections::HashMap,
    ops::Range,
    sync::{
        Arc, MutexGuard, PoisonError, RwLock, Weak,
        atomic::{AtomicBool, Ordering},
    },
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
    entry: Entry,
    guest: RwLock<Arc<Guest>>,
    /// Set while the code is what could be had quickly.
    quick: AtomicBool,
}

/// The codes of all plugins, and what they share.
#[derive(Default)]
pub(super) struct Codes {
    plugins: Vec<Weak<Code>>,
    components: HashMap<Entry, Component>,
    /// Held by who loads a component: others with the same one wait, and find it.
    turns: HashMap<Entry, Weak<Turn>>,
}

type Turn = tokio::sync::Mutex<()>;

/// What there is of a component.
struct Component {
    guest: Weak<Guest>,
    quick: bool,
}

impl Codes {
    fn find(&self, entry: &Entry) -> Option<(Arc<Guest>, bool)> {
        let component = self.components.get(entry)?;
        Some((component.guest.upgrade()?, component.quick))
    }

    fn turn(&mut self, entry: &Entry) -> Arc<Turn> {
        self.turns.retain(|_, turn| turn.strong_count() > 0);
        let waiting = self.turns.get(entry).and_then(Weak::upgrade);
        waiting.unwrap_or_else(|| {
            let turn = Arc::default();
            self.turns.insert(entry.clone(), Arc::downgrade(&turn));
            turn
        })
    }

    fn keep(&mut self, entry: &Entry, guest: &Arc<Guest>, quick: bool) {
        self.components
            .retain(|_, component| component.guest.strong_count() > 0);
        let guest = Arc::downgrade(guest);
        self.components
            .insert(entry.clone(), Component { guest, quick });
    }

    fn loaded(&mut self) -> Vec<Arc<Code>> {
        self.plugins.retain(|code| code.strong_count() > 0);
        self.plugins.iter().filter_map(Weak::upgrade).collect()
    }
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
}

impl Runtime {
    /// The code of a component, linked: of another plugin with the same one, from the cache, or compiled.
    pub(super) async fn code(
        &self,
        name: &str,
        wasm: &[u8],
        grants: Grants,
    ) -> Result<Arc<Code>, LoadError> {
        let (engines, cache) = (&self.shared.engines, &self.shared.cache);
        let entry = cache.entry(engines.any(), wasm);
        let turn = self.codes().turn(&entry);
        let _turn = turn.lock().await;
        let found = self.codes().find(&entry);
        let (guest, quick) = match found {
            Some(found) => {
                guest::granted(name, &found.0.imports, &grants)?;
                found
            }
            None => {
                let engine = engines.of(wasm);
                let (component, quick) = cache.component(engine, name, &entry, wasm).await?;
                let guest = Arc::new(guest::link(name, engine, &component, &grants)?);
                self.codes().keep(&entry, &guest, quick);
                (guest, quick)
            }
        };
        let code = Arc::new(Code {
            name: name.to_owned(),
            grants: Arc::new(grants),
            entry,
            guest: RwLock::new(guest),
            quick: AtomicBool::new(quick),
        });
        self.codes().plugins.push(Arc::downgrade(&code));
        self.shared.new_code.notify_one();
        Ok(code)
    }

    /// The code of all plugins that are loaded now.
    pub fn code_in_use(&self) -> Vec<CodeInUse> {
        let codes = self.codes().loaded();
        let mut guests: Vec<_> = codes.iter().map(|code| code.guest()).collect();
        guests.sort_by_key(Arc::as_ptr);
        guests.dedup_by(|a, b| Arc::ptr_eq(a, b));
        guests.into_iter().map(CodeInUse).collect()
    }

    /// For ever: compiles thoroughly what was compiled quickly, one by one and in the background, whenever nothing was
    /// loaded for as long as `quiet`. A call that runs goes on with the code that it began with.
    pub async fn improve_code(&self, quiet: Duration) {
        loop {
            while tokio::time::timeout(quiet, self.shared.new_code.notified())
                .await
                .is_ok()
            {}
            let codes = self.codes().loaded();
            for code in codes {
                self.improve(&code).await;
            }
            self.shared.new_code.notified().await;
        }
    }

    async fn improve(&self, code: &Code) {
        // One that fails would fail again.
        if !code.quick.swap(false, Ordering::Relaxed) {
            return;
        }
        let found = self.codes().find(&code.entry);
        let better = match found {
            Some((better, false)) => better,
            _ => self.better(code).await,
        };
        *code.guest.write().unwrap_or_else(PoisonError::into_inner) = better;
    }

    /// Compiles thoroughly, for all plugins with this component. What there is where that fails.
    async fn better(&self, code: &Code) -> Arc<Guest> {
        let before = code.guest();
        let (engine, cache) = (before.component().engine(), &self.shared.cache);
        let compiled = cache.thorough(engine, &code.name, &code.entry);
        let linked = compiled
            .await
            .and_then(|component| guest::link(&code.name, engine, &component, &code.grants));
        let guest = match linked {
            Ok(guest) => Arc::new(guest),
            Err(error) => {
                tracing::warn!("it stays with its first code: {error}");
                before
            }
        };
        self.codes().keep(&code.entry, &guest, false);
        guest
    }

    fn codes(&self) -> MutexGuard<'_, Codes> {
        let codes = self.shared.codes.lock();
        codes.unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
