//! The set of plugins that runs.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::{Arc, PoisonError},
};

use tokio::sync::{
    Mutex,
    mpsc::{UnboundedReceiver, unbounded_channel},
};

use super::{
    file::{self, Stamps},
    retained::{self, RetainedVersions},
    rollback::{CurrentVersion, ProbationOutcome},
    running::{Running, RunningEntry, Source},
    spec_source::{REQUEST, SpecSource},
    trouble, wasm,
};
use crate::{
    component::{Component, Registry, kernel_log::Watchers, scheduler::Scheduler},
    node::local_file::FileStamp,
    runtime::Runtime,
    spec::{Plugin, PluginFile, Problem},
    wire::{PluginSpec, ShadowView},
};

/// Why specs in a request were not registered. Nothing was changed then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegisterError {
    /// They are wrong; every problem, with its place.
    #[error("{}", .0.join("; "))]
    Invalid(Vec<String>),
    /// A name is taken.
    #[error("{0}")]
    Taken(String),
}

/// The plugins of a spec file by name, in a form that shows whether one has changed.
pub(super) type PluginFingerprints = BTreeMap<String, (PluginSpec, Vec<Option<FileStamp>>)>;

/// The plugins of the operator.
pub struct Plugins {
    pub(super) running: Running,
    /// What was last taken from each spec file, by its name. Held while anything is changed.
    pub(super) editing: Mutex<BTreeMap<String, PluginFingerprints>>,
    outcomes: std::sync::Mutex<Option<UnboundedReceiver<ProbationOutcome>>>,
}

impl Plugins {
    /// None yet. Versions that work are stored in a folder of the data folder; see [`Self::look_after`].
    pub fn new(
        registry: Arc<Registry>,
        scheduler: Scheduler,
        runtime: Runtime,
        data_dir: &Path,
    ) -> Self {
        let retained = Arc::new(RetainedVersions::open(data_dir.join(retained::FOLDER)));
        let (sender, outcomes) = unbounded_channel();
        Self {
            running: Running::new(registry, scheduler, runtime, retained, sender),
            editing: Mutex::default(),
            outcomes: std::sync::Mutex::new(Some(outcomes)),
        }
    }

    /// For ever: keeps versions that work, and takes back those that do not.
    pub async fn look_after(self: Arc<Self>) {
        let outcomes = self
            .outcomes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(mut outcomes) = outcomes else { return };
        while let Some(outcome) = outcomes.recv().await {
            self.judge(outcome).await;
        }
    }

    /// How the version beside a component compares with it; `None` where there is no such component, or none beside it.
    pub fn shadow(&self, component: &str) -> Option<ShadowView> {
        let found = self.running.registry.get(component)?;
        Some(found.shadow()?.view(component))
    }

    /// From here on plugins that watch the kernel log are fed.
    pub fn feed_from(&self, watchers: Arc<Watchers>) {
        self.running.feed_from(watchers);
    }

    /// The specs of those that run, by component name.
    pub fn specs(&self) -> Vec<PluginSpec> {
        let entries = self.running.entries();
        entries
            .values()
            .map(|entry| {
                let mut spec = entry.plugin.spec.clone();
                if let Some(wasm) = &mut spec.wasm {
                    wasm.running_version = entry.current.as_ref().map(CurrentVersion::shown);
                    let reasons = entry.components.iter().filter_map(|component| {
                        Some((component.name().to_owned(), component.not_applicable()?))
                    });
                    wasm.not_applicable = reasons.collect();
                }
                spec
            })
            .collect()
    }

    /// Runs what is good in the file, and shows what is not. Wasm components are loaded in the background.
    pub async fn start(self: &Arc<Self>, read: PluginFile, path: &Path, stamps: &Stamps) {
        let spec_source = Arc::new(SpecSource::of_file(path));
        let mut seen_specs = self.editing.lock().await;
        let seen = seen_specs.entry(spec_source.name.clone()).or_default();
        let duplicates = read.duplicates();
        let mut problems: Vec<String> = read.problems.iter().map(Problem::to_string).collect();
        problems.extend(duplicates.iter().map(Problem::to_string));
        read.warnings
            .iter()
            .for_each(|warning| tracing::warn!("plugin specs: {warning}"));
        if problems.is_empty() {
            let present = read.plugins.iter().map(|plugin| plugin.component.clone());
            let (retained, source) = (Arc::clone(&self.running.retained), spec_source.name.clone());
            let present: BTreeSet<String> = present.collect();
            tokio::task::spawn_blocking(move || retained.forget_others(&source, &present));
        }
        let mut names = BTreeSet::new();
        for plugin in read.plugins {
            // Of two plugins with one name the first runs; init plugins have had their turn.
            if !names.insert(plugin.component.clone()) || plugin.is_init() {
                continue;
            }
            let (name, this) = (
                plugin.component.clone(),
                fingerprint(&plugin, &spec_source, stamps),
            );
            match self.begin(plugin, &spec_source) {
                // One that does not run is tried again with the next edit.
                Ok(()) => drop(seen.insert(name, this)),
                Err(problem) => problems.push(problem),
            }
        }
        for problem in &problems {
            tracing::error!("plugin specs: {problem}");
        }
        trouble::show(&self.running.registry, "not all plugins run", &problems);
    }

