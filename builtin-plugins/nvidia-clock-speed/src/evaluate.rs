//! From readings to a report.

use std::collections::BTreeMap;

use gpud_builtin_nvidia_common::{Gpu, SeenNow, state, trouble, with_data};
use gpud_sdk::{CheckContext, Report};
use serde::Serialize;

/// MHz.
pub const GRAPHICS: &str = "accelerator_nvidia_clock_speed_graphics_mhz";
/// MHz.
pub const MEMORY: &str = "accelerator_nvidia_clock_speed_memory_mhz";
/// Seconds, by reason.
pub const HELD_BACK: &str = "accelerator_nvidia_clock_speed_held_back_seconds";

/// For how long something held the clocks back since the driver was loaded: nanoseconds by reason.
pub type HeldBack = BTreeMap<&'static str, u64>;

/// Clocks of a GPU, MHz; `None` where it cannot tell.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reading {
    /// Graphics clock.
    pub graphics: Option<u32>,
    /// Memory clock.
    pub memory: Option<u32>,
    /// Reasons that the GPU and its driver count.
    pub held_back: HeldBack,
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
    held_back_nanoseconds: &'a HeldBack,
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
pub fn evaluate(context: &CheckContext, seen: &SeenNow<Reading>) -> Report {
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
mod tests {
    use super::*;
    use gpud_builtin_nvidia_common::testing::{
        GPU_0, GPU_1, and, context, data, metrics, only_state, seen,
    };
    use gpud_sdk::{AccessError, Health};

    const FULL: Reading = Reading {
        graphics: Some(1980),
        memory: Some(2619),
        held_back: HeldBack::new(),
    };

    #[test]
    fn readings_are_shown() {
        let report = evaluate(&context(), &seen([FULL, Reading::default()]));
        let state = only_state(&report);
        assert_eq!(state.health, Health::Healthy);
        assert_eq!(
            state.reason,
            "all 2 GPU(s) were checked, no clock speed issue found"
        );
        assert_eq!(
            data(&report),
            format!(
                r#"{{"clock_speeds":[{{"uuid":"{GPU_0}","bus_id":"0000:0f:00.0","graphics_mhz":1980,"memory_mhz":2619,"clock_graphics_supported":true,"clock_memory_supported":true}},{{"uuid":"{GPU_1}","bus_id":"0000:1f:00.0","graphics_mhz":0,"memory_mhz":0,"clock_graphics_supported":false,"clock_memory_supported":false}}]}}"#
            )
        );
        assert_eq!(
            metrics(&report),
            [
                (GRAPHICS, GPU_0, 1980.0),
                (MEMORY, GPU_0, 2619.0),
                (GRAPHICS, GPU_1, 0.0),
                (MEMORY, GPU_1, 0.0)
            ]
        );
    }

    #[test]
    fn what_held_the_clocks_back() {
        let reading = Reading {
            held_back: [("sw_power_cap", 2_500_000_000), ("hw_thermal_slowdown", 0)].into(),
            ..FULL
        };
        let report = evaluate(&context(), &seen([reading]));
        assert_eq!(only_state(&report).health, Health::Healthy);
        assert!(data(&report).contains(
            r#""clock_memory_supported":true,"held_back_nanoseconds":{"hw_thermal_slowdown":0,"sw_power_cap":2500000000}}"#
        ));
        let found: Vec<_> = report.metrics[2..]
            .iter()
            .map(|metric| {
                (
                    metric.name.as_str(),
                    metric.labels[1].1.as_str(),
                    metric.value,
                )
            })
            .collect();
        assert_eq!(
            found,
            [
                (HELD_BACK, "hw_thermal_slowdown", 0.0),
                (HELD_BACK, "sw_power_cap", 2.5)
            ]
        );
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let other = || AccessError::Other("nvmlDeviceGetClockInfo of GPU 1: Unknown Error".into());
        for (error, reason) in [
            (other(), "error getting clock speed"),
            (AccessError::SourceLost("x".into()), "GPU lost"),
            (AccessError::NeedsReset("x".into()), "GPU requires reset"),
        ] {
            let report = evaluate(&context(), &and(seen([FULL]), error));
            let state = only_state(&report);
            assert_eq!(
                (&state.health, state.reason.as_str()),
                (&Health::Unhealthy, reason)
            );
            assert_eq!(metrics(&report).len(), 2);
        }
        let nothing = evaluate(&context(), &and(seen([]), other()));
        assert_eq!(data(&nothing), "");
    }
}
