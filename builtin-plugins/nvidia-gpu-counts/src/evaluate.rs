//! From what is there to a report.

use gpud_builtin_nvidia_common::{Gpu, GpuAnswer, GpuFinding, GpuReadings, state, text, with_data};
use gpud_sdk::history::StoredEvent;
use gpud_sdk::{AccessError, CheckContext, Event, EventType, HealthState, RepairAction, Report};
use serde::{Deserialize, Serialize};

use crate::config::Config;

/// Name of the events.
pub const EVENT_NAME: &str = "gpu-count-mismatch";
/// How far back mismatches and reboots count: three days.
pub const LOOK_BACK_MS: u64 = 3 * 24 * 60 * 60 * 1000;
/// Boots with a mismatch after which one more reboot is thought useless.
const BOOTS_FOR_INSPECTION: usize = 2;
/// The same numbers in the same boot are one event a day.
const MERGE_SECONDS: u32 = 24 * 60 * 60;
/// The host's name for a GPU that could never be opened, before its index.
const STRANGER: &str = "unknown-gpu-";

/// The last mismatch between found and expected GPUs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastMismatch {
    /// The boot in which it was seen.
    pub boot_id: String,
    /// How many GPUs there were.
    pub found: u64,
    /// How many there should be.
    pub expected: u64,
}

/// Mismatches and reboots that the daemon remembers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MismatchHistory {
    /// Events of the look-back.
    pub mismatches: Vec<StoredEvent>,
    /// Boots of the look-back, unix milliseconds. They matter only where there are mismatches.
    pub reboots: Vec<u64>,
    /// The mismatch that was there at the last check.
    pub known: Option<LastMismatch>,
}

#[derive(Serialize)]
struct Document<'a> {
    product_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    count_lspci: Option<usize>,
    count_nvml: usize,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    missing: &'a [String],
}

/// Is this GPU there? One that hangs or wants a reset is; one that is lost is not, nor one
/// that could not be opened even once for another reason.
fn is_there(asked: &GpuAnswer<()>) -> bool {
    match &asked.answer {
        Ok(()) => true,
        Err(failure) => match failure.error {
            AccessError::SourceLost(_) => false,
            AccessError::NeedsReset(_) | AccessError::TimedOut(_) => true,
            _ => !asked.gpu.uuid.starts_with(STRANGER),
        },
    }
}

/// The report, and the mismatch to remember. Without a past (`scan`) there are no events and no actions.
pub fn evaluate(
    context: &CheckContext,
    config: &Config,
    seen: &GpuReadings<()>,
    on_bus: &Result<Vec<String>, AccessError>,
    past: Option<&MismatchHistory>,
) -> (Report, Option<LastMismatch>) {
    let (there, gone): (Vec<_>, Vec<_>) = seen.gpus.iter().partition(|asked| is_there(asked));
    let gone: Vec<Gpu> = gone.into_iter().map(|asked| asked.gpu.clone()).collect();
    let missing = missing(&seen.gpus, &gone, on_bus.as_deref().unwrap_or_default());
    let document = Document {
        product_name: gpud_builtin_nvidia_common::product::sanitized(&seen.product),
        count_lspci: on_bus.as_ref().ok().map(Vec::len),
        count_nvml: there.len(),
        missing: &missing,
    };
    let with_document = |state| with_data(state, &document);
    let healthy = |reason: String| {
        let state = HealthState::healthy(context, reason);
        (Report::of(with_document(state)), None)
    };
    let Some(expected) = config.count else {
        return healthy("GPU count thresholds not set, skipping".to_owned());
    };
    let found = there.len() as u64;
    if found == expected {
        return healthy(format!("nvidia gpu count matching thresholds ({found})"));
    }
    let reason = format!("nvidia gpu count mismatch (found {found}, expected {expected})");
    let mut finding = GpuFinding::unhealthy(&reason).about(gone.iter().cloned());
    if !missing.is_empty() {
        finding = finding.error(text::join(&missing, "; "));
    }
    if let Some(past) = past {
        finding = finding.action(action(context, past), "");
    }
    let state = with_document(state(context, "", vec![finding]));
    let now = LastMismatch {
        boot_id: context.boot_id.clone(),
        found,
        expected,
    };
    let mut report = Report::of(state.clone());
    if past.is_some_and(|past| past.known.as_ref() != Some(&now)) {
        let key = format!("{} {found} {expected}", context.boot_id);
        let mut event = Event::new(context.now, EVENT_NAME, EventType::Warning, reason)
            .merged_by(key, MERGE_SECONDS);
        event.subject = state.subject;
        report = report.event(event);
    }
    (report, Some(now))
}

/// The missing GPUs, by name: those that NVML lost, and GPUs on the bus that it does not have.
fn missing(known: &[GpuAnswer<()>], gone: &[Gpu], on_bus: &[String]) -> Vec<String> {
    let lost = gone.iter().map(|gpu| {
        let known = !gpu.uuid.starts_with(STRANGER);
        let what = if known { "lost" } else { "cannot be opened" };
        format!("{} {what}", gpu.label())
    });
    let unknown = on_bus.iter().filter(|id| {
        let mut known = known.iter();
        // A GPU that cannot be opened has no PCI id: it may be this one.
        !known.any(|asked| asked.gpu.bus_id.is_empty() || same_device(&asked.gpu.bus_id, id))
    });
    let unknown = unknown.map(|id| format!("{id} is on the PCI bus, but NVML does not have it"));
    lost.chain(unknown).collect()
}

fn same_device(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

/// A reboot, or an inspection when the mismatch was there in two boots that were recorded, this one included: then it
/// came back after a reboot.
fn action(context: &CheckContext, past: &MismatchHistory) -> RepairAction {
    let boot_of = |time: u64| {
        let boots = past.reboots.iter();
        // Boots are known to the second.
        boots.filter(|boot| **boot / 1000 <= time / 1000).max()
    };
    let times = past.mismatches.iter().map(|stored| stored.last_time);
    let mut boots: Vec<u64> = times
        .chain([context.now])
        .filter_map(boot_of)
        .copied()
        .collect();
    boots.sort_unstable();
    boots.dedup();
    if boots.len() >= BOOTS_FOR_INSPECTION {
        RepairAction::HardwareInspection
    } else {
        RepairAction::RebootSystem
    }
}

#[cfg(test)]
mod tests;
