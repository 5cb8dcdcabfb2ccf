//! From readings to a report.

use std::collections::BTreeMap;

use gpud_builtin_nvidia_common::{Gpu, GpuReadings, state, trouble, with_data};
use gpud_sdk::{CheckContext, Report};
use serde::Serialize;

/// MHz.
pub const GRAPHICS: &str = "accelerator_nvidia_clock_speed_graphics_mhz";
/// MHz.
pub const MEMORY: &str = "accelerator_nvidia_clock_speed_memory_mhz";
/// Seconds, by reason.
pub const HELD_BACK: &str = "accelerator_nvidia_clock_speed_held_back_seconds";

/// For how long something held the clocks back since the driver was loaded: nanoseconds by reason.
pub type ThrottleTimes = BTreeMap<&'static str, u64>;

/// Clocks of a GPU, MHz; `None` where it cannot tell.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reading {
    /// Graphics clock.
    pub graphics: Option<u32>,
    /// Memory clock.
    pub memory: Option<u32>,
    /// Reasons that the GPU and its driver count.
    pub held_back: ThrottleTimes,
}

#[derive(Serialize)]
struct Document<'a> {
    clock_speeds: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    uuid: &'a str,
    bus_id: &'a str,
    graphics_mhz: u32,
    memory_mhz: u32,
    clock_graphics_supported: bool,
    clock_memory_supported: bool,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    held_back_nanoseconds: &'a ThrottleTimes,
}

fn row<'a>((gpu, reading): (&'a Gpu, &'a Reading)) -> Row<'a> {
    Row {
        uuid: &gpu.uuid,
        bus_id: &gpu.bus_id,
        graphics_mhz: reading.graphics.unwrap_or(0),
        memory_mhz: reading.memory.unwrap_or(0),
        clock_graphics_supported: reading.graphics.is_some(),
        clock_memory_supported: reading.memory.is_some(),
        held_back_nanoseconds: &reading.held_back,
    }
}

/// The report. No speed is wrong by itself; `accelerator-nvidia-hw-slowdown` says when hardware slows a GPU down.
pub fn evaluate(context: &CheckContext, seen: &GpuReadings<Reading>) -> Report {
    let healthy = format!(
        "all {} GPU(s) were checked, no clock speed issue found",
        seen.gpus.len()
    );
    let findings = trouble::findings(&seen.gpus, "error getting clock speed");
    let mut state = state(context, healthy, findings);
    let clock_speeds: Vec<_> = seen.answered().map(row).collect();
    if !clock_speeds.is_empty() {
        state = with_data(state, &Document { clock_speeds });
    }
    let mut report = Report::of(state);
    for (gpu, reading) in seen.answered() {
        let labels = [("uuid", gpu.uuid.as_str())];
        let graphics = reading.graphics.unwrap_or(0).into();
        let memory = reading.memory.unwrap_or(0).into();
        report = report
            .gauge_with(GRAPHICS, &labels, graphics)
            .gauge_with(MEMORY, &labels, memory);
        for (reason, nanoseconds) in &reading.held_back {
            let labels = [("uuid", gpu.uuid.as_str()), ("reason", reason)];
            #[expect(clippy::cast_precision_loss, reason = "seconds need fewer digits")]
            let seconds = *nanoseconds as f64 / 1e9;
            report.add_gauge(HELD_BACK, &labels, seconds);
        }
    }
    report
}

#[cfg(test)]
mod tests;