    /// Registers a plugin's component. A Wasm plugin follows when it is loaded.
    fn begin(
        self: &Arc<Self>,
        plugin: Plugin,
        spec_source: &Arc<SpecSource>,
    ) -> Result<(), String> {
        let is_wasm = plugin.spec.wasm.is_some();
        let component = match is_wasm {
            true => Component::of_wasm(&plugin),
            false => Component::of_script(&plugin),
        };
        let component = self
            .running
            .registry
            .add(component)
            .map_err(|taken| format!("{taken} ({})", spec_source.at(plugin.place)))?;
        self.running.entries_mut().insert(
            plugin.component.clone(),
            RunningEntry {
                plugin: plugin.clone(),
                source: Source::File(spec_source.name.clone()),
                components: vec![Arc::clone(&component)],
                current: None,
            },
        );
        if !is_wasm {
            self.running.scheduler.schedule(component);
            return Ok(());
        }
        let (set, spec_source) = (Arc::clone(self), Arc::clone(spec_source));
        self.running
            .scheduler
            .spawn(async move { set.load_behind(plugin, component, &spec_source).await });
        Ok(())
    }

    /// Loads a Wasm plugin and puts its components where a placeholder stands.
    async fn load_behind(
        &self,
        plugin: Plugin,
        placeholder: Arc<Component>,
        spec_source: &SpecSource,
    ) {
        let (prepared, refused) = match self.running.prepare(plugin.clone(), spec_source).await {
            Ok(prepared) => (Ok(prepared), None),
            Err(error) => self.before(&plugin, spec_source, error).await,
        };
        match prepared {
            Ok(prepared) => {
                let _editing = self.editing.lock().await;
                let waits = self.running.registry.get(placeholder.name());
                if !waits.is_some_and(|waiting| Arc::ptr_eq(&waiting, &placeholder)) {
                    // Replaced or removed in the meantime.
                    return;
                }
                let installed = self
                    .running
                    .install(
                        vec![prepared],
                        spec_source,
                        Source::File(spec_source.name.clone()),
                        &BTreeSet::new(),
                    )
                    .await;
                match (installed, refused) {
                    (Err(taken), _) => placeholder.failed(taken),
                    (Ok(()), Some(refused)) => {
                        self.record_rollback(&plugin.component, &refused).await
                    }
                    (Ok(()), None) => {}
                }
            }
            Err(problem) => placeholder.failed(problem),
        }
    }

    /// Takes over an edited file: what is new or different is put in place, what is gone ends, the rest goes on.
    ///
    /// # Errors
    /// Everything that is wrong with it; then nothing has changed.
    pub async fn apply(
        &self,
        read: PluginFile,
        path: &Path,
        stamps: &Stamps,
    ) -> Result<(), Vec<String>> {
        let spec_source = SpecSource::of_file(path);
        let source = Source::File(spec_source.name.clone());
        let mut seen_specs = self.editing.lock().await;
        let seen = seen_specs.entry(spec_source.name.clone()).or_default();
        let wrong = read
            .problems
            .iter()
            .chain(&read.duplicates())
            .map(Problem::to_string)
            .collect::<Vec<_>>();
        if !wrong.is_empty() {
            return Err(wrong);
        }
        read.warnings
            .iter()
            .for_each(|warning| tracing::warn!("plugin specs: {warning}"));
        let mut now = PluginFingerprints::new();
        let mut changed = Vec::new();
        for plugin in read.plugins.into_iter().filter(|plugin| !plugin.is_init()) {
            let this = fingerprint(&plugin, &spec_source, stamps);
            if seen.get(&plugin.component) != Some(&this) {
                changed.push(plugin.clone());
            }
            now.insert(plugin.component, this);
        }
        let gone: BTreeSet<String> = {
            let entries = self.running.entries();
            let ours = |name: &String| {
                entries
                    .get(name)
                    .is_some_and(|entry| entry.source == source)
            };
            seen.keys()
                .filter(|name| !now.contains_key(*name) && ours(name))
                .cloned()
                .collect()
        };
        let prepared = match self.running.prepare_all(changed, &spec_source).await {
            Ok(prepared) => prepared,
            Err(errors) => {
                for one in &errors {
                    self.record_refusal(one).await;
                }
                return Err(errors.into_iter().map(|one| one.problem).collect());
            }
        };
        let replaced: Vec<_> = prepared
            .iter()
            .map(|p| p.plugin.component.clone())
            .collect();
        self.running
            .install(prepared, &spec_source, source, &gone)
            .await
            .map_err(|taken| vec![taken])?;
        tracing::info!(?replaced, ?gone, "plugin specs applied");
        let retained = Arc::clone(&self.running.retained);
        tokio::task::spawn_blocking(move || gone.iter().for_each(|name| retained.forget(name)));
        *seen = now;
        Ok(())
    }

