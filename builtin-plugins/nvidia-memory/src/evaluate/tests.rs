use super::*;
use gpud_builtin_nvidia_common::testing::{GPU_0, and, context, data, metrics, only_state, seen};
use gpud_sdk::{AccessError, Health, HealthState};

const FULL: Reading = Reading {
    total: 85_899_345_920,
    reserved: 1_073_741_824,
    used: 4_294_967_296,
    free: 80_530_636_800,
    is_unified: false,
};

#[test]
fn readings_are_shown() {
    let report = evaluate(&context(), &seen([Some(FULL)]));
    let state = only_state(&report);
    assert_eq!(
        (&state.health, state.reason.as_str()),
        (
            &Health::Healthy,
            "all 1 GPU(s) were checked, no memory issue found"
        )
    );
    assert_eq!(
        data(&report),
        format!(
            r#"{{"memories":[{{"uuid":"{GPU_0}","bus_id":"0000:0f:00.0","total_bytes":85899345920,"total_humanized":"80 GiB","reserved_bytes":1073741824,"reserved_humanized":"1.0 GiB","used_bytes":4294967296,"used_humanized":"4.0 GiB","free_bytes":80530636800,"free_humanized":"75 GiB","used_percent":"5.00","supported":true,"is_unified_memory":false}}]}}"#
        )
    );
    assert_eq!(
        metrics(&report),
        [
            (TOTAL, GPU_0, 85_899_345_920.0),
            (RESERVED, GPU_0, 1_073_741_824.0),
            (USED, GPU_0, 4_294_967_296.0),
            (FREE, GPU_0, 80_530_636_800.0),
            (USED_PERCENT, GPU_0, 5.0)
        ]
    );
}

#[test]
fn nothing_in_all() {
    let report = evaluate(&context(), &seen([Some(Reading::default())]));
    assert!(data(&report).contains(r#""used_bytes":0,"used_humanized":"0 B""#));
    assert!(data(&report).contains(r#""used_percent":"0.0""#));
}

#[test]
fn gpus_without_memory_are_left_out() {
    let none = evaluate(&context(), &seen([None, None]));
    let healthy = HealthState::healthy(&context(), "no memory data found");
    assert_eq!(none, Report::of(healthy));
    let unified = Reading {
        is_unified: true,
        ..FULL
    };
    let one = evaluate(&context(), &seen([None, Some(unified)]));
    assert_eq!(
        only_state(&one).reason,
        "all 2 GPU(s) were checked, no memory issue found"
    );
    assert!(data(&one).contains(r#""is_unified_memory":true"#));
    assert_eq!(metrics(&one).len(), 5);
}

#[test]
fn what_cannot_be_read_is_said() {
    for (error, health, reason) in [
        (
            AccessError::Other("nvmlDeviceGetMemoryInfo_v2 of GPU 1: Unknown Error".into()),
            Health::Unhealthy,
            "error getting memory",
        ),
        (
            AccessError::Denied("x".into()),
            Health::Degraded,
            "error getting memory",
        ),
        (
            AccessError::SourceLost("x".into()),
            Health::Unhealthy,
            "GPU lost",
        ),
        (
            AccessError::NeedsReset("x".into()),
            Health::Unhealthy,
            "GPU requires reset",
        ),
    ] {
        let report = evaluate(&context(), &and(seen([Some(FULL)]), error));
        let state = only_state(&report);
        assert_eq!((&state.health, state.reason.as_str()), (&health, reason));
        assert_eq!(metrics(&report).len(), 5);
    }
}
