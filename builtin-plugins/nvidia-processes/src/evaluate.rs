//! From processes to a report.

use std::collections::BTreeMap;

use gpud_builtin_nvidia_common::{Gpu, GpuReadings, state, text, trouble};
use gpud_sdk::{AccessError, CheckContext, Health, HealthState, Report};
use serde::Serialize;

use crate::process::Facts;

/// How many.
pub const RUNNING: &str = "accelerator_nvidia_processes_running_total";
/// Checks in a row that must fail before it is bad. Processes come and go while they are looked at.
pub const FAILURES: u32 = 5;
/// Largest document under `data`, bytes: the host's bound with some room.
const MAX_DATA: usize = 60 << 10;
/// From the whole document to the shortest one: most processes of a GPU, arguments of each, and bytes of each text.
const DETAIL: [(usize, usize, usize); 6] = [
    (usize::MAX, usize::MAX, usize::MAX),
    (usize::MAX, 32, 256),
    (256, 4, 128),
    (64, 0, 64),
    (16, 0, 0),
    (0, 0, 0),
];

/// One process on one GPU.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// Bytes; `None` where the driver cannot tell.
    pub used_memory: Option<u64>,
    /// Of the GPU's SM time in the newest sample; 0 if it had none lately.
    pub used_percent: u32,
    /// What the kernel says.
    pub facts: Facts,
}

/// The readings of one GPU.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reading {
    /// Its processes; `None` where it cannot tell.
    pub processes: Option<Vec<Process>>,
    /// Can it tell what they use?
    pub knows_use: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    processes: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    uuid: &'a str,
    bus_id: &'a str,
    running_processes: Option<Vec<ProcessRow<'a>>>,
    get_compute_running_processes_supported: bool,
    get_process_utilization_supported: bool,
}

#[derive(Serialize)]
struct ProcessRow<'a> {
    pid: u32,
    status: Vec<&'static str>,
    zombie_status: bool,
    bad_env_vars_for_cuda: BTreeMap<&'static str, &'a str>,
    cmd_args: Vec<&'a str>,
    create_time: u64,
    gpu_used_percent: u32,
    gpu_used_memory_bytes: Option<u64>,
    gpu_used_memory_bytes_humanized: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    container_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pod_uid: Option<&'a str>,
}

fn clip(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}

fn process(of: &Process, arguments: usize, bytes: usize) -> ProcessRow<'_> {
    let shown = of.facts.arguments.iter().take(arguments);
    let variables = of.facts.bad_variables.iter();
    ProcessRow {
        pid: of.pid,
        status: [of.facts.status]
            .into_iter()
            .filter(|status| !status.is_empty())
            .collect(),
        zombie_status: of.facts.zombie,
        bad_env_vars_for_cuda: variables
            .map(|(name, value)| (*name, clip(value, bytes)))
            .collect(),
        cmd_args: shown.map(|argument| clip(argument, bytes)).collect(),
        create_time: of.facts.created,
        gpu_used_percent: of.used_percent,
        gpu_used_memory_bytes: of.used_memory,
        gpu_used_memory_bytes_humanized: of.used_memory.map_or("unknown".to_owned(), text::bytes),
        container_id: of.facts.home.container.as_deref(),
        pod_uid: of.facts.home.pod.as_deref(),
    }
}

/// Bytes that a document has at least. A call has only so much memory to write those that are too long.
fn least(read: &[(&Gpu, &Reading)], most: usize, arguments: usize, bytes: usize) -> usize {
    let processes = read.iter().flat_map(|(_, reading)| {
        let processes = reading.processes.as_deref().unwrap_or_default();
        processes.iter().take(most)
    });
    let texts = processes.flat_map(|process| process.facts.arguments.iter().take(arguments));
    texts.map(|text| text.len().min(bytes)).sum()
}

/// The document, as whole as it may be.
fn document(read: &[(&Gpu, &Reading)]) -> Option<String> {
    DETAIL.iter().find_map(|(most, arguments, bytes)| {
        if least(read, *most, *arguments, *bytes) > MAX_DATA {
            return None;
        }
        let rows = read.iter().map(|(gpu, reading)| {
            let processes = reading.processes.as_deref().unwrap_or_default();
            let rows = processes.iter().take(*most);
            let rows: Vec<_> = rows.map(|of| process(of, *arguments, *bytes)).collect();
            Row {
                uuid: &gpu.uuid,
                bus_id: &gpu.bus_id,
                running_processes: (!rows.is_empty()).then_some(rows),
                get_compute_running_processes_supported: reading.processes.is_some(),
                get_process_utilization_supported: reading.knows_use,
            }
        });
        let document = Document {
            processes: rows.collect(),
        };
        let text = serde_json::to_string(&document).ok()?;
        (text.len() <= MAX_DATA).then_some(text)
    })
}

/// The report, and how many checks in a row have now failed; `before` is how many had.
pub fn evaluate(context: &CheckContext, seen: &GpuReadings<Reading>, before: u32) -> (Report, u32) {
    let (mut state, failures) = judge(context, seen, before);
    let read: Vec<_> = seen.answered().collect();
    if let Some(document) = document(&read).filter(|_| !read.is_empty()) {
        state = state.info("data", document);
    }
    let mut report = Report::of(state);
    for (gpu, reading) in read {
        let running = reading.processes.as_ref().map_or(0, Vec::len);
        report.add_gauge(RUNNING, &[("uuid", gpu.uuid.as_str())], running as f64);
    }
    (report, failures)
}

fn judge(context: &CheckContext, seen: &GpuReadings<Reading>, before: u32) -> (HealthState, u32) {
    const GETTING: &str = "error getting processes";
    let findings = trouble::findings(&seen.gpus, GETTING);
    let mut failed = seen
        .gpus
        .iter()
        .filter_map(|asked| asked.answer.as_ref().err());
    if findings.is_empty() || failed.any(|failure| is_of_the_gpu(&failure.error)) {
        let healthy = format!(
            "all {} GPU(s) were checked, no process issue found",
            seen.gpus.len()
        );
        return (state(context, healthy, findings), 0);
    }
    let failures = before.saturating_add(1).min(FAILURES);
    let mut state = state(context, "", findings);
    if failures < FAILURES {
        let reason = format!("{GETTING} (detected {failures}/{FAILURES} consecutive checks)");
        let healthy = HealthState::healthy(context, reason);
        state = HealthState {
            error: state.error,
            subject: state.subject,
            ..healthy
        };
    } else {
        let reason = format!("{GETTING} (failed continuously for {FAILURES} checks)");
        state.health = Health::Unhealthy;
        state.reason = reason;
    }
    (state, failures)
}

/// True for trouble that does not pass by itself, unlike a process that is gone while it is looked at.
fn is_of_the_gpu(error: &AccessError) -> bool {
    matches!(
        error,
        AccessError::SourceLost(_) | AccessError::NeedsReset(_) | AccessError::TimedOut(_)
    )
}

#[cfg(test)]
mod tests;
