//! New versions of Wasm entries that do not work: the version before comes back, with an event, and the new one is not
//! tried again until its file or its entry changes.

use std::{collections::BTreeSet, sync::Arc};

use super::{
    Plugins,
    retained::{RolledBackVersion, Version},
    running::Prepared,
    spec_source::SpecSource,
    wasm,
};
use crate::{
    component::{Probation, probation::Verdict},
    model::{Event, EventType, UnixMillis},
    spec::Plugin,
    wire::{MetaTime, RolledBack, RunningVersion},
};

/// The running version of an entry.
#[derive(Clone)]
pub(crate) struct CurrentVersion {
    /// The version.
    pub(crate) version: Version,
    /// Its probation, unless it worked before.
    pub(crate) probation: Option<Arc<Probation>>,
    /// The version that it replaces, if that one was taken back.
    pub(crate) rolled_back: Option<RolledBackVersion>,
}

impl CurrentVersion {
    /// Returns the version as `/v1/plugins` shows it.
    pub(crate) fn shown(&self) -> RunningVersion {
        RunningVersion {
            digest: self.version.digest(),
            on_probation: self.probation.as_ref().is_some_and(|one| one.is_on()),
            rolled_back: self.rolled_back.as_ref().map(|refused| RolledBack {
                digest: refused.version.digest(),
                reason: refused.reason.clone(),
                time: MetaTime(Some(refused.time)),
            }),
        }
    }
}

/// How a version's probation ended.
pub(crate) struct ProbationOutcome {
    /// Component name of the entry.
    pub(crate) plugin: String,
    /// The version that was on probation.
    pub(crate) version: Version,
    /// Whether it worked.
    pub(crate) verdict: Verdict,
}

/// Why a plugin cannot run.
pub(crate) struct PrepareError {
    /// Component name of the entry.
    pub(crate) plugin: String,
    /// The problem, and where.
    pub(crate) problem: String,
    /// Which version it is, if its file could be read.
    pub(crate) version: Option<Version>,
}

impl PrepareError {
    pub(crate) fn of(
        plugin: &Plugin,
        spec_source: &SpecSource,
        problem: wasm::Problem,
        version: Option<Version>,
    ) -> Self {
        let place = problem.place.unwrap_or(plugin.place);
        let note = problem
            .note
            .map_or(String::new(), |note| format!("; {note}"));
        Self {
            plugin: plugin.component.clone(),
            problem: format!("{} ({}{note})", problem.message, spec_source.at(place)),
            version,
        }
    }
}

/// One version runs in place of another, and why: what the states and the event say.
pub(crate) fn taken_back(refused: &RolledBackVersion, before: &Version) -> String {
    let RolledBackVersion {
        version, reason, ..
    } = refused;
    match version.same_file(before) {
        true => format!(
            "the edited entry (version {}) was taken back: {reason}; the entry of before runs with version {}",
            version.digest(),
            before.digest()
        ),
        false => format!(
            "version {} was taken back: {reason}; version {} runs in its place",
            version.digest(),
            before.digest()
        ),
    }
}

fn warning(time: UnixMillis, name: &str, message: String) -> Event {
    Event {
        time,
        name: name.to_owned(),
        event_type: EventType::Warning,
        message: message.chars().take(2000).collect(),
        ..Event::default()
    }
}

impl Plugins {
    /// A version has passed its probation, or failed.
    pub(super) async fn judge(&self, outcome: ProbationOutcome) {
        let ProbationOutcome {
            plugin,
            version,
            verdict,
        } = outcome;
        match verdict {
            Verdict::Worked => {
                let digest = version.digest();
                tracing::info!(plugin, digest, "this version works");
                let retained = Arc::clone(&self.running.retained);
                let name = plugin.clone();
                let keeping = tokio::task::spawn_blocking(move || retained.worked(&name, &version));
                let problem = match keeping.await {
                    Ok(Ok(())) => return,
                    Ok(Err(error)) => error.to_string(),
                    Err(error) => error.to_string(),
                };
                tracing::warn!(plugin, "that a version works could not be noted: {problem}");
            }
            Verdict::Failed { component, reason } => {
                let refused = RolledBackVersion {
                    version,
                    reason,
                    time: self.now(),
                };
                self.take_back(&plugin, &component, refused).await;
            }
        }
    }

