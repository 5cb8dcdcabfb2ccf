use super::*;
use gpud_builtin_nvidia_common::testing::{
    GPU_0, actions, and, context, data, metrics, only_state, seen,
};
use gpud_sdk::{AccessError, Health, HealthState, RepairAction};

const FULL: Reading = Reading {
    usage: Some(350_000),
    enforced_limit: Some(700_000),
    management_limit: Some(600_000),
};

#[test]
fn readings_are_shown() {
    for (reading, shown, used_percent) in [
        (
            FULL,
            r#""usage_milli_watts":350000,"enforced_limit_milli_watts":700000,"management_limit_milli_watts":600000,"used_percent":"50.00","get_power_usage_supported":true,"get_power_limit_supported":true,"get_power_management_limit_supported":true"#,
            50.0,
        ),
        (
            Reading {
                enforced_limit: None,
                ..FULL
            },
            r#""usage_milli_watts":350000,"enforced_limit_milli_watts":0,"management_limit_milli_watts":600000,"used_percent":"58.33","get_power_usage_supported":true,"get_power_limit_supported":false,"get_power_management_limit_supported":true"#,
            58.33,
        ),
        (
            Reading {
                enforced_limit: Some(0),
                ..FULL
            },
            r#""usage_milli_watts":350000,"enforced_limit_milli_watts":0,"management_limit_milli_watts":600000,"used_percent":"58.33","get_power_usage_supported":true,"get_power_limit_supported":true,"get_power_management_limit_supported":true"#,
            58.33,
        ),
        (
            Reading::default(),
            r#""usage_milli_watts":0,"enforced_limit_milli_watts":0,"management_limit_milli_watts":0,"used_percent":"0.0","get_power_usage_supported":false,"get_power_limit_supported":false,"get_power_management_limit_supported":false"#,
            0.0,
        ),
    ] {
        let report = evaluate(&context(), &seen([reading]));
        assert_eq!(
            data(&report),
            format!(r#"{{"powers":[{{"uuid":"{GPU_0}","bus_id":"0000:0f:00.0",{shown}}}]}}"#)
        );
        assert_eq!(
            metrics(&report),
            [
                (USAGE, GPU_0, reading.usage.unwrap_or(0).into()),
                (ENFORCED, GPU_0, reading.enforced_limit.unwrap_or(0).into()),
                (USED_PERCENT, GPU_0, used_percent),
            ]
        );
        assert_eq!(only_state(&report).health, Health::Healthy);
    }
}

#[test]
fn counts_the_gpus() {
    let report = evaluate(&context(), &seen([FULL; 8]));
    let reason = "all 8 GPU(s) were checked, no power issue found";
    assert_eq!(only_state(&report).reason, reason);
    let none = evaluate(&context(), &seen([]));
    let reason = "all 0 GPU(s) were checked, no power issue found";
    assert_eq!(none, Report::of(HealthState::healthy(&context(), reason)));
}

#[test]
fn one_that_is_lost_hides_no_other() {
    let lost = AccessError::SourceLost("nvmlDeviceGetPowerUsage of GPU 1".into());
    let report = evaluate(&context(), &and(seen([FULL]), lost));
    assert_eq!(only_state(&report).reason, "GPU lost");
    assert_eq!(
        actions(&report),
        ("GPU lost", [RepairAction::RebootSystem].as_slice())
    );
    assert_eq!(metrics(&report).len(), 3);
    assert!(data(&report).contains(GPU_0));
    let failed = AccessError::Other("nvmlDeviceGetPowerUsage of GPU 1: Unknown Error".into());
    let report = evaluate(&context(), &and(seen([FULL]), failed));
    assert_eq!(only_state(&report).reason, "error getting power");
    assert_eq!(actions(&report), ("", [].as_slice()));
}
