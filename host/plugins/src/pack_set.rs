//! Applies the spec of an installed pack: each plugin for itself, so that a damaged file costs that plugin only.

use std::{collections::BTreeSet, path::Path, sync::Arc};

use super::{
    Plugins,
    file::Stamps,
    retained::{RolledBackVersion, Version},
    rollback::PrepareError,
    running::{Prepared, RunningEntry, Source},
    set::{PluginFingerprints, fingerprint},
    spec_source::SpecSource,
};
use crate::{
    component::Component,
    pack::{self, integrity::InstalledPack},
    spec::{Plugin, PluginFile, Problem},
};

impl Plugins {
    /// Takes over the spec of a pack. A plugin that is not what the vendor signed, or cannot be loaded, is left out: if it
    /// runs already, that version goes on; else the last version that worked runs in its place; else its component says
    /// what is wrong. The others run. Gives every problem.
    pub(super) async fn apply_pack(
        &self,
        read: PluginFile,
        spec: &Path,
        stamps: &Stamps,
        pack: Result<Arc<InstalledPack>, pack::PackRefusal>,
    ) -> Vec<String> {
        let mut problems = Vec::from_iter(pack.as_ref().err().map(ToString::to_string));
        let is_refused = pack.is_err();
        let spec_source = SpecSource::of_pack(spec, pack);
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
            return wrong;
        }
        let present: BTreeSet<String> = read
            .plugins
            .iter()
            .map(|plugin| plugin.component.clone())
            .collect();
        let mut now = PluginFingerprints::new();
        let (mut prepared, mut fallen_back) = (Vec::new(), Vec::new());
        for plugin in read.plugins {
            let this = fingerprint(&plugin, &spec_source, stamps);
            if !is_refused && seen.get(&plugin.component) == Some(&this) {
                now.insert(plugin.component, this);
                continue;
            }
            let name = plugin.component.clone();
            match self.running.prepare(plugin.clone(), &spec_source).await {
                Ok(one) => {
                    prepared.push(one);
                    now.insert(name, this);
                }
                Err(error) => {
                    if !is_refused {
                        problems.push(error.problem.clone());
                    }
                    let instead = self.instead_of(&plugin, &spec_source, &source, error).await;
                    if let Some((one, refused)) = instead {
                        prepared.push(one);
                        fallen_back.push((name, refused));
                    }
                }
            }
        }
        let gone = self.of_source(&source, &present);
        let replaced: Vec<_> = prepared
            .iter()
            .map(|one: &Prepared| one.plugin.component.clone())
            .collect();
        if let Err(taken) = self
            .running
            .install(prepared, &spec_source, source, &gone)
            .await
        {
            problems.push(taken);
            return problems;
        }
        tracing::info!(?replaced, ?gone, spec = spec_source.name, "pack applied");
        for (name, refused) in fallen_back {
            self.record_rollback(&name, &refused).await;
        }
        let retained = Arc::clone(&self.running.retained);
        tokio::task::spawn_blocking(move || gone.iter().for_each(|name| retained.forget(name)));
        *seen = now;
        problems
    }

    /// Ends every plugin of a pack that was removed, also one that runs in the place of another or does not run.
    ///
    /// # Errors
    /// Why they could not be ended.
    pub(super) async fn end_pack(&self, spec: &Path) -> Result<(), String> {
        let spec_source = SpecSource::of_file(spec);
        let source = Source::File(spec_source.name.clone());
        let mut seen_specs = self.editing.lock().await;
        let gone = self.of_source(&source, &BTreeSet::new());
        self.running
            .install(Vec::new(), &spec_source, source, &gone)
            .await?;
        tracing::info!(?gone, spec = spec_source.name, "pack ended");
        seen_specs.remove(&spec_source.name);
        let retained = Arc::clone(&self.running.retained);
        tokio::task::spawn_blocking(move || gone.iter().for_each(|name| retained.forget(name)));
        Ok(())
    }

    /// The plugins of a spec file that are there and not among these.
    fn of_source(&self, source: &Source, present: &BTreeSet<String>) -> BTreeSet<String> {
        let entries = self.running.entries();
        let ours = entries.iter().filter(|(_, entry)| entry.source == *source);
        let gone = ours.filter(|(name, _)| !present.contains(*name));
        gone.map(|(name, _)| name.clone()).collect()
    }

    /// Returns the version that runs instead of a plugin that cannot be loaded. `None` where a version runs already, or
    /// where no version that worked is retained; its component then shows the reason.
    async fn instead_of(
        &self,
        plugin: &Plugin,
        spec_source: &SpecSource,
        source: &Source,
        mut error: PrepareError,
    ) -> Option<(Prepared, RolledBackVersion)> {
        let runs = {
            let entries = self.running.entries();
            let entry = entries.get(&plugin.component);
            let entry = entry.filter(|entry| entry.source == *source);
            entry.and_then(|entry| Some(entry.current.as_ref()?.version.clone()))
        };
        if let Some(version) = runs {
            // Its own file may be good, and another one of the pack damaged.
            if error.version.as_ref() != Some(&version) {
                self.record_refusal(&error).await;
            }
            return None;
        }
        // A file that is missing is damaged, too: only `gpud pack remove` ends a pack.
        error
            .version
            .get_or_insert_with(|| Version::of(b"", &plugin.spec));
        match self.before(plugin, spec_source, error).await {
            (Ok(prepared), Some(refused)) => Some((prepared, refused)),
            (Ok(_), None) => None,
            (Err(problem), _) => {
                self.show_failed(plugin, source, problem);
                None
            }
        }
    }

    /// Shows a plugin that does not run as a component with the reason.
    fn show_failed(&self, plugin: &Plugin, source: &Source, problem: String) {
        let mut entries = self.running.entries_mut();
        if let Some(entry) = entries.get(&plugin.component) {
            if entry.source == *source {
                entry
                    .components
                    .iter()
                    .for_each(|one| one.failed(problem.clone()));
            }
            return;
        }
        // A name that is taken is a problem of its own, which installing the plugin would tell.
        if let Ok(component) = self.running.registry.add(Component::of_wasm(plugin)) {
            component.failed(problem);
            let entry = RunningEntry {
                plugin: plugin.clone(),
                source: source.clone(),
                components: vec![component],
                current: None,
            };
            entries.insert(plugin.component.clone(), entry);
        }
    }
}
