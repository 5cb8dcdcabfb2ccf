//! The plugins that run now, and putting others in their place.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
    time::Duration,
};

use tokio::{sync::mpsc::UnboundedSender, time::Instant};

use super::{
    file,
    retained::{RetainedVersion, RetainedVersions, RolledBackVersion, Version, entry_text},
    rollback::{Current, ProbationOutcome, Unprepared, taken_back},
    spec_source::SpecSource,
    wasm,
};
use crate::{
    capability::Grants,
    component::{
        Component, Paused, Probation, Registry, Shadow, WasmChecker, kernel_log::Watchers,
        probation::Verdict, scheduler::Scheduler,
    },
    node::trusted::Opener,
    pack,
    runtime::Runtime,
    spec::Plugin,
};

/// Longest that the checks under way of plugins that are replaced are waited for, all together.
const PAUSE: Duration = Duration::from_secs(30);

/// The source of a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// A spec file, by its name: the operator's, or that of a pack.
    File(String),
    /// A request.
    Api,
}

impl Source {
    /// Where its specs stand.
    pub(crate) fn to_spec_source(&self) -> SpecSource {
        match self {
            Self::File(name) => SpecSource::of_file(Path::new(name)),
            Self::Api => SpecSource::of_request(),
        }
    }
}

/// A plugin that runs.
pub(crate) struct RunningEntry {
    /// Its spec.
    pub(crate) plugin: Plugin,
    /// Where it came from.
    pub(crate) source: Source,
    /// Its components.
    pub(crate) components: Vec<Arc<Component>>,
    /// The running version, if it is a Wasm entry that was loaded.
    pub(crate) current: Option<Current>,
}

/// A plugin ready to run.
pub(crate) struct Prepared {
    /// Its spec.
    pub(crate) plugin: Plugin,
    /// Its components, not registered yet.
    pub(crate) components: Vec<Component>,
    /// The version, if it is a Wasm entry.
    current: Option<Current>,
    /// The file of its component, to be stored; `None` if it is stored already.
    wasm: Option<Vec<u8>>,
}

/// The running entries. Only one editor of the set changes them at a time.
pub(crate) struct Running {
    /// Where the components are.
    pub(crate) registry: Arc<Registry>,
    /// Makes them run.
    pub(crate) scheduler: Scheduler,
    /// Versions that worked.
    pub(crate) retained: Arc<RetainedVersions>,
    outcomes: UnboundedSender<ProbationOutcome>,
    runtime: Runtime,
    watchers: OnceLock<Arc<Watchers>>,
    /// By component name of the spec.
    entries: RwLock<BTreeMap<String, RunningEntry>>,
}

impl Running {
    /// Nothing yet.
    pub(crate) fn new(
        registry: Arc<Registry>,
        scheduler: Scheduler,
        runtime: Runtime,
        retained: Arc<RetainedVersions>,
        outcomes: UnboundedSender<ProbationOutcome>,
    ) -> Self {
        Self {
            registry,
            scheduler,
            retained,
            outcomes,
            runtime,
            watchers: OnceLock::new(),
            entries: RwLock::default(),
        }
    }

    /// From here on plugins that watch the kernel log are fed.
    pub(crate) fn feed_from(&self, watchers: Arc<Watchers>) {
        let _ = self.watchers.set(watchers);
    }

