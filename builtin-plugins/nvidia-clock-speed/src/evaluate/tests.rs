use super::*;
use gpud_builtin_nvidia_common::testing::{
    GPU_0, GPU_1, and, context, data, metrics, only_state, seen,
};
use gpud_sdk::{AccessError, Health};

const FULL: Reading = Reading {
    graphics: Some(1980),
    memory: Some(2619),
    held_back: ThrottleTimes::new(),
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
