use super::*;
use gpud_builtin_nvidia_common::testing::{
    GPU_0, GPU_1, actions, and, context, data, lost, metrics, only_state, seen,
};
use gpud_sdk::{Health, RepairAction};

fn values(of: &[(u32, f64)]) -> Option<Values> {
    Some(of.iter().copied().collect())
}

#[test]
fn values_by_id() {
    let report = evaluate(
        &context(),
        &seen([values(&[(3, 12.5), (13, 0.25)]), values(&[(3, 99.0)])]),
    );
    let state = only_state(&report);
    assert_eq!(state.health, Health::Healthy);
    assert_eq!(
        state.reason,
        "all 2 GPU(s) were checked, no GPM issue found"
    );
    assert_eq!(
        data(&report),
        format!(
            r#"{{"gpm_metrics":[{{"time":"2025-03-01T10:21:40Z","uuid":"{GPU_0}","sample_duration":"5s","metrics":{{"3":12.5,"13":0.25}}}},{{"time":"2025-03-01T10:21:40Z","uuid":"{GPU_1}","sample_duration":"5s","metrics":{{"3":99.0}}}}]}}"#
        )
    );
    assert_eq!(
        metrics(&report),
        [
            (
                "accelerator_nvidia_gpm_gpu_sm_occupancy_percent",
                GPU_0,
                12.5
            ),
            ("accelerator_nvidia_gpm_gpu_fp16_util_percent", GPU_0, 0.25),
            (
                "accelerator_nvidia_gpm_gpu_sm_occupancy_percent",
                GPU_1,
                99.0
            ),
        ]
    );
}

#[test]
fn without_gpm() {
    let report = evaluate(&context(), &seen([None, None]));
    let expected = HealthState::healthy(&context(), "GPM not supported");
    assert_eq!(report, Report::of(expected));
    let mixed = evaluate(&context(), &seen([None, values(&[(3, 1.0)])]));
    assert_eq!(
        only_state(&mixed).reason,
        "all 2 GPU(s) were checked, no GPM issue found"
    );
    assert!(!data(&mixed).contains(GPU_0));
}

#[test]
fn what_the_host_answers() {
    let other = |text: &str| AccessError::Other(text.into());
    let mismatch = other("nvmlGpmQueryDeviceSupport of GPU 0: Argument version mismatch");
    for (answer, expected) in [
        (Err(AccessError::NotSupported("x".into())), Ok(None)),
        (Err(mismatch), Ok(None)),
        (
            Err(other("x: Unknown Error")),
            Err(other("x: Unknown Error")),
        ),
        (
            Ok(values(&[(3, f64::NAN), (4, f64::INFINITY), (5, 1.0)]).unwrap()),
            Ok(values(&[(5, 1.0)])),
        ),
    ] {
        assert_eq!(understand(answer), expected);
    }
}

#[test]
fn trouble() {
    for (call, reason) in [
        ("nvmlGpmQueryDeviceSupport", "error getting GPM supported"),
        ("nvmlGpmSampleGet", "error getting GPM metrics"),
        ("nvmlGpmMetricsGet", "error getting GPM metrics"),
    ] {
        let error = AccessError::Other(format!("{call} of GPU 1: Unknown Error"));
        let report = evaluate(&context(), &and(seen([values(&[(3, 1.0)])]), error));
        let state = only_state(&report);
        assert_eq!(state.health, Health::Unhealthy);
        assert_eq!(state.reason, reason);
        assert!(state.error.as_ref().unwrap().starts_with(call));
        assert_eq!(actions(&report).1, []);
        assert_eq!(metrics(&report).len(), 1);
    }
    let gone = GpuReadings {
        product: String::new(),
        gpus: vec![lost(0)],
    };
    let report = evaluate(&context(), &gone);
    assert_eq!(only_state(&report).reason, "GPU lost");
    assert_eq!(actions(&report).1, [RepairAction::RebootSystem]);
    assert_eq!(data(&report), "");
}
