use super::*;
use gpud_builtin_nvidia_common::testing::{
    GPU_0, GPU_1, actions, and, context, data, gpu, metrics, only_state, seen,
};
use gpud_sdk::{AccessError, Health, HealthState, Recovery};

fn rows(uncorrectable: u32, pending: bool, failed: bool) -> Reading {
    Reading::Rows(Rows {
        correctable: 3,
        uncorrectable,
        pending,
        failed,
        banks: None,
    })
}

fn well() -> Reading {
    rows(0, false, false)
}

#[test]
fn verdicts() {
    const INSPECT: &str = "row remapping failure requires hardware inspection";
    const REBOOT: &str = "row remapping pending requires GPU reset or system reboot";
    let failed = |bus: &str, errors| {
        format!(
            "{bus} qualifies for RMA (row remapping failed, remapped due to {errors} uncorrectable error(s))"
        )
    };
    let pending = |bus: &str| format!("{bus} needs reset (detected pending row remapping)");
    let (first, second) = ("0000:0f:00.0", "0000:1f:00.0");
    for (readings, reason, action) in [
        (vec![well(), rows(4, true, false)], pending(second), REBOOT),
        (
            vec![rows(12, false, true), well()],
            failed(first, 12),
            INSPECT,
        ),
        (
            vec![rows(12, true, true)],
            format!("{}, {}", failed(first, 12), pending(first)),
            INSPECT,
        ),
        (
            vec![rows(1, true, false), rows(0, false, true)],
            format!("{}, {}", pending(first), failed(second, 0)),
            INSPECT,
        ),
        (
            vec![rows(0, false, true), rows(1, true, false)],
            format!("{}, {}", failed(first, 0), pending(second)),
            INSPECT,
        ),
    ] {
        let report = evaluate(&context(), &seen(readings));
        let state = only_state(&report);
        assert_eq!(
            (&state.health, &state.reason),
            (&Health::Unhealthy, &reason)
        );
        let expected = match action {
            INSPECT => RepairAction::HardwareInspection,
            _ => RepairAction::RebootSystem,
        };
        assert_eq!(actions(&report), (action, [expected].as_slice()));
        assert_eq!(state.recovery, [Recovery::NextGoodReading]);
    }
    let report = evaluate(&context(), &seen([well(), rows(4, true, false)]));
    assert_eq!(only_state(&report).subject, Some(gpu(1).subject()));
}

#[test]
fn many_remapped_rows_are_no_issue_by_themselves() {
    let report = evaluate(&context(), &seen([rows(512, false, false), well()]));
    let state = only_state(&report);
    assert_eq!(
        (&state.health, state.reason.as_str()),
        (
            &Health::Healthy,
            "2 devices support remapped rows and found no issue"
        )
    );
}

#[test]
fn rows_and_metrics() {
    let machine = seen([rows(7, true, false), Reading::Unsupported { mig: false }]);
    let report = evaluate(&context(), &machine);
    assert_eq!(
        data(&report),
        format!(
            r#"{{"product_name":"NVIDIA-H100-80GB-HBM3","memory_error_management_capabilities":{{"error_containment":true,"dynamic_page_offlining":true,"row_remapping":true}},"remapped_rows":[{{"uuid":"{GPU_0}","bus_id":"0000:0f:00.0","remapped_due_to_correctable_errors":3,"remapped_due_to_uncorrectable_errors":7,"remapping_pending":true,"remapping_failed":false,"supported":true}},{{"uuid":"{GPU_1}","bus_id":"0000:1f:00.0","remapped_due_to_correctable_errors":0,"remapped_due_to_uncorrectable_errors":0,"remapping_pending":false,"remapping_failed":false,"supported":false}}]}}"#
        )
    );
    let name = |end: &str| format!("accelerator_nvidia_remapped_rows_{end}");
    let names = [
        ("due_to_correctable_errors", 3.0),
        ("due_to_uncorrectable_errors", 7.0),
        ("remapping_pending", 1.0),
        ("remapping_failed", 0.0),
    ]
    .map(|(end, value)| (name(end), value));
    let expected: Vec<_> = names
        .iter()
        .map(|(name, value)| (name.as_str(), GPU_0, *value))
        .collect();
    assert_eq!(metrics(&report), expected);
}

#[test]
fn spare_rows_are_shown() {
    let banks = Banks {
        max: 636,
        high: 3,
        partial: 0,
        low: 0,
        none: 1,
    };
    let few = Reading::Rows(Rows {
        uncorrectable: 4,
        banks: Some(banks),
        ..Rows::default()
    });
    let report = evaluate(&context(), &seen([few]));
    assert_eq!(only_state(&report).health, Health::Healthy);
    assert!(data(&report).ends_with(
        r#""supported":true,"banks_by_spare_rows":{"max":636,"high":3,"partial":0,"low":0,"none":1}}]}"#
    ));
    let name = "accelerator_nvidia_remapped_rows_banks_without_spares";
    assert_eq!(metrics(&report)[4], (name, GPU_0, 1.0));
}

#[test]
fn products_that_cannot() {
    let mut machine = seen([Reading::NotOfThisProduct; 2]);
    machine.product = "NVIDIA GeForce RTX 4090".into();
    let report = evaluate(&context(), &machine);
    let reason = "\"NVIDIA-GeForce-RTX-4090\" does not support row remapping";
    assert_eq!(report, Report::of(HealthState::healthy(&context(), reason)));
    // Beside one that can.
    let report = evaluate(&context(), &seen([Reading::NotOfThisProduct, well()]));
    assert_eq!(
        only_state(&report).reason,
        "1 devices support remapped rows and found no issue"
    );
}

#[test]
fn silence_is_reported() {
    for (readings, reason) in [
        (
            vec![well(), Reading::Unsupported { mig: true }],
            "1 devices support remapped rows and found no issue, 1 do not report it while in MIG mode",
        ),
        (
            vec![Reading::Unsupported { mig: false }; 2],
            "0 devices support remapped rows and found no issue, 2 do not report it",
        ),
        (vec![], "0 devices support remapped rows and found no issue"),
    ] {
        let report = evaluate(&context(), &seen(readings));
        let state = only_state(&report);
        assert_eq!(
            (&state.health, state.reason.as_str()),
            (&Health::Healthy, reason)
        );
    }
}

#[test]
fn an_unreadable_gpu_is_not_healthy() {
    let other = || AccessError::Other("nvmlDeviceGetRemappedRows of GPU 1: Unknown Error".into());
    for (first, error, reason, action) in [
        (well(), other(), "error getting remapped rows", None),
        (
            well(),
            AccessError::SourceLost("x".into()),
            "GPU lost",
            Some(RepairAction::RebootSystem),
        ),
        (
            well(),
            AccessError::NeedsReset("x".into()),
            "GPU requires reset",
            Some(RepairAction::RebootSystem),
        ),
        (
            rows(0, false, true),
            AccessError::SourceLost("x".into()),
            "0000:0f:00.0 qualifies for RMA (row remapping failed, remapped due to 0 uncorrectable error(s)); GPU lost",
            Some(RepairAction::HardwareInspection),
        ),
    ] {
        let report = evaluate(&context(), &and(seen([first]), error));
        let state = only_state(&report);
        assert_eq!(
            (&state.health, state.reason.as_str()),
            (&Health::Unhealthy, reason)
        );
        assert!(state.error.is_some());
        assert_eq!(actions(&report).1.first(), action.as_ref());
    }
}
