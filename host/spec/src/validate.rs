//! Checks the required parts of a plugin, in the order in which GPUd checks them.

use super::{
    base64,
    names::{MAX_PLUGIN_NAME_BYTES, component_name},
    path::{Path, Step as Down},
    problem::{Finding, ProblemKind},
};
use crate::wire::{GoDuration, PluginSpec, RunBashScript, Step};

/// The timeout that replaces zero.
pub const DEFAULT_TIMEOUT: GoDuration = GoDuration(60_000_000_000);
/// Shortest interval above zero.
pub const MIN_INTERVAL: GoDuration = GoDuration(60_000_000_000);

/// Everything that is wrong with an expanded plugin, what GPUd would report at the front. `entry` is its key in the
/// file, `name` that of its name.
pub(super) fn check(spec: &PluginSpec, entry: &Path, name: &Path) -> Vec<Finding> {
    let mut findings = Vec::new();
    if spec.wasm.is_none() && !matches!(spec.plugin_type.as_str(), "init" | "component") {
        // Without a type it is not known what else there should be.
        let mut finding = Finding::new(
            ProblemKind::InvalidPluginType,
            "invalid plugin type",
            entry.key("plugin_type"),
        );
        finding.note = Some(
            "plugin_type is one of component, component_list, init, wasm; letter case counts"
                .to_owned(),
        );
        return vec![finding];
    }
    if spec.plugin_name.len() > MAX_PLUGIN_NAME_BYTES {
        findings.push(
            Finding::new(
                ProblemKind::PluginNameTooLong,
                format!("plugin name is too long: {}", spec.plugin_name),
                name.clone(),
            )
            .note(format!(
                "it has {} bytes; {MAX_PLUGIN_NAME_BYTES} are allowed",
                spec.plugin_name.len()
            )),
        );
    }
    if component_name(&spec.plugin_name).is_empty() {
        let kind = ProblemKind::ComponentNameRequired;
        let finding = Finding::new(kind, "component name is required", name.clone());
        findings.push(finding.note("set plugin_name to something other than blanks"));
    }
    let state_plugin = entry.key("health_state_plugin");
    match &spec.health_state_plugin {
        Some(plugin) => {
            let steps = state_plugin.key("steps");
            for (at, step) in plugin.steps.iter().enumerate() {
                check_step(step, &steps.join(Down::Item(at)), &mut findings);
            }
        }
        None if spec.wasm.is_some() => {}
        None => findings.push(
            Finding::new(
                ProblemKind::MissingStatePlugin,
                "state plugin is required",
                state_plugin,
            )
            .note("add health_state_plugin with its steps"),
        ),
    }
    if spec.interval > GoDuration(0) && spec.interval < MIN_INTERVAL {
        findings.push(
            Finding::new(
                ProblemKind::IntervalTooShort,
                "interval is too short",
                entry.key("interval"),
            )
            .note("at least 1m, or 0s to run once"),
        );
    }
    findings
}

fn check_step(step: &Step, at: &Path, findings: &mut Vec<Finding>) {
    if step.name.is_empty() {
        let kind = ProblemKind::StepNameRequired;
        findings.push(Finding::new(kind, "step name is required", at.key("name")));
    }
    let bash = at.key("run_bash_script");
    match &step.run_bash_script {
        Some(script) => check_script(script, &bash, findings),
        None => {
            let kind = ProblemKind::MissingPluginStep;
            let finding = Finding::new(kind, "plugin step cannot be empty", bash);
            findings.push(finding.note("add run_bash_script with content_type and script"));
        }
    }
}

fn check_script(bash: &RunBashScript, at: &Path, findings: &mut Vec<Finding>) {
    if bash.script.is_empty() {
        let kind = ProblemKind::ScriptRequired;
        findings.push(Finding::new(kind, "script is required", at.key("script")));
    }
    match bash.content_type.as_str() {
        "plaintext" | "text/plain" => {}
        "base64" => {
            if let Err(error) = base64::decode(&bash.script) {
                let kind = ProblemKind::InvalidBase64;
                findings.push(Finding::new(kind, error.to_string(), at.key("script")));
            }
        }
        other => findings.push(
            Finding::new(
                ProblemKind::UnsupportedContentType,
                format!("unsupported content type: {other}"),
                at.key("content_type"),
            )
            .note("one of plaintext, text/plain, base64"),
        ),
    }
}
