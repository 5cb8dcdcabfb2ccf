use super::*;
use gpud_builtin_nvidia_common::testing::{
    GPU_0, GPU_1, actions, and, context, data, gpu, metrics, only_state, seen,
};
use gpud_sdk::{AccessError, Health, RepairAction};

fn h100() -> Reading {
    Reading {
        core: Some(40),
        core_error: None,
        memory: Some(50),
        margin: Some(45),
        shutdown: Some(92),
        slowdown: Some(89),
        memory_max: Some(95),
        gpu_max: Some(87),
    }
}

fn judge(reading: Reading, configured: u64) -> (Health, String) {
    let report = evaluate(&context(), &seen([reading]), configured);
    let state = only_state(&report);
    (state.health.clone(), state.reason.clone())
}

fn well() -> (Health, String) {
    let reason = "all 1 GPU(s) were checked, no temperature issue found";
    (Health::Healthy, reason.to_owned())
}

#[test]
fn rows_and_metrics() {
    let report = evaluate(&context(), &seen([h100()]), 0);
    assert_eq!(
        data(&report),
        format!(
            r#"{{"temperatures":[{{"uuid":"{GPU_0}","bus_id":"0000:0f:00.0","current_celsius_gpu_core":40,"current_celsius_hbm":50,"hbm_temperature_supported":true,"threshold_celsius_slowdown_margin":45,"margin_temperature_supported":true,"threshold_celsius_shutdown":92,"threshold_celsius_slowdown":89,"threshold_celsius_mem_max":95,"threshold_celsius_gpu_max":87,"used_percent_shutdown":"43.48","used_percent_slowdown":"44.94","used_percent_mem_max":"52.63","used_percent_gpu_max":"45.98"}}]}}"#
        )
    );
    let name = |end: &str| format!("accelerator_nvidia_temperature_{end}");
    let values = [
        ("current_celsius", 40.0),
        ("current_hbm_celsius", 50.0),
        ("slowdown_threshold_celsius", 89.0),
        ("mem_max_threshold_celsius", 95.0),
        ("slowdown_used_percent", 44.94),
        ("mem_max_used_percent", 50.0 / 95.0 * 100.0),
        ("margin_celsius", 45.0),
    ];
    let names = values.map(|(end, _)| name(end));
    let expected: Vec<_> = names
        .iter()
        .zip(values)
        .map(|(name, (_, value))| (name.as_str(), GPU_0, value))
        .collect();
    assert_eq!(metrics(&report), expected);
}

