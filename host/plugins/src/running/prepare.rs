//! Makes plugins ready to run: reads and checks their components, and chooses the version.

use std::sync::Arc;

use super::{Prepared, Running};
use crate::{
    capability::Grants,
    component::{Component, Probation, Shadow, WasmChecker, probation::Verdict},
    file,
    node::trusted::Opener,
    pack,
    retained::{RetainedVersion, RolledBackVersion, Version},
    rollback::{CurrentVersion, PrepareError, ProbationOutcome, taken_back},
    spec::Plugin,
    spec_source::SpecSource,
    wasm,
};

impl Running {
    /// Makes plugins ready to run.
    ///
    /// # Errors
    /// The problems with those that cannot run.
    pub(crate) async fn prepare_all(
        &self,
        plugins: Vec<Plugin>,
        spec_source: &SpecSource,
    ) -> Result<Vec<Prepared>, Vec<PrepareError>> {
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
    ) -> Result<Prepared, PrepareError> {
        let refused = |pack::PackRefusal(why)| wasm::Problem {
            message: why,
            place: None,
            note: None,
        };
        if plugin.spec.wasm.is_none() {
            let checked = spec_source.check_script(&plugin).map_err(refused);
            checked.map_err(|problem| PrepareError::of(&plugin, spec_source, problem, None))?;
            let components = vec![Component::of_script(&plugin)];
            return Ok(Prepared {
                plugin,
                components,
                current: None,
                wasm: None,
            });
        }
        let read = wasm::read_component(&plugin, &spec_source.folder, Opener::of_daemon()).await;
        let wasm = read.map_err(|problem| PrepareError::of(&plugin, spec_source, problem, None))?;
        let (wasm, version) = self.version(wasm, &plugin).await;
        if let Err(refusal) = spec_source.check(&plugin, &wasm) {
            let problem = refused(refusal);
            return Err(PrepareError::of(
                &plugin,
                spec_source,
                problem,
                Some(version),
            ));
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
            PrepareError::of(&plugin, spec_source, problem, Some(version.clone()))
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
            current: Some(CurrentVersion {
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
    async fn shadows(&self, plugin: &Plugin, spec_source: &SpecSource) -> Option<ShadowCheckers> {
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
        Some(ShadowCheckers { digest, checkers })
    }

    /// Makes a version that worked ready to run in place of another one. It gets no grant that the present entry does
    /// not give, and where that entry is not what a pack's vendor signed, no other than those that it had.
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
                if let Some(Err(refusal)) = &spec_source.pack {
                    return Err(format!(
                        "it had grants that the entry does not give, which is not trusted: {refusal}"
                    ));
                }
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
            current: Some(CurrentVersion {
                version: before.version.clone(),
                probation: None,
                rolled_back: Some(refused),
            }),
            wasm: None,
            plugin,
        })
    }
}

/// The checkers of the second version of an entry.
struct ShadowCheckers {
    digest: String,
    checkers: Result<Vec<WasmChecker>, String>,
}

impl ShadowCheckers {
    /// Returns the shadow of the component of this name.
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
