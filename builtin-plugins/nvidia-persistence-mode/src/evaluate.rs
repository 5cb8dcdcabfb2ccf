//! From readings to a report.

use std::collections::BTreeSet;

use gpud_builtin_nvidia_common::{Gpu, GpuFinding, GpuReadings, state, text, trouble, with_data};
use gpud_sdk::{CheckContext, Event, EventType, Evidence, Report};
use serde::Serialize;

/// Name of the events.
pub const EVENT: &str = "persistence_mode_disabled";
/// The reading behind everything.
const READING: &str = "nvmlDeviceGetPersistenceMode";
/// Seconds within which a GPU's events are one. They are only written when something changes.
const WINDOW: u32 = 3_600;

#[derive(Serialize)]
struct Document<'a> {
    persistence_modes: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    uuid: &'a str,
    bus_id: &'a str,
    enabled: bool,
    supported: bool,
}

/// The report, and the UUIDs of the GPUs that have it off, to be given as `before` next time. An answer is `None` where
/// the GPU has no such mode.
pub fn evaluate(
    context: &CheckContext,
    seen: &GpuReadings<Option<bool>>,
    before: &BTreeSet<String>,
) -> (Report, BTreeSet<String>) {
    let answered = seen.answered().count();
    let healthy = format!(
        "all {} GPU(s) were checked, no persistence mode issue found",
        seen.gpus.len()
    );
    let off: Vec<&Gpu> = seen
        .answered()
        .filter_map(|(gpu, enabled)| (*enabled == Some(false)).then_some(gpu))
        .collect();
    let mut findings = Vec::new();
    if !off.is_empty() {
        let reason = match off.len() == answered {
            true => format!("all {answered} GPU(s) disabled persistence mode"),
            false => {
                let items = off
                    .iter()
                    .map(|gpu| format!("{} persistence mode supported but not enabled", gpu.uuid));
                text::join(items, ", ")
            }
        };
        let finding = GpuFinding::unhealthy(reason).about(off.iter().copied().cloned());
        findings.push(finding.read_from(READING));
    }
    findings.extend(trouble::findings(
        &seen.gpus,
        "error getting persistence mode",
    ));
    let mut state = state(context, healthy, findings);
    let persistence_modes: Vec<_> = seen
        .answered()
        .map(|(gpu, enabled)| Row {
            uuid: &gpu.uuid,
            bus_id: &gpu.bus_id,
            enabled: enabled.unwrap_or(false),
            supported: enabled.is_some(),
        })
        .collect();
    if !persistence_modes.is_empty() {
        state = with_data(state, &Document { persistence_modes });
    }
    let mut report = Report::of(state);
    let news = off.iter().filter(|gpu| !before.contains(&gpu.uuid));
    report.events = news.map(|gpu| event(context, gpu)).collect();
    // One that did not answer is as it was.
    let silent = seen.gpus.iter().filter(|asked| asked.answer.is_err());
    let silent = silent.filter(|asked| before.contains(&asked.gpu.uuid));
    let now = silent.map(|asked| asked.gpu.uuid.clone());
    let now = now.chain(off.iter().map(|gpu| gpu.uuid.clone()));
    (report, now.collect())
}

fn event(context: &CheckContext, gpu: &Gpu) -> Event {
    let message = format!(
        "GPU {} ({}) persistence mode is supported but not enabled",
        gpu.uuid, gpu.bus_id
    );
    let mut event = Event::new(context.now, EVENT, EventType::Warning, message)
        .merged_by(gpu.uuid.clone(), WINDOW);
    event.subject = Some(gpu.subject());
    event.evidence = vec![Evidence::Nvml(format!("{READING} {}", gpu.uuid))];
    event.extra_info = vec![
        ("device_uuid".to_owned(), gpu.uuid.clone()),
        ("device_bus_id".to_owned(), gpu.bus_id.clone()),
    ];
    event
}

#[cfg(test)]
mod tests;
