//! From what was found to a report: the fabric's state first, then its manager.

use gpud_builtin_nvidia_common::trouble::{LOST, NEEDS_RESET};
use gpud_builtin_nvidia_common::{
    Failure, Gpu, GpuAnswer, GpuFinding, GpuReadings, product, state, text, with_data,
};
use gpud_sdk::{AccessError, CheckContext, RepairAction, Report};
use serde::Serialize;

use crate::bus::Bus;
use crate::config::Config;
use crate::fabric::{Fabric, Row};

/// The devices besides GPUs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Node {
    /// The PCI bus, if it could be read.
    pub bus: Option<Bus>,
    /// Is the manager's program there?
    pub installed: bool,
    /// Does it listen?
    pub active: bool,
    /// Was its last word in this boot that there is nothing to do?
    pub nothing_to_do: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    fabric_manager_active: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    fabric_state_supported: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fabric_states: Vec<Row<'a>>,
    #[serde(skip_serializing_if = "str::is_empty")]
    fabric_state_reason: &'a str,
}

/// The result of a step.
#[derive(Debug, Default)]
struct Verdict {
    /// Reasons so far.
    reasons: Vec<String>,
    /// Is anything wrong?
    unhealthy: bool,
}

impl Verdict {
    fn fine(mut self, reason: impl Into<String>) -> Self {
        self.reasons.push(reason.into());
        self
    }

    fn wrong(mut self, reason: impl Into<String>) -> Self {
        self.reasons.push(reason.into());
        self.unhealthy = true;
        self
    }
}

/// One GPU that is not as it should be.
struct Broken<'a> {
    gpu: &'a Gpu,
    issues: String,
    failure: Option<&'a Failure>,
}

fn broken(asked: &GpuAnswer<Option<Fabric>>) -> Option<Broken<'_>> {
    let (issues, failure) = match &asked.answer {
        // Neither its product nor its driver can tell.
        Ok(None) => return None,
        Ok(Some(fabric)) => (fabric.issues().join(", "), None),
        Err(failure) => {
            let words = match failure.error {
                AccessError::SourceLost(_) => LOST.to_owned(),
                AccessError::NeedsReset(_) => NEEDS_RESET.to_owned(),
                _ => failure.text(),
            };
            (words, Some(failure))
        }
    };
    let gpu = &asked.gpu;
    (!issues.is_empty()).then_some(Broken {
        gpu,
        issues,
        failure,
    })
}

/// The report; `None` is a GPU that cannot tell.
pub fn evaluate(
    context: &CheckContext,
    config: Config,
    seen: &GpuReadings<Option<Fabric>>,
    node: &Node,
) -> Report {
    let mut gpus: Vec<&GpuAnswer<Option<Fabric>>> = seen.gpus.iter().collect();
    gpus.sort_by_key(|asked| &asked.gpu.uuid);
    let answered = || {
        gpus.iter()
            .filter_map(|asked| Some((&asked.gpu, asked.answer.as_ref().ok()?.as_ref()?)))
    };
    let broken: Vec<Broken<'_>> = gpus.iter().filter_map(|asked| broken(asked)).collect();
    let issues = broken
        .iter()
        .map(|broken| format!("GPU {}: {}", broken.gpu.uuid, broken.issues));
    let issues = text::join(issues, "; ");

    let name = product::sanitized(&seen.product);
    let has_state = product::has_fabric_state(&seen.product);
    let switches = seen.gpus.len() > 1 && node.bus.is_some_and(|bus| bus.switches > 0);
    let failed = gpus.iter().any(|asked| asked.answer.is_err());
    // Switches of the newest generation, and those of a machine that lends its GPUs, are not on this bus; but a GPU that
    // is a member of a fabric has some. One that does not answer may be.
    let member = seen.gpus.len() > 1 && answered().any(|(_, fabric)| fabric.is_member());
    let in_fabric = switches || member || failed || config.assume_nvswitch;
    // Boards with a display are not counted on the bus, but NVML has them.
    let few = node
        .bus
        .map(|bus| bus.gpus.max(seen.gpus.len()))
        .filter(|gpus| *gpus < 2);

    let mut verdict = Verdict::default();
    let (mut judged, mut active) = (false, false);
    if let Some(count) = few.filter(|_| has_state && !config.assume_nvswitch && !failed) {
        verdict = verdict.fine(format!(
            "detected {count} NVIDIA GPU device(s); skipping fabric state check"
        ));
    } else if has_state && !in_fabric {
        let reason = format!("{name}: NVSwitch not detected, skipping fabric state check");
        verdict = verdict.fine(reason);
    } else {
        if has_state {
            judged = true;
            verdict = if !broken.is_empty() {
                verdict.wrong(format!("{name} with unhealthy fabric state: {issues}"))
            } else if answered().next().is_some() {
                verdict.fine(format!("{name} checked fabric state"))
            } else {
                verdict.fine(format!("{name} fabric state telemetry not supported"))
            };
        }
        active = node.active;
        verdict = manager(verdict, &name, &seen.product, switches, node);
    }
    let reason = text::join(&verdict.reasons, "; ");
    let finding = verdict.unhealthy.then(|| {
        let judged = broken.iter().filter(|_| judged);
        about(GpuFinding::unhealthy(&reason), judged)
    });
    let document = Document {
        fabric_manager_active: active,
        fabric_state_supported: has_state,
        fabric_states: answered()
            .filter(|_| judged)
            .map(|(gpu, fabric)| fabric.row(&gpu.uuid))
            .collect(),
        fabric_state_reason: if judged { &issues } else { "" },
    };
    let state = state(context, reason.clone(), finding.into_iter().collect());
    Report::of(with_data(state, &document))
}

/// A GPU that the driver gave up is for a reboot; nothing else follows from a fabric's state alone.
fn about<'a>(mut finding: GpuFinding, broken: impl Iterator<Item = &'a Broken<'a>>) -> GpuFinding {
    let (mut errors, mut gone) = (Vec::new(), None);
    let mut gpus = Vec::new();
    for broken in broken {
        gpus.push(broken.gpu.clone());
        if let Some(failure) = broken.failure {
            errors.push(format!("{}: {}", broken.gpu.label(), failure.text()));
            match failure.error {
                AccessError::SourceLost(_) => gone = Some(LOST),
                AccessError::NeedsReset(_) => gone = gone.or(Some(NEEDS_RESET)),
                _ => {}
            }
        }
    }
    if let Some(words) = gone {
        finding = finding.action(RepairAction::RebootSystem, words);
    }
    finding
        .error(text::join(errors, "; "))
        .about(gpus)
        .read_from("nvmlDeviceGetGpuFabricInfoV")
}

fn manager(
    verdict: Verdict,
    name: &str,
    product_name: &str,
    switches: bool,
    node: &Node,
) -> Verdict {
    if !product::has_fabric_manager(product_name) {
        return verdict.fine(format!("{name} does not support fabric manager"));
    }
    // One in a container listens, too, and its program is not on this machine's path.
    if node.active {
        return match verdict.unhealthy {
            true => verdict,
            false => Verdict::default().fine("fabric manager found and active"),
        };
    }
    if !switches {
        return verdict.fine("NVSwitch not detected, skipping fabric manager check");
    }
    if !node.installed {
        return verdict.wrong("fabric manager supported but nv-fabricmanager executable not found");
    }
    if node.nothing_to_do {
        return verdict.fine("fabric manager has nothing to do (no NVSwitch devices)");
    }
    verdict.wrong("fabric manager found but not active")
}

#[cfg(test)]
mod tests;
