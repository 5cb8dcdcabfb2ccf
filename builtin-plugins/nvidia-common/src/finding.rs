//! From what is wrong with GPUs to a state.
//!
//! Unlike a [`Finding`](gpud_sdk::findings::Finding) of the SDK, it makes no events: what GPUs answer is judged at each
//! check, and a checker that has events makes them itself.

use gpud_sdk::{CheckContext, Evidence, Health, HealthState, Recovery, RepairAction, log};
use serde::Serialize;

use crate::trouble::rank;
use crate::{Gpu, text};

/// Largest document under `data`, bytes. The host refuses a report with more than 64 KiB in one value.
const MAX_DATA: usize = 60 << 10;
/// Most pieces of evidence; the host's bound.
const MAX_EVIDENCE: usize = 64;

/// Something that is wrong with GPUs.
#[derive(Debug, Clone, PartialEq)]
pub struct GpuFinding {
    health: Health,
    reason: String,
    action: Option<(RepairAction, &'static str)>,
    error: String,
    gpus: Vec<Gpu>,
    reading: Option<&'static str>,
}

impl GpuFinding {
    fn new(health: Health, reason: impl Into<String>) -> Self {
        Self {
            health,
            reason: reason.into(),
            action: None,
            error: String::new(),
            gpus: Vec::new(),
            reading: None,
        }
    }

    /// Working, but needs attention.
    pub fn degraded(reason: impl Into<String>) -> Self {
        Self::new(Health::Degraded, reason)
    }

    /// Not to be trusted with work.
    pub fn unhealthy(reason: impl Into<String>) -> Self {
        Self::new(Health::Unhealthy, reason)
    }

    /// What to do about it, and why.
    pub fn action(mut self, action: RepairAction, description: &'static str) -> Self {
        self.action = Some((action, description));
        self
    }

    /// The technical error behind it.
    pub fn error(mut self, error: impl Into<String>) -> Self {
        self.error = error.into();
        self
    }

    /// The GPUs that it is about.
    pub fn about(mut self, gpus: impl IntoIterator<Item = Gpu>) -> Self {
        self.gpus.extend(gpus);
        self
    }

    /// The NVML reading that it was drawn from: its C function.
    pub fn read_from(mut self, reading: &'static str) -> Self {
        self.reading = Some(reading);
        self
    }
}

/// The state of a component: Healthy with a reason, or the verdict on the findings. The worst health counts; all
/// reasons are given in the order of the findings; of the actions, inspection of the hardware goes before a reboot,
/// since a machine that is to be looked at need not be rebooted first.
///
/// Clears with the next good reading. The subject is named when the findings are about one GPU.
pub fn state(
    context: &CheckContext,
    healthy: impl Into<String>,
    findings: Vec<GpuFinding>,
) -> HealthState {
    let worst = findings.iter().map(|finding| &finding.health);
    match worst.max_by_key(|health| rank(health)) {
        Some(worst) => of_findings(context, worst, &findings),
        None => HealthState::healthy(context, healthy),
    }
}

/// Apart from what each check does as a rule.
#[cold]
#[inline(never)]
fn of_findings(context: &CheckContext, worst: &Health, findings: &[GpuFinding]) -> HealthState {
    let reasons = findings.iter().map(|finding| finding.reason.as_str());
    let mut state = HealthState::new(context, worst.clone(), text::join(reasons, "; "))
        .clears_by(Recovery::NextGoodReading);
    let errors = findings.iter().map(|finding| finding.error.as_str());
    let errors = text::join(errors.filter(|error| !error.is_empty()), "; ");
    if !errors.is_empty() {
        state.error = Some(errors);
    }
    let actions = findings
        .iter()
        .filter_map(|finding| finding.action.as_ref());
    let urgent = |action: &RepairAction| match action {
        RepairAction::HardwareInspection => 0,
        RepairAction::RebootSystem => 1,
        _ => 2,
    };
    if let Some((action, description)) = actions.min_by_key(|(action, _)| urgent(action)) {
        state = state.action(action.clone(), description);
    }
    let gpus = || findings.iter().flat_map(|finding| &finding.gpus);
    if let Some(first) = gpus().next()
        && gpus().all(|gpu| gpu == first)
    {
        state.subject = Some(first.subject());
    }
    let readings = findings.iter().flat_map(|finding| {
        let readings = finding.gpus.iter();
        readings.filter_map(|gpu| Some(format!("{} {}", finding.reading?, gpu.uuid)))
    });
    state.evidence = readings.map(Evidence::Nvml).take(MAX_EVIDENCE).collect();
    state
}

/// Puts the component's document under `data`. One that is too large for the host is left out, or the whole report would
/// be refused; that takes some 50 GPUs.
pub fn with_data(state: HealthState, document: &impl Serialize) -> HealthState {
    match serde_json::to_string(document) {
        Ok(text) if text.len() <= MAX_DATA => state.info("data", text),
        Ok(text) => {
            log!(warn, "the document of {} bytes is not shown", text.len());
            state
        }
        Err(error) => {
            log!(warn, "the document cannot be written: {error}");
            state
        }
    }
}

#[cfg(test)]
mod tests;
