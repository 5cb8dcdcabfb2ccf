//! `gpud plugin test`: a component on made-up machines, and what it is to say there.
//!
//! `document` reads the file, `answers` its programs and services, `machine` makes the machines up, `expect` compares.

mod answers;
mod document;
mod expect;
mod machine;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use jiff::tz::TimeZone;
use serde::Serialize;
use serde_json::{Map, Value};

use self::{
    document::{Case, CaseFile, Step},
    expect::StepResult,
    machine::Machine,
};
use crate::{
    capability::Grants,
    capture,
    check_result::{ReportedEvent, ReportedMetric},
    component::{config, trial::Trial},
    component_file::{Compilation, ComponentFile},
    dry_run::chosen,
    model::Trigger,
    node::{kmsg::KernelMessage, local_file, trusted::Opener},
    plugins::file as spec_file,
    runtime::{Limits, Runtime},
    wire::WasmSpec,
};

/// A file of cases and what it is about.
#[derive(Debug)]
pub(crate) struct Cases {
    file: CaseFile,
    /// The folder that its paths start from.
    base: PathBuf,
    component: ComponentFile,
    grants: Value,
    config: Value,
}

/// A file of cases as it was read, with the entry of its spec.
struct ReadCaseFile {
    file: CaseFile,
    base: PathBuf,
    spec: Option<(PathBuf, WasmSpec)>,
}

/// The outcome of one case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// Its name.
    pub case: String,
    /// Whether everything was as expected.
    pub passed: bool,
    /// What was not.
    pub differences: Vec<String>,
}

impl Cases {
    /// Reads a file of cases and the component that it is about, which `component` takes the place of.
    ///
    /// # Errors
    /// In words, naming the file.
    pub(crate) async fn read(path: &Path, component: Option<&Path>) -> Result<Self, String> {
        let read = ReadCaseFile::of(path).await?;
        let component = component.map(Path::to_owned).or_else(|| read.component());
        let component = component.ok_or_else(|| {
            format!(
                "{}: it names no component: add `component: FILE.wasm` or `spec: FILE.yaml`",
                path.display()
            )
        })?;
        Ok(read.about(ComponentFile::read(&component).await?))
    }

    /// Runs all of them, one after another.
    pub(crate) async fn run(&self, compilation: &Compilation) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        for case in &self.file.cases {
            let differences = match self.one(case, compilation).await {
                Ok(differences) => differences,
                Err(problem) => vec![problem],
            };
            outcomes.push(Outcome {
                case: case.name.clone(),
                passed: differences.is_empty(),
                differences,
            });
        }
        outcomes
    }

    async fn one(&self, case: &Case, compilation: &Compilation) -> Result<Vec<String>, String> {
        let mut machine = Machine::of(case, &self.base)?;
        let runtime = compilation.start(Arc::clone(&machine.node))?;
        let mut trial = self.trial(case, &machine, &runtime).await?;
        let steps = case.steps();
        let mut differences = Vec::new();
        for (at, step) in steps.iter().enumerate() {
            let found = self.step(step, &mut machine, &mut trial).await?;
            let several = steps.len() > 1;
            differences.extend(found.into_iter().map(|text| match several {
                true => format!("step {}: {text}", at + 1),
                false => text,
            }));
        }
        Ok(differences)
    }

    /// The component of a case, on its machine.
    async fn trial(
        &self,
        case: &Case,
        machine: &Machine,
        runtime: &Runtime,
    ) -> Result<Trial, String> {
        let own = |own: &Option<Map<String, Value>>, of_file: &Value| {
            own.clone().map_or_else(|| of_file.clone(), Value::Object)
        };
        let grants = own(&case.grants, &self.grants);
        let grants = Grants::parse(&grants).map_err(|error| error.to_string())?;
        let plugin = self
            .component
            .load(runtime, grants, Limits::default())
            .await
            .map_err(|error| error.to_string())?;
        let descriptors = chosen(&plugin, self.file.component_name.as_deref())?;
        let descriptor = descriptors
            .into_iter()
            .next()
            .ok_or("it has no component")?;
        let document = own(&case.config, &self.config);
        config::check(&descriptor, &document, runtime.program())
            .await
            .map_err(|mismatch| mismatch.message)?;
        let trial = Trial::new(
            plugin,
            descriptor,
            document.to_string().into(),
            Arc::clone(&machine.node),
        );
        trial.await.map_err(|error| error.to_string())
    }

    async fn step(
        &self,
        step: &Step,
        machine: &mut Machine,
        trial: &mut Trial,
    ) -> Result<Vec<String>, String> {
        machine.node.clock.advance_ms(step.after_ms()?);
        machine.node.change_canned(|canned| step.change(canned));
        for (path, content) in &step.files {
            machine.change(path, content.as_deref())?;
        }
        let mut messages: Vec<KernelMessage> = Vec::new();
        if let Some(file) = &step.kmsg_file {
            messages.extend(self.saved(file, machine.node.clock.now_ms())?);
        }
        messages.extend(step.kmsg.iter().map(|text| machine.message(text)));
        let messages = machine.log(messages)?;
        let mut events: Vec<ReportedEvent> = Vec::new();
        if !messages.is_empty() {
            let trial_events = trial.hear(&messages).await?;
            events.extend(trial_events.events.iter().map(ReportedEvent::from));
        }
        let outcome = trial.check(Trigger::Scheduled).await;
        let states = trial.states(&outcome);
        let error = match (&outcome.report, &outcome.problem) {
            (Err(error), _) => Some(error.to_string()),
            (Ok(_), problem) => problem.clone(),
        };
        let report = outcome.report.as_ref().ok();
        events.extend(
            report
                .iter()
                .flat_map(|report| &report.events)
                .map(ReportedEvent::from),
        );
        let metrics = report.iter().flat_map(|report| &report.metrics);
        let metrics: Vec<_> = metrics.map(ReportedMetric::from).collect();
        Ok(step.expect.differences(&StepResult {
            supported: report.is_none_or(|report| report.supported),
            states: &states,
            events: &events,
            metrics: &metrics,
            error: error.as_deref(),
        }))
    }

    fn saved(&self, file: &Path, now: u64) -> Result<Vec<KernelMessage>, String> {
        let path = self.base.join(file);
        let bytes = local_file::read(&path, document::MAX_BYTES)
            .map_err(|error| local_file::open_error(&path, &error))?;
        let read = capture::read(&bytes, now, &TimeZone::UTC)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        let wrong = |problem: &str| Err(format!("{}: {problem}", path.display()));
        let mut logs = read.logs.into_iter();
        match (logs.next(), logs.next()) {
            (None, _) => wrong("there is no kernel message in it"),
            (Some(log), None) => Ok(log.messages),
            (Some(_), Some(_)) => wrong("lines of several hosts; a case is of one machine"),
        }
    }
}