    /// Registers the specs of a request, all of them or none; with `replace` also such as run already. They last until
    /// the daemon stops.
    ///
    /// # Errors
    /// [`RegisterError`].
    pub async fn register(
        &self,
        body: Vec<u8>,
        replace: bool,
    ) -> Result<Vec<String>, RegisterError> {
        let parsing = tokio::task::spawn_blocking(move || file::parse(&body, REQUEST));
        let read = parsing
            .await
            .map_err(|error| RegisterError::Invalid(vec![error.to_string()]))?;
        let spec_source = SpecSource::of_request();
        let mut wrong: Vec<String> = read
            .problems
            .iter()
            .chain(&read.duplicates())
            .map(Problem::to_string)
            .collect();
        if wrong.is_empty() && read.plugins.is_empty() {
            wrong.push("there is no plugin in the request".to_owned());
        }
        for plugin in &read.plugins {
            if plugin.is_init() {
                wrong.push(format!(
                    "init plugins run when the daemon starts and cannot be registered ({})",
                    spec_source.at(plugin.place)
                ));
            }
            if let Some(wasm) = &plugin.spec.wasm
                && !wasm.path.starts_with('/')
            {
                wrong.push(format!(
                    "path {:?} is not absolute, and a request has no folder that it could start from ({})",
                    wasm.path,
                    spec_source.at(plugin.place)
                ));
            }
        }
        if !wrong.is_empty() {
            return Err(RegisterError::Invalid(wrong));
        }
        let names: Vec<_> = read.plugins.iter().map(|p| p.component.clone()).collect();
        let prepared = self
            .running
            .prepare_all(read.plugins, &spec_source)
            .await
            .map_err(|errors| {
                let problems = errors.into_iter().map(|one| one.problem);
                RegisterError::Invalid(problems.collect())
            })?;
        let _editing = self.editing.lock().await;
        if !replace {
            let entries = self.running.entries();
            if let Some(name) = names.iter().find(|name| entries.contains_key(*name)) {
                return Err(RegisterError::Taken(format!(
                    "plugin `{name}` is registered already; PUT replaces it"
                )));
            }
        }
        self.running
            .install(prepared, &spec_source, Source::Api, &BTreeSet::new())
            .await
            .map_err(RegisterError::Taken)?;
        tracing::info!(?names, replace, "plugins registered");
        Ok(names)
    }

    /// Ends and removes one component of a plugin. A plugin of the file comes back when its entry is edited, or with the
    /// next start. `false` when no plugin has such a component.
    pub async fn deregister(&self, name: &str) -> bool {
        let _editing = self.editing.lock().await;
        let removed = self.running.remove(name).await;
        if removed {
            tracing::info!(component = name, "plugin deregistered");
        }
        removed
    }

    /// The registry that the plugins' components are in.
    pub(super) fn registry(&self) -> &Registry {
        &self.running.registry
    }
}

pub(super) fn fingerprint(
    plugin: &Plugin,
    spec_source: &SpecSource,
    stamps: &Stamps,
) -> (PluginSpec, Vec<Option<FileStamp>>) {
    let files = plugin.spec.wasm.as_ref();
    let files = files.map_or(Vec::new(), |wasm| wasm::paths(wasm, &spec_source.folder));
    let stamps = files.iter().map(|file| stamps.of(file)).collect();
    (plugin.spec.clone(), stamps)
}
