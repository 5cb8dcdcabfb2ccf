use super::*;
use gpud_builtin_nvidia_common::testing::{
    GPU_0, GPU_1, actions, and, context, data, gpu, lost, metrics, only_state, seen,
};
use gpud_sdk::{AccessError, Health, RepairAction};

fn busy() -> Option<Reading> {
    Some(Reading { gpu: 98, memory: 7 })
}

#[test]
fn busy_or_unable_to_tell() {
    let report = evaluate(&context(), &seen([busy(), None]));
    let state = only_state(&report);
    assert!(report.supported);
    assert_eq!(state.health, Health::Healthy);
    assert_eq!(
        state.reason,
        "all 2 GPU(s) were checked, no utilization issue found"
    );
    assert_eq!(
        data(&report),
        format!(
            r#"{{"utilizations":[{{"uuid":"{GPU_0}","bus_id":"0000:0f:00.0","gpu_used_percent":98,"memory_used_percent":7,"supported":true}},{{"uuid":"{GPU_1}","bus_id":"0000:1f:00.0","gpu_used_percent":0,"memory_used_percent":0,"supported":false}}]}}"#
        )
    );
    assert_eq!(
        metrics(&report),
        [
            (GPU, GPU_0, 98.0),
            (MEMORY, GPU_0, 7.0),
            (GPU, GPU_1, 0.0),
            (MEMORY, GPU_1, 0.0)
        ]
    );
}

#[test]
fn trouble_with_one_does_not_hide_the_other() {
    let unknown = || AccessError::Other("nvmlX of GPU 1: Unknown Error".into());
    let lost_one = || AccessError::SourceLost("nvmlX of GPU 1".into());
    for (error, reason, action) in [
        (unknown(), "error getting utilization", None),
        (lost_one(), "GPU lost", Some(RepairAction::RebootSystem)),
    ] {
        let report = evaluate(&context(), &and(seen([busy()]), error));
        let state = only_state(&report);
        assert_eq!(state.health, Health::Unhealthy);
        assert_eq!(state.reason, reason);
        assert!(state.error.as_ref().unwrap().contains("nvmlX of GPU 1"));
        assert_eq!(state.subject, Some(gpu(1).subject()));
        assert_eq!(actions(&report).1, action.as_slice());
        assert_eq!(metrics(&report).len(), 2);
        assert!(data(&report).contains(GPU_0) && !data(&report).contains(GPU_1));
    }
}

#[test]
fn nothing_read() {
    let report = evaluate(
        &context(),
        &GpuReadings {
            product: String::new(),
            gpus: vec![lost(0)],
        },
    );
    assert_eq!(data(&report), "");
    assert_eq!(report.metrics, []);
}
