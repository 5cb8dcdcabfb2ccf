//! From readings to a report.

use gpud_builtin_nvidia_common::{Gpu, GpuReadings, state, trouble, with_data};
use gpud_sdk::{CheckContext, Report};
use serde::Serialize;

/// Percent.
pub const GPU: &str = "accelerator_nvidia_utilization_gpu_util_percent";
/// Percent.
pub const MEMORY: &str = "accelerator_nvidia_utilization_memory_util_percent";

/// Percent of the driver's last sample period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reading {
    /// A kernel was running.
    pub gpu: u32,
    /// Memory was read or written.
    pub memory: u32,
}

#[derive(Serialize)]
struct Document<'a> {
    utilizations: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    uuid: &'a str,
    bus_id: &'a str,
    gpu_used_percent: u32,
    memory_used_percent: u32,
    supported: bool,
}

fn row<'a>((gpu, reading): (&'a Gpu, &Option<Reading>)) -> Row<'a> {
    let used = reading.unwrap_or_default();
    Row {
        uuid: &gpu.uuid,
        bus_id: &gpu.bus_id,
        gpu_used_percent: used.gpu,
        memory_used_percent: used.memory,
        supported: reading.is_some(),
    }
}

/// The report; `None` is a GPU that cannot tell, as in MIG mode. No utilization is wrong by itself.
pub fn evaluate(context: &CheckContext, seen: &GpuReadings<Option<Reading>>) -> Report {
    let healthy = format!(
        "all {} GPU(s) were checked, no utilization issue found",
        seen.gpus.len()
    );
    let findings = trouble::findings(&seen.gpus, "error getting utilization");
    let mut state = state(context, healthy, findings);
    let utilizations: Vec<_> = seen.answered().map(row).collect();
    if !utilizations.is_empty() {
        state = with_data(state, &Document { utilizations });
    }
    let mut report = Report::of(state);
    for (gpu, reading) in seen.answered() {
        let labels = [("uuid", gpu.uuid.as_str())];
        let used = reading.unwrap_or_default();
        report = report.gauge_with(GPU, &labels, used.gpu.into()).gauge_with(
            MEMORY,
            &labels,
            used.memory.into(),
        );
    }
    report
}

#[cfg(test)]
mod tests;
