use super::*;
use gpud_builtin_nvidia_common::testing::{
    GPU_0, actions, and, context, data, metrics, only_state, seen,
};
use gpud_sdk::{AccessError, Health, HealthState, RepairAction};

const FULL: Reading = Reading {
    usage: Some(350_000),
    enforced_limit: Some(700_000),
    management_limit: Some(600_000),
    smoothing: None,
};

#[test]
fn power_smoothing() {
    let whole = Smoothing {
        enabled: true,
        privilege_level: Some(2),
        immediate_ramp_down_enabled: Some(0),
        applied_tmp_ceiling: Some(1_200),
        applied_tmp_floor: Some(600),
        max_tmp_floor_percent: Some(90),
        min_tmp_floor_percent: Some(0),
        lifetime_remaining_percent: Some(97),
        active_preset_profile: Some(1),
    };
    let off = Smoothing::default();
    for (smoothing, shown, metrics_found) in [
        (
            whole,
            r#""power_smoothing":{"enabled":true,"privilege_level":2,"immediate_ramp_down_enabled":0,"applied_tmp_ceiling":1200,"applied_tmp_floor":600,"max_tmp_floor_percent":90,"min_tmp_floor_percent":0,"lifetime_remaining_percent":97,"active_preset_profile":1}}]}"#,
            vec![(SMOOTHING, GPU_0, 1.0), (SMOOTHING_LIFE, GPU_0, 97.0)],
        ),
        (
            off,
            r#""power_smoothing":{"enabled":false,"privilege_level":null,"immediate_ramp_down_enabled":null,"applied_tmp_ceiling":null,"applied_tmp_floor":null,"max_tmp_floor_percent":null,"min_tmp_floor_percent":null,"lifetime_remaining_percent":null,"active_preset_profile":null}}]}"#,
            vec![(SMOOTHING, GPU_0, 0.0)],
        ),
    ] {
        let reading = Reading {
            smoothing: Some(smoothing),
            ..FULL
        };
        let report = evaluate(&context(), &seen([reading]));
        assert!(data(&report).ends_with(shown), "{}", data(&report));
        assert_eq!(metrics(&report)[3..], metrics_found);
        assert_eq!(only_state(&report).health, Health::Healthy);
    }
}

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
