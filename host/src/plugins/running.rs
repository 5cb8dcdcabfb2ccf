//! The plugins that run now, and putting others in their place.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use super::{sheet::Sheet, wasm};
use crate::{
    component::{Component, Registry, kernel_log::Watchers, scheduler::Scheduler},
    runtime::Runtime,
    spec::Plugin,
};

/// Who brought a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A spec file, by its name: the operator's, or that of a pack.
    File(String),
    /// A request.
    Api,
}

/// A plugin that runs.
pub struct Entry {
    /// Its spec.
    pub plugin: Plugin,
    /// Where it came from.
    pub source: Source,
    /// What it became.
    pub components: Vec<Arc<Component>>,
}

/// A plugin ready to run.
pub struct Prepared {
    /// Its spec.
    pub plugin: Plugin,
    /// What it will be.
    pub components: Vec<Component>,
}

/// What runs. Changed only by whoever edits the set, one at a time.
pub struct Running {
    /// Where the components are.
    pub registry: Arc<Registry>,
    /// Makes them run.
    pub scheduler: Scheduler,
    runtime: Runtime,
    watchers: OnceLock<Arc<Watchers>>,
    /// By component name of the spec.
    entries: RwLock<BTreeMap<String, Entry>>,
}

impl Running {
    /// Nothing yet.
    pub fn new(registry: Arc<Registry>, scheduler: Scheduler, runtime: Runtime) -> Self {
        Self {
            registry,
            scheduler,
            runtime,
            watchers: OnceLock::new(),
            entries: RwLock::default(),
        }
    }

    /// From here on plugins that watch the kernel log are fed.
    pub fn feed_from(&self, watchers: Arc<Watchers>) {
        let _ = self.watchers.set(watchers);
    }

    /// Ends and removes one component. `false` when no plugin has such a component.
    pub async fn remove(&self, name: &str) -> bool {
        let mut removed = None;
        self.entries_mut().retain(|_, entry| {
            if let Some(at) = entry.components.iter().position(|c| c.name() == name) {
                removed = Some(entry.components.swap_remove(at));
            }
            !entry.components.is_empty()
        });
        let Some(component) = removed else {
            return false;
        };
        self.end(&component);
        self.watch().await;
        true
    }

    /// Makes plugins ready to run.
    ///
    /// # Errors
    /// What is wrong with those that cannot run.
    pub async fn prepare_all(
        &self,
        plugins: Vec<Plugin>,
        sheet: &Sheet,
    ) -> Result<Vec<Prepared>, Vec<String>> {
        let (mut prepared, mut problems) = (Vec::new(), Vec::new());
        for plugin in plugins {
            match self.prepare(plugin, sheet).await {
                Ok(one) => prepared.push(one),
                Err(problem) => problems.push(problem),
            }
        }
        match problems.is_empty() {
            true => Ok(prepared),
            false => Err(problems),
        }
    }

    /// Makes a plugin ready to run.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub async fn prepare(&self, plugin: Plugin, sheet: &Sheet) -> Result<Prepared, String> {
        if plugin.spec.wasm.is_none() {
            let components = vec![Component::of_script(&plugin)];
            return Ok(Prepared { plugin, components });
        }
        let loaded = wasm::load(&self.runtime, &plugin, &sheet.folder)
            .await
            .map_err(|problem| {
                let place = problem.place.unwrap_or(plugin.place);
                let note = problem
                    .note
                    .map_or(String::new(), |note| format!("; {note}"));
                format!("{} ({}{note})", problem.message, sheet.at(place))
            })?;
        let components = loaded.components.into_iter();
        let components = components
            .map(|checker| Component::of_loaded_wasm(&plugin, checker))
            .collect();
        Ok(Prepared { plugin, components })
    }

    /// Puts plugins in place of those of the same name, and ends those that are gone. To be called while editing.
    ///
    /// # Errors
    /// A name belongs to something else; then nothing has changed.
    pub async fn install(
        &self,
        prepared: Vec<Prepared>,
        sheet: &Sheet,
        source: Source,
        gone: &BTreeSet<String>,
    ) -> Result<(), String> {
        {
            let mut entries = self.entries_mut();
            check_owners(&entries, &prepared, sheet, &source)?;
            self.check_names(&entries, &prepared, sheet, gone)?;
            let leaving = prepared.iter().map(|p| &p.plugin.component).chain(gone);
            for name in leaving {
                if let Some(old) = entries.remove(name) {
                    old.components.iter().for_each(|old| self.end(old));
                }
            }
            for Prepared { plugin, components } in prepared {
                let components = components.into_iter();
                let added = components.filter_map(|component| self.registry.add(component).ok());
                let components: Vec<_> = added.collect();
                for component in &components {
                    self.scheduler.schedule(Arc::clone(component));
                }
                let entry = Entry {
                    plugin,
                    source: source.clone(),
                    components,
                };
                entries.insert(entry.plugin.component.clone(), entry);
            }
        }
        self.watch().await;
        Ok(())
    }

    /// Every name of a new component is free, or is freed by this change.
    fn check_names(
        &self,
        entries: &BTreeMap<String, Entry>,
        prepared: &[Prepared],
        sheet: &Sheet,
        gone: &BTreeSet<String>,
    ) -> Result<(), String> {
        let leaving = |name: &String| {
            gone.contains(name) || prepared.iter().any(|new| new.plugin.component == *name)
        };
        let freed: BTreeSet<&str> = entries
            .iter()
            .filter(|(name, _)| leaving(name))
            .flat_map(|(_, entry)| entry.components.iter().map(|c| c.name()))
            .collect();
        let mut new = BTreeSet::new();
        for Prepared { plugin, components } in prepared {
            for name in components.iter().map(Component::name) {
                let taken = self.registry.get(name).is_some() && !freed.contains(name);
                if taken || !new.insert(name) {
                    return Err(format!(
                        "component `{name}` is already registered ({})",
                        sheet.at(plugin.place)
                    ));
                }
            }
        }
        Ok(())
    }

    fn end(&self, component: &Arc<Component>) {
        component.close();
        self.registry.remove(component);
    }

    async fn watch(&self) {
        if let Some(watchers) = self.watchers.get() {
            watchers.sync().await;
        }
    }

    /// What runs, by component name of the spec.
    pub fn entries(&self) -> RwLockReadGuard<'_, BTreeMap<String, Entry>> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same, to be changed.
    pub fn entries_mut(&self) -> RwLockWriteGuard<'_, BTreeMap<String, Entry>> {
        self.entries.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// No plugin of one file takes the place of a plugin of another one.
fn check_owners(
    entries: &BTreeMap<String, Entry>,
    prepared: &[Prepared],
    sheet: &Sheet,
    source: &Source,
) -> Result<(), String> {
    let Source::File(_) = source else {
        return Ok(());
    };
    for Prepared { plugin, .. } in prepared {
        let other = entries.get(&plugin.component).map(|entry| &entry.source);
        if let Some(Source::File(other)) = other.filter(|other| *other != source) {
            return Err(format!(
                "plugin `{}` is in {other} already ({})",
                plugin.component,
                sheet.at(plugin.place)
            ));
        }
    }
    Ok(())
}