impl ReadCaseFile {
    async fn of(path: &Path) -> Result<Self, String> {
        let owned = path.to_owned();
        let reading = tokio::task::spawn_blocking(move || {
            let bytes = local_file::read(&owned, document::MAX_BYTES)
                .map_err(|error| local_file::open_error(&owned, &error))?;
            let wrong = |problem: String| format!("{}: {problem}", owned.display());
            let text = String::from_utf8(bytes).map_err(|_| wrong("it is not UTF-8".to_owned()))?;
            let file = CaseFile::parse(&text).map_err(wrong)?;
            let base = spec_file::folder(&owned);
            let spec = match &file.spec {
                Some(spec) => Some(wasm_entry(&base.join(spec))?),
                None => None,
            };
            Ok(Self { file, base, spec })
        });
        reading.await.map_err(|error| error.to_string())?
    }

    /// The component that it names, itself or by its spec.
    fn component(&self) -> Option<PathBuf> {
        let named = self.file.component.as_ref();
        let named = named.map(|file| self.base.join(file));
        let of_spec = self.spec.as_ref();
        named.or_else(|| of_spec.map(|(folder, wasm)| folder.join(&wasm.path)))
    }

    fn about(self, component: ComponentFile) -> Cases {
        let object = |own: &Option<Map<String, Value>>, of_spec: Option<&Value>| match own {
            Some(own) => Value::Object(own.clone()),
            None => of_spec
                .cloned()
                .unwrap_or_else(|| Value::Object(Map::new())),
        };
        let wasm = self.spec.as_ref().map(|(_, wasm)| wasm);
        Cases {
            grants: object(&self.file.grants, wasm.map(|wasm| &wasm.grants)),
            config: object(&self.file.config, wasm.map(|wasm| &wasm.config)),
            component,
            file: self.file,
            base: self.base,
        }
    }
}

/// The first Wasm entry of a spec file, and the folder that its path starts from.
fn wasm_entry(path: &Path) -> Result<(PathBuf, WasmSpec), String> {
    let read = spec_file::read(path, Opener::of_command())?;
    if let Some(problem) = read.problems.first() {
        return Err(problem.to_string());
    }
    let mut entries = read
        .plugins
        .into_iter()
        .filter_map(|plugin| plugin.spec.wasm);
    let wasm = entries
        .next()
        .ok_or_else(|| format!("{}: it has no entry of type wasm", path.display()))?;
    Ok((spec_file::folder(path), wasm))
}

#[cfg(test)]
mod tests;