    /// Puts the version before in the place of one that failed.
    async fn take_back(&self, plugin: &str, component: &str, refused: RolledBackVersion) {
        let _editing = self.editing.lock().await;
        let running = {
            let entries = self.running.entries();
            let entry = entries.get(plugin);
            let is_it = |current: &CurrentVersion| current.version == refused.version;
            entry
                .filter(|entry| entry.current.as_ref().is_some_and(is_it))
                .map(|entry| {
                    (
                        entry.plugin.clone(),
                        entry.source.clone(),
                        entry.current.clone(),
                    )
                })
        };
        let Some((present, source, current)) = running else {
            // Replaced or removed in the meantime.
            return;
        };
        let spec_source = source.to_spec_source();
        let retained = Arc::clone(&self.running.retained);
        let before = retained.before(plugin, &spec_source.name, &refused.version);
        let prepared = match &before {
            Some(before) => {
                let refused = refused.clone();
                let preparing =
                    self.running
                        .prepare_before(before, &present, &spec_source, refused);
                preparing.await
            }
            None => Err("no version that worked is kept".to_owned()),
        };
        let placed = match prepared {
            Ok(prepared) => {
                let new = vec![prepared];
                let none = BTreeSet::new();
                self.running.install(new, &spec_source, source, &none).await
            }
            Err(problem) => Err(problem),
        };
        match placed {
            Ok(()) => {
                self.record_rollback(plugin, &refused).await;
                let name = plugin.to_owned();
                let noting = tokio::task::spawn_blocking(move || retained.refuse(&name, refused));
                if !matches!(noting.await, Ok(Ok(()))) {
                    tracing::warn!(
                        plugin,
                        "a restart will try the version again that was taken back"
                    );
                }
            }
            Err(problem) => {
                let message = format!(
                    "version {} fails ({}), and no other could take its place: {problem}",
                    refused.version.digest(),
                    refused.reason
                );
                tracing::error!(plugin, "{message}");
                if let Some(probation) = current.and_then(|current| current.probation) {
                    probation.stays();
                }
                self.store_event(plugin, Some(component), "plugin_rollback_failed", message)
                    .await;
            }
        }
    }

    /// Returns, at the start, the last version that worked instead of one that cannot be loaded, and the refused
    /// version.
    pub(super) async fn before(
        &self,
        plugin: &Plugin,
        spec_source: &SpecSource,
        error: PrepareError,
    ) -> (Result<Prepared, String>, Option<RolledBackVersion>) {
        let PrepareError {
            problem, version, ..
        } = error;
        let Some(version) = version else {
            return (Err(problem), None);
        };
        let Some(before) =
            self.running
                .retained
                .before(&plugin.component, &spec_source.name, &version)
        else {
            return (Err(problem), None);
        };
        let refused = RolledBackVersion {
            version,
            reason: format!("it could not be loaded: {problem}"),
            time: self.now(),
        };
        let preparing = self
            .running
            .prepare_before(&before, plugin, spec_source, refused.clone());
        match preparing.await {
            Ok(prepared) => (Ok(prepared), Some(refused)),
            Err(other) => (
                Err(format!("{problem}; the version before it: {other}")),
                None,
            ),
        }
    }

    /// Records that a version runs instead of a refused one.
    pub(super) async fn record_rollback(&self, plugin: &str, refused: &RolledBackVersion) {
        let running = {
            let entries = self.running.entries();
            let current = entries.get(plugin).and_then(|entry| entry.current.as_ref());
            current.map(|current| current.version.clone())
        };
        if let Some(running) = running {
            let message = taken_back(refused, &running);
            tracing::error!(plugin, "{message}");
            self.store_event(plugin, None, "plugin_rolled_back", message)
                .await;
        }
    }

    /// Records that a new version was refused while an older one runs.
    pub(super) async fn record_refusal(&self, error: &PrepareError) {
        let Some(version) = &error.version else {
            return;
        };
        let running = {
            let entries = self.running.entries();
            let entry = entries.get(&error.plugin);
            let current = entry.and_then(|entry| entry.current.as_ref());
            current.map(|current| current.version.digest())
        };
        if let Some(running) = running {
            let message = format!(
                "version {} was refused: {}; version {running} goes on",
                version.digest(),
                error.problem
            );
            self.store_event(&error.plugin, None, "plugin_version_refused", message)
                .await;
        }
    }

    /// Stores an event of one of a plugin's components, the first unless another is named.
    async fn store_event(
        &self,
        plugin: &str,
        component: Option<&str>,
        name: &str,
        message: String,
    ) {
        let found = {
            let entries = self.running.entries();
            let components = entries.get(plugin).map(|entry| entry.components.clone());
            let components = components.unwrap_or_default();
            let named = components
                .iter()
                .find(|one| component.is_some_and(|component| component == one.name()));
            named.or(components.first()).cloned()
        };
        if let Some(found) = found {
            let event = warning(self.now(), name, message);
            found
                .store_event(self.running.scheduler.services(), event)
                .await;
        }
    }

    fn now(&self) -> UnixMillis {
        self.running.scheduler.services().node.clock.now_ms()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(file: &str, entry: &str) -> Version {
        Version {
            file: file.into(),
            entry: entry.into(),
        }
    }

    #[test]
    fn what_is_said_names_both_versions_and_the_reason() {
        let refused = RolledBackVersion {
            version: version("bb", "1"),
            reason: "it trapped: x".into(),
            time: 0,
        };
        assert_eq!(
            taken_back(&refused, &version("aa", "1")),
            "version sha256:bb was taken back: it trapped: x; version sha256:aa runs in its place"
        );
        assert_eq!(
            taken_back(&refused, &version("bb", "0")),
            "the edited entry (version sha256:bb) was taken back: it trapped: x; the entry of before runs with version sha256:bb"
        );
        let shown = CurrentVersion {
            version: version("aa", "1"),
            probation: None,
            rolled_back: Some(refused),
        }
        .shown();
        assert_eq!(
            (shown.digest.as_str(), shown.on_probation),
            ("sha256:aa", false)
        );
        assert_eq!(shown.rolled_back.unwrap().digest, "sha256:bb");
    }
}
