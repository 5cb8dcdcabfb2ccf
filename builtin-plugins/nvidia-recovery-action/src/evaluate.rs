//! From what the driver wants to a report.

use std::collections::BTreeMap;

use gpud_builtin_nvidia_common::{
    Gpu, GpuAnswer, GpuFinding, GpuReadings, state, trouble, with_data,
};
use gpud_sdk::boots::is_of_this_boot;
use gpud_sdk::history::StoredEvent;
use gpud_sdk::incidents::device;
use gpud_sdk::{CheckContext, Evidence, Health, HealthState, Recovery, RepairAction, Report};
use serde::Serialize;

use crate::action::Action;
use crate::kmsg::wanted;

/// NVML's number.
pub const ACTION: &str = "accelerator_nvidia_recovery_action";

#[derive(Serialize)]
struct Document<'a> {
    recovery_actions: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    uuid: &'a str,
    bus_id: &'a str,
    recovery_action: String,
    source: &'static str,
    supported: bool,
}

/// The action that a GPU needs, and the line that says so.
struct NeededAction<'a> {
    gpu: Gpu,
    action: Action,
    line: Option<&'a StoredEvent>,
}

/// The newest word of the kernel log in this boot about each device; `events` are newest first.
fn said<'a>(
    context: &CheckContext,
    events: &'a [StoredEvent],
) -> BTreeMap<&'a str, (Action, &'a StoredEvent)> {
    let mut said = BTreeMap::new();
    for stored in events {
        let event = &stored.event;
        if !is_of_this_boot(context, event) {
            continue;
        }
        if let Some(action) = wanted(event) {
            let newest = said.entry(device(event)).or_insert((action, stored));
            if stored.last_time > newest.1.last_time {
                *newest = (action, stored);
            }
        }
    }
    said
}

fn slot(gpu: &Gpu) -> &str {
    gpu.bus_id.split('.').next().unwrap_or("")
}

/// The report of a machine with a driver. `None` is a GPU or driver that cannot tell.
pub fn evaluate(
    context: &CheckContext,
    seen: &GpuReadings<Option<u32>>,
    events: &[StoredEvent],
) -> Report {
    let mut said = said(context, events);
    let mut rows = Vec::new();
    let mut needs = Vec::new();
    let mut answers = Vec::new();
    for GpuAnswer { gpu, answer } in &seen.gpus {
        let line = said.remove(slot(gpu));
        let (action, source, line) = match (answer, line) {
            (Ok(Some(number)), _) => (Some(Action::of(*number)), "nvml", None),
            (Ok(None) | Err(_), Some((action, line))) => (Some(action), "kernel log", Some(line)),
            (Ok(None), None) => (None, "", None),
            (Err(_), None) => continue,
        };
        rows.push(Row {
            uuid: &gpu.uuid,
            bus_id: &gpu.bus_id,
            recovery_action: action.map_or("Not Supported".to_owned(), Action::name),
            source,
            supported: action.is_some(),
        });
        if let Some(action) = action {
            answers.push((gpu, action));
            needs.push(NeededAction {
                gpu: gpu.clone(),
                action,
                line,
            });
        }
    }
    // GPUs that NVML has lost sight of.
    needs.extend(unseen(&said));
    let mut findings = trouble::findings(&seen.gpus, "error getting recovery action");
    findings.extend(needs.iter().filter_map(finding));
    let healthy = match answers.is_empty() {
        true => "recovery action not supported".to_owned(),
        false => format!(
            "all {} GPU(s) were checked, no recovery action needed",
            seen.gpus.len()
        ),
    };
    let mut state = state(context, healthy, findings);
    state = with_lines(state, &needs);
    if !rows.is_empty() {
        state = with_data(
            state,
            &Document {
                recovery_actions: rows,
            },
        );
    }
    let mut report = Report::of(state);
    for (gpu, action) in answers {
        report.add_gauge(
            ACTION,
            &[("uuid", gpu.uuid.as_str())],
            action.number().into(),
        );
    }
    report
}

/// The report of a machine whose NVML is not there or does not work: what the kernel log says still counts.
pub fn without_nvml(context: &CheckContext, closed: Report, events: &[StoredEvent]) -> Report {
    let needs: Vec<NeededAction<'_>> = unseen(&said(context, events)).collect();
    let findings: Vec<GpuFinding> = needs.iter().filter_map(finding).collect();
    if findings.is_empty() {
        return closed;
    }
    let mut found = with_lines(state(context, "", findings), &needs);
    let failed = closed
        .states
        .first()
        .filter(|state| state.health == Health::Unhealthy);
    if let Some(failed) = failed {
        found.health = Health::Unhealthy;
        found.reason = format!("{}; {}", failed.reason, found.reason);
        if found.suggested_actions.is_none() {
            found = found.action(RepairAction::RebootSystem, "");
        }
    }
    Report::of(found)
}

fn unseen<'a>(
    said: &BTreeMap<&'a str, (Action, &'a StoredEvent)>,
) -> impl Iterator<Item = NeededAction<'a>> {
    said.iter().map(|(device, (action, line))| NeededAction {
        gpu: Gpu {
            bus_id: format!("{device}.0"),
            ..Gpu::default()
        },
        action: *action,
        line: Some(*line),
    })
}

fn finding(need: &NeededAction<'_>) -> Option<GpuFinding> {
    let name = match need.gpu.uuid.as_str() {
        "" => need.gpu.bus_id.clone(),
        _ => need.gpu.label(),
    };
    let reason = format!("GPU {name} {}", need.action.reason());
    let mut finding = match need.action.health() {
        Health::Healthy => return None,
        Health::Degraded => GpuFinding::degraded(reason),
        _ => GpuFinding::unhealthy(reason),
    };
    if let Some((action, advice)) = need.action.repair() {
        finding = finding.action(action, advice);
    }
    if need.line.is_none() {
        finding = finding.read_from("NVML_FI_DEV_GET_GPU_RECOVERY_ACTION");
    }
    Some(finding.about([need.gpu.clone()]))
}

/// Adds the lines that count, and that what they say clears otherwise than a reading.
fn with_lines(mut state: HealthState, needs: &[NeededAction<'_>]) -> HealthState {
    let open = needs.iter().filter(|need| need.action != Action::None);
    let lines: Vec<&StoredEvent> = open.filter_map(|need| need.line).collect();
    if lines.is_empty() {
        return state;
    }
    let evidence = lines.iter().flat_map(|stored| &stored.event.evidence);
    let evidence = evidence.filter(|evidence| matches!(evidence, Evidence::Kmsg(_)));
    state.evidence.extend(evidence.cloned());
    state.evidence.truncate(64);
    state
        .clears_by(Recovery::Reboot)
        .clears_by(Recovery::SetHealthy)
}

#[cfg(test)]
mod tests;