#[test]
fn a_gpu_that_can_tell_nothing() {
    let report = evaluate(&context(), &seen([Reading::default()]), 5);
    assert_eq!(only_state(&report).health, Health::Healthy);
    assert_eq!(
        data(&report),
        format!(
            r#"{{"temperatures":[{{"uuid":"{GPU_0}","bus_id":"0000:0f:00.0","current_celsius_gpu_core":0,"current_celsius_hbm":0,"hbm_temperature_supported":false,"threshold_celsius_slowdown_margin":0,"margin_temperature_supported":false,"threshold_celsius_shutdown":0,"threshold_celsius_slowdown":0,"threshold_celsius_mem_max":0,"threshold_celsius_gpu_max":0,"used_percent_shutdown":"0.0","used_percent_slowdown":"0.0","used_percent_mem_max":"0.0","used_percent_gpu_max":"0.0"}}]}}"#
        )
    );
    assert!(metrics(&report).iter().all(|(_, _, value)| *value == 0.0));
    let unread_memory = Reading {
        memory: None,
        ..h100()
    };
    let report = evaluate(&context(), &seen([unread_memory]), 0);
    assert!(data(&report).contains(r#""used_percent_mem_max":"0.0""#));
}

#[test]
fn the_core() {
    for (current, most, expected) in [
        (Some(87), Some(87), well()),
        (Some(88), Some(0), well()),
        (Some(88), None, well()),
        (None, Some(87), well()),
        (
            Some(88),
            Some(87),
            (
                Health::Degraded,
                format!(
                    "GPU temperature anomalies detected: {GPU_0} current temperature is 88 °C exceeding the threshold 87 °C"
                ),
            ),
        ),
    ] {
        let reading = Reading {
            core: current,
            gpu_max: most,
            ..h100()
        };
        assert_eq!(judge(reading, 0), expected);
    }
}

#[test]
fn the_memory() {
    for (current, most, expected) in [
        (Some(95), Some(95), well()),
        (Some(96), Some(0), well()),
        (Some(96), None, well()),
        (None, Some(95), well()),
        (
            Some(96),
            Some(95),
            (
                Health::Degraded,
                format!(
                    "HBM temperature anomalies detected: {GPU_0} HBM temperature is 96 °C exceeding the threshold 95 °C"
                ),
            ),
        ),
    ] {
        let reading = Reading {
            memory: current,
            memory_max: most,
            ..h100()
        };
        assert_eq!(judge(reading, 0), expected);
    }
}

#[test]
fn the_margin() {
    let only = |left| {
        let reason = format!(
            "margin threshold exceeded: {GPU_0} has only {left} °C margin left to slowdown (threshold 10 °C)"
        );
        (Health::Degraded, reason)
    };
    for (left, slowdown, configured, expected) in [
        (Some(10), Some(89), 10, only(10)),
        (Some(1), Some(89), 10, only(1)),
        (Some(11), Some(89), 10, well()),
        (Some(0), Some(89), 10, well()),
        (Some(-3), Some(89), 10, well()),
        (Some(5), Some(89), 0, well()),
        (Some(5), Some(0), 10, well()),
        (Some(5), None, 10, well()),
        (None, Some(89), 10, well()),
    ] {
        let reading = Reading {
            margin: left,
            slowdown,
            ..h100()
        };
        assert_eq!(
            judge(reading, configured),
            expected,
            "{left:?} {slowdown:?}"
        );
    }
}

#[test]
fn margin_then_core_then_memory() {
    let all = Reading {
        core: Some(88),
        memory: Some(96),
        margin: Some(1),
        ..h100()
    };
    let report = evaluate(&context(), &seen([all]), 10);
    let state = only_state(&report);
    let words = state
        .reason
        .split("; ")
        .map(|part| part.split(':').next().unwrap());
    assert_eq!(
        words.collect::<Vec<_>>(),
        [
            "margin threshold exceeded",
            "GPU temperature anomalies detected",
            "HBM temperature anomalies detected"
        ]
    );
    assert_eq!(actions(&report), ("", [].as_slice()));
    assert_eq!(state.subject, Some(gpu(0).subject()));
    let warm = || Reading {
        core: Some(88),
        ..h100()
    };
    let report = evaluate(&context(), &seen([warm(), warm()]), 0);
    assert_eq!(
        only_state(&report).reason,
        format!(
            "GPU temperature anomalies detected: {GPU_0} current temperature is 88 °C exceeding the threshold 87 °C, {GPU_1} current temperature is 88 °C exceeding the threshold 87 °C"
        )
    );
}

#[test]
fn what_cannot_be_read_is_said() {
    for (error, reason) in [
        (AccessError::SourceLost("x".into()), "GPU lost"),
        (AccessError::NeedsReset("x".into()), "GPU requires reset"),
    ] {
        let report = evaluate(&context(), &and(seen([h100()]), error), 0);
        let state = only_state(&report);
        assert_eq!(
            (&state.health, state.reason.as_str()),
            (&Health::Unhealthy, reason)
        );
        assert_eq!(
            actions(&report),
            (reason, [RepairAction::RebootSystem].as_slice())
        );
    }
    let unread = Reading {
        core: None,
        core_error: Some("nvmlDeviceGetTemperature of GPU 0: Unknown Error".into()),
        ..h100()
    };
    let report = evaluate(&context(), &seen([unread, h100()]), 0);
    let state = only_state(&report);
    assert_eq!(
        (&state.health, state.reason.as_str()),
        (&Health::Degraded, "error getting temperature")
    );
    assert_eq!(
        state.error.as_deref(),
        Some("nvmlDeviceGetTemperature of GPU 0: Unknown Error")
    );
    assert!(metrics(&report).iter().all(|(_, uuid, _)| *uuid == GPU_1));
}
