//! From readings to a report.

use gpud_builtin_nvidia_common::text::{bytes, percent, percent_rounded, percent_text};
use gpud_builtin_nvidia_common::{Gpu, GpuReadings, state, trouble, with_data};
use gpud_sdk::{CheckContext, Report};
use serde::Serialize;

/// Bytes.
pub const TOTAL: &str = "accelerator_nvidia_memory_total_bytes";
/// Bytes.
pub const RESERVED: &str = "accelerator_nvidia_memory_reserved_bytes";
/// Bytes.
pub const USED: &str = "accelerator_nvidia_memory_used_bytes";
/// Bytes.
pub const FREE: &str = "accelerator_nvidia_memory_free_bytes";
/// Percent of all.
pub const USED_PERCENT: &str = "accelerator_nvidia_memory_used_percent";

/// Memory of a GPU, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reading {
    /// All.
    pub total: u64,
    /// Kept by the driver.
    pub reserved: u64,
    /// In use.
    pub used: u64,
    /// Free.
    pub free: u64,
    /// It is the memory of the host.
    pub is_unified: bool,
}

impl Reading {
    fn percent(&self) -> Option<f64> {
        percent(self.used as f64, self.total as f64)
    }
}

#[derive(Serialize)]
struct Document<'a> {
    memories: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    uuid: &'a str,
    bus_id: &'a str,
    total_bytes: u64,
    total_humanized: String,
    reserved_bytes: u64,
    reserved_humanized: String,
    used_bytes: u64,
    used_humanized: String,
    free_bytes: u64,
    free_humanized: String,
    used_percent: String,
    supported: bool,
    is_unified_memory: bool,
}

fn row<'a>(gpu: &'a Gpu, reading: &Reading) -> Row<'a> {
    Row {
        uuid: &gpu.uuid,
        bus_id: &gpu.bus_id,
        total_bytes: reading.total,
        total_humanized: bytes(reading.total),
        reserved_bytes: reading.reserved,
        reserved_humanized: bytes(reading.reserved),
        used_bytes: reading.used,
        used_humanized: bytes(reading.used),
        free_bytes: reading.free,
        free_humanized: bytes(reading.free),
        used_percent: percent_text(reading.percent()),
        supported: true,
        is_unified_memory: reading.is_unified,
    }
}

/// The report. A GPU without memory to tell of (`None`) is left out. No amount in use is wrong by itself.
pub fn evaluate(context: &CheckContext, seen: &GpuReadings<Option<Reading>>) -> Report {
    let known = || {
        let answered = seen.answered();
        answered.filter_map(|(gpu, reading)| Some((gpu, reading.as_ref()?)))
    };
    let memories: Vec<_> = known().map(|(gpu, reading)| row(gpu, reading)).collect();
    let healthy = match memories.is_empty() {
        true => "no memory data found".to_owned(),
        false => format!(
            "all {} GPU(s) were checked, no memory issue found",
            seen.gpus.len()
        ),
    };
    let findings = trouble::findings(&seen.gpus, "error getting memory");
    let mut state = state(context, healthy, findings);
    if !memories.is_empty() {
        state = with_data(state, &Document { memories });
    }
    let mut report = Report::of(state);
    for (gpu, reading) in known() {
        let labels = [("uuid", gpu.uuid.as_str())];
        for (name, value) in [
            (TOTAL, reading.total as f64),
            (RESERVED, reading.reserved as f64),
            (USED, reading.used as f64),
            (FREE, reading.free as f64),
            (USED_PERCENT, percent_rounded(reading.percent())),
        ] {
            report.add_gauge(name, &labels, value);
        }
    }
    report
}

#[cfg(test)]
mod tests;