    /// Ends and removes one component. `false` when no plugin has such a component.
    pub(crate) async fn remove(&self, name: &str) -> bool {
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
    /// The problems with those that cannot run.
    pub(crate) async fn prepare_all(
        &self,
        plugins: Vec<Plugin>,
        spec_source: &SpecSource,
    ) -> Result<Vec<Prepared>, Vec<Unprepared>> {
        let (mut prepared, mut problems) = (Vec::new(), Vec::new());
        for plugin in plugins {
            match self.prepare(plugin, spec_source).await {
                Ok(one) => prepared.push(one),
                Err(problem) => problems.push(problem),
            }
        }
        match problems.is_empty() {
            true => Ok(prepared),
            false => Err(problems),
        }
    }

    /// Makes a plugin ready to run. A version that was taken back is not tried again: the version before it is.
    ///
    /// # Errors
    /// The problem with it, and where.
    pub(crate) async fn prepare(
        &self,
        plugin: Plugin,
        spec_source: &SpecSource,
    ) -> Result<Prepared, Unprepared> {
        let refused = |pack::PackRefusal(why)| wasm::Problem {
            message: why,
            place: None,
            note: None,
        };
        if plugin.spec.wasm.is_none() {
            let checked = spec_source.check_script(&plugin).map_err(refused);
            checked.map_err(|problem| Unprepared::of(&plugin, spec_source, problem, None))?;
            let components = vec![Component::of_script(&plugin)];
            return Ok(Prepared {
                plugin,
                components,
                current: None,
                wasm: None,
            });
        }
        let read = wasm::read_component(&plugin, &spec_source.folder, Opener::of_daemon()).await;
        let wasm = read.map_err(|problem| Unprepared::of(&plugin, spec_source, problem, None))?;
        let (wasm, version) = self.version(wasm, &plugin).await;
        if let Err(refusal) = spec_source.check(&plugin, &wasm) {
            let problem = refused(refusal);
            return Err(Unprepared::of(&plugin, spec_source, problem, Some(version)));
        }
        let (name, source) = (&plugin.component, &spec_source.name);
        let before = self.retained.before(name, source, &version);
        if let Some(refused) = self.retained.refused(name, source, &version)
            && let Some(before) = &before
        {
            match self
                .prepare_before(before, &plugin, spec_source, refused)
                .await
            {
                Ok(prepared) => return Ok(prepared),
                Err(problem) => {
                    tracing::warn!(plugin = name, "the version before cannot run: {problem}");
                }
            }
        }
        let loaded = wasm::of_bytes(&self.runtime, &plugin, &spec_source.folder, &wasm).await;
        let loaded = loaded.map_err(|problem| {
            Unprepared::of(&plugin, spec_source, problem, Some(version.clone()))
        })?;
        let names = loaded
            .components
            .iter()
            .map(|one| one.descriptor().name.clone());
        let worked = self.retained.has_worked(name, source, &version);
        let probation = (!worked).then(|| {
            let report = self.outcome_reporter(name.clone(), version.clone());
            Arc::new(Probation::new(names, before.is_some(), report))
        });
        let mut shadows = self.shadows(&plugin, spec_source).await;
        let components = loaded.components.into_iter().map(|checker| {
            let name = checker.descriptor().name.clone();
            let mut component = Component::of_loaded_wasm(&plugin, checker);
            if let Some(probation) = &probation {
                component = component.on_probation(Arc::clone(probation));
            }
            match shadows.as_mut() {
                Some(shadows) => component.with_shadow(Arc::new(shadows.of(&name))),
                None => component,
            }
        });
        Ok(Prepared {
            components: components.collect(),
            current: Some(Current {
                version,
                probation,
                rolled_back: None,
            }),
            wasm: Some(wasm),
            plugin,
        })
    }

    /// Returns what reports how the probation of a version ended.
    fn outcome_reporter(
        &self,
        plugin: String,
        version: Version,
    ) -> impl Fn(Verdict) + Send + Sync + use<> {
        let outcomes = self.outcomes.clone();
        move |verdict| {
            // When nobody listens the daemon is stopping.
            let _ = outcomes.send(ProbationOutcome {
                plugin: plugin.clone(),
                version: version.clone(),
                verdict,
            });
        }
    }

    /// The sum of a large file takes a moment.
    async fn version(&self, wasm: Vec<u8>, plugin: &Plugin) -> (Vec<u8>, Version) {
        let spec = plugin.spec.clone();
        let summing = tokio::task::spawn_blocking(move || {
            let version = Version::of(&wasm, &spec);
            (wasm, version)
        });
        // Summing does not panic, and is not aborted.
        summing
            .await
            .unwrap_or_else(|_| (Vec::new(), Version::of(b"", &plugin.spec)))
    }

    /// What runs beside the components of an entry, if it asks for that.
    async fn shadows(&self, plugin: &Plugin, spec_source: &SpecSource) -> Option<Shadows> {
        let (digest, loaded) = wasm::load_shadow(
            &self.runtime,
            plugin,
            &spec_source.folder,
            Opener::of_daemon(),
        )
        .await?;
        let checkers = loaded.map(|loaded| loaded.components).map_err(|problem| {
            let problem = problem.message;
            tracing::error!(
                plugin = plugin.component,
                "nothing runs beside it: {problem}"
            );
            problem
        });
        Some(Shadows { digest, checkers })
    }

    /// Makes a version that worked ready to run in place of another one. It gets no grant that the present entry does
    /// not give.
    ///
    /// # Errors
    /// Why it cannot run.
    pub(crate) async fn prepare_before(
        &self,
        before: &RetainedVersion,
        present: &Plugin,
        spec_source: &SpecSource,
        refused: RolledBackVersion,
    ) -> Result<Prepared, String> {
        let read = file::parse(before.spec.as_bytes(), "kept version");
        let mut plugins = read.plugins.into_iter();
        let mut plugin = match (read.problems.as_slice(), plugins.next()) {
            ([], Some(plugin)) if plugin.component == present.component => plugin,
            ([problem, ..], _) => return Err(problem.to_string()),
            _ => return Err("its entry is another one".to_owned()),
        };
        plugin.place = present.place;
        if let (Some(now), Some(then)) = (&present.spec.wasm, &mut plugin.spec.wasm) {
            let parse = |grants| Grants::parse(grants).map_err(|error| error.to_string());
            if parse(&now.grants)?
                .exceeded_by(&parse(&then.grants)?)
                .is_some()
            {
                then.grants.clone_from(&now.grants);
            }
        }
        let (retained, version) = (Arc::clone(&self.retained), before.version.clone());
        let reading = tokio::task::spawn_blocking(move || retained.wasm(&version));
        let wasm = reading.await.map_err(|error| error.to_string())??;
        let loaded = wasm::of_bytes(&self.runtime, &plugin, &spec_source.folder, &wasm)
            .await
            .map_err(|problem| problem.message)?;
        let problem = taken_back(&refused, &before.version);
        let components = loaded.components.into_iter().map(|checker| {
            let component = Component::of_loaded_wasm(&plugin, checker);
            component.runs_without(problem.clone());
            component
        });
        Ok(Prepared {
            components: components.collect(),
            current: Some(Current {
                version: before.version.clone(),
                probation: None,
                rolled_back: Some(refused),
            }),
            wasm: None,
            plugin,
        })
    }

    /// Stores the versions that are about to run, so that they can run again later. A version that cannot be stored runs all
    /// the same.
    async fn keep(&self, prepared: &mut [Prepared], spec_source: &SpecSource) {
        for one in prepared {
            let (Some(wasm), Some(current)) = (one.wasm.take(), &one.current) else {
                continue;
            };
            let path = one.plugin.spec.wasm.as_ref();
            let path = path.map(|entry| wasm::path(entry, &spec_source.folder));
            let new = RetainedVersion {
                version: current.version.clone(),
                spec: entry_text(
                    &one.plugin.spec,
                    &path.unwrap_or_default().to_string_lossy(),
                ),
            };
            let (retained, component) = (Arc::clone(&self.retained), one.plugin.component.clone());
            let (source, has_worked) = (spec_source.name.clone(), current.probation.is_none());
            let keeping = tokio::task::spawn_blocking(move || {
                let version = new.version.clone();
                retained.begin(&component, &source, new, &wasm)?;
                match has_worked {
                    true => retained.worked(&component, &version),
                    false => Ok(()),
                }
            });
            let problem = match keeping.await {
                Ok(Ok(())) => continue,
                Ok(Err(error)) => error.to_string(),
                Err(error) => error.to_string(),
            };
            let plugin = &one.plugin.component;
            tracing::warn!(
                plugin,
                "this version is not kept, nothing can go back to it: {problem}"
            );
        }
    }

    /// Puts plugins in place of those of the same name, and ends those that are gone. To be called while editing.
    ///
    /// # Errors
    /// A name belongs to something else; then nothing has changed.
    pub(crate) async fn install(
        &self,
        mut prepared: Vec<Prepared>,
        spec_source: &SpecSource,
        source: Source,
        gone: &BTreeSet<String>,
    ) -> Result<(), String> {
        let check = |entries: &BTreeMap<String, RunningEntry>, prepared: &[Prepared]| {
            check_owners(entries, prepared, spec_source, &source)?;
            self.check_names(entries, prepared, spec_source, gone)
        };
        check(&self.entries(), &prepared)?;
        self.keep(&mut prepared, spec_source).await;
        let paused = self.pause(&prepared).await;
        {
            let mut entries = self.entries_mut();
            check(&entries, &prepared)?;
            let leaving = prepared.iter().map(|p| &p.plugin.component).chain(gone);
            for name in leaving {
                if let Some(old) = entries.remove(name) {
                    old.components.iter().for_each(|old| self.end(old));
                }
            }
            for new in prepared {
                let Prepared {
                    plugin,
                    components,
                    current,
                    ..
                } = new;
                for (old, pause) in &paused {
                    let same = components.iter().find(|new| new.name() == old.name());
                    if let Some(new) = same {
                        new.take_over(old, pause);
                    }
                }
                let components = components.into_iter();
                let added = components.filter_map(|component| self.registry.add(component).ok());
                let components: Vec<_> = added.collect();
                for component in &components {
                    self.scheduler.schedule(Arc::clone(component));
                    self.scheduler.run_shadow(Arc::clone(component));
                }
                let entry = RunningEntry {
                    plugin,
                    source: source.clone(),
                    components,
                    current,
                };
                entries.insert(entry.plugin.component.clone(), entry);
            }
        }
        drop(paused);
        self.watch().await;
        Ok(())
    }

    /// Stops the Wasm components that are about to be replaced between two checks. One whose check does not end in time
    /// is replaced all the same.
    async fn pause(&self, prepared: &[Prepared]) -> Vec<(Arc<Component>, Paused)> {
        let replaced: Vec<Arc<Component>> = {
            let entries = self.entries();
            let old = prepared
                .iter()
                .filter_map(|new| entries.get(&new.plugin.component));
            let old = old.filter(|entry| entry.current.is_some());
            old.flat_map(|entry| entry.components.clone()).collect()
        };
        let until = Instant::now() + PAUSE;
        let mut paused = Vec::new();
        for old in replaced {
            if let Ok(pause) = tokio::time::timeout_at(until, old.pause()).await {
                paused.push((old, pause));
            }
        }
        paused
    }

    /// Every name of a new component is free, or is freed by this change.
    fn check_names(
        &self,
        entries: &BTreeMap<String, RunningEntry>,
        prepared: &[Prepared],
        spec_source: &SpecSource,
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
        for Prepared {
            plugin, components, ..
        } in prepared
        {
            for name in components.iter().map(Component::name) {
                let taken = self.registry.get(name).is_some() && !freed.contains(name);
                if taken || !new.insert(name) {
                    return Err(format!(
                        "component `{name}` is already registered ({})",
                        spec_source.at(plugin.place)
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
    pub(crate) fn entries(&self) -> RwLockReadGuard<'_, BTreeMap<String, RunningEntry>> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same, to be changed.
    pub(crate) fn entries_mut(&self) -> RwLockWriteGuard<'_, BTreeMap<String, RunningEntry>> {
        self.entries.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The second version of an entry.
struct Shadows {
    digest: String,
    checkers: Result<Vec<WasmChecker>, String>,
}

impl Shadows {
    /// What runs beside the component of this name.
    fn of(&mut self, name: &str) -> Shadow {
        let checker = match &mut self.checkers {
            Ok(checkers) => {
                let at = checkers
                    .iter()
                    .position(|one| one.descriptor().name == name);
                at.map(|at| checkers.swap_remove(at))
                    .ok_or_else(|| format!("shadow: it has no component `{name}`"))
            }
            Err(problem) => Err(problem.clone()),
        };
        Shadow::new(self.digest.clone(), checker)
    }
}

/// No plugin of one file takes the place of a plugin of another one.
fn check_owners(
    entries: &BTreeMap<String, RunningEntry>,
    prepared: &[Prepared],
    spec_source: &SpecSource,
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
                spec_source.at(plugin.place)
            ));
        }
    }
    Ok(())
}
