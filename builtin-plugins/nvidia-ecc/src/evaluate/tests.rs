use super::*;
use crate::reading::{Mode, PLACE_COUNT};
use crate::testing::{NO_SRAM_ERRORS, SEVEN_SRAM_ERRORS};
use gpud_builtin_nvidia_common::GpuAnswer;
use gpud_builtin_nvidia_common::testing::{
    GPU_0, actions, and, context, data, gpu, metrics, only_state, seen,
};
use gpud_sdk::nvml::SramEccStatus;
use gpud_sdk::{AccessError, Health, HealthState};

mod on_chip;

fn pair(corrected: u64, uncorrected: u64) -> Pair {
    Pair {
        corrected: Some(corrected),
        uncorrected: Some(uncorrected),
    }
}

/// Every counter has a value of its own.
fn counters(first: u64) -> Counters {
    let pair = |index: u64| pair(first + 2 * index, first + 2 * index + 1);
    Counters {
        total: pair(0),
        places: [1, 2, 3, 4, 5, 6, 7].map(pair),
    }
}

fn reading() -> Reading {
    Reading {
        mode: Some(Mode {
            current: true,
            pending: false,
        }),
        aggregate: counters(100),
        volatile: counters(200),
        sram: None,
    }
}

/// A GPU that has never had an error which it could not correct.
fn without_errors() -> Reading {
    Reading {
        aggregate: corrected(5),
        volatile: corrected(1),
        sram: Some(NO_SRAM_ERRORS),
        ..reading()
    }
}

fn corrected(errors: u64) -> Counters {
    Counters {
        total: pair(errors, 0),
        places: [pair(0, 0); PLACE_COUNT],
    }
}

fn block(first: u64) -> String {
    let pair = |index: u64| {
        let corrected = first + 2 * index;
        format!(
            r#"{{"corrected":{corrected},"uncorrected":{}}}"#,
            corrected + 1
        )
    };
    format!(
        r#"{{"total":{},"l1_cache":{},"l2_cache":{},"dram":{},"sram":{},"gpu_device_memory":{},"gpu_texture_memory":{},"shared_memory":{},"gpu_register_file":{}}}"#,
        pair(0),
        pair(1),
        pair(2),
        pair(3),
        pair(4),
        pair(3),
        pair(5),
        pair(6),
        pair(7)
    )
}

#[test]
fn rows_and_metrics() {
    let report = evaluate(&context(), &seen([reading()]), 0);
    let state = only_state(&report);
    let reason = format!(
        "all 1 GPU(s) were checked; {} has 763 uncorrected ECC error(s) over the life of the board, 201 since its last reset: L1 cache 103, L2 cache 105, DRAM 107, SRAM 109, texture memory 111, texture shared memory 113, register file 115",
        gpu(0).label()
    );
    assert_eq!((&state.health, &state.reason), (&Health::Healthy, &reason));
    assert_eq!(
        data(&report),
        format!(
            r#"{{"ecc_modes":[{{"uuid":"{GPU_0}","bus_id":"0000:0f:00.0","enabled_current":true,"enabled_pending":false,"supported":true}}],"ecc_errors":[{{"uuid":"{GPU_0}","bus_id":"0000:0f:00.0","aggregate":{},"volatile":{},"supported":true}}]}}"#,
            block(100),
            block(200)
        )
    );
    assert_eq!(
        metrics(&report),
        [
            (
                "accelerator_nvidia_ecc_aggregate_total_corrected",
                GPU_0,
                100.0
            ),
            (
                "accelerator_nvidia_ecc_aggregate_total_uncorrected",
                GPU_0,
                101.0
            ),
            (
                "accelerator_nvidia_ecc_volatile_total_corrected",
                GPU_0,
                200.0
            ),
            (
                "accelerator_nvidia_ecc_volatile_total_uncorrected",
                GPU_0,
                201.0
            )
        ]
    );
}

#[test]
fn no_issue_is_found_only_without_uncorrected_errors() {
    let total = |uncorrected| Counters {
        total: pair(9, uncorrected),
        ..Counters::default()
    };
    let well = "all 2 GPU(s) were checked, no ECC issue found".to_owned();
    let label = gpu(0).label();
    let has = |errors: &str| format!("all 2 GPU(s) were checked; {label} has {errors}");
    for (reading, reason) in [
        (without_errors(), well.clone()),
        (Reading::default(), well),
        (
            Reading {
                aggregate: total(7),
                ..without_errors()
            },
            has("7 uncorrected ECC error(s) over the life of the board, 0 since its last reset"),
        ),
        (
            Reading {
                volatile: total(2),
                ..without_errors()
            },
            has("0 uncorrected ECC error(s) over the life of the board, 2 since its last reset"),
        ),
        (
            // Neither total counts them.
            Reading {
                sram: Some(SramEccStatus {
                    threshold_exceeded: false,
                    ..SEVEN_SRAM_ERRORS
                }),
                ..without_errors()
            },
            has(
                "7 uncorrected ECC error(s) over the life of the board, 3 since its last reset: SRAM 7 (parity 2, SEC-DED 5; L2 cache 4, SM 3)",
            ),
        ),
    ] {
        let report = evaluate(&context(), &seen([reading, without_errors()]), 0);
        let state = only_state(&report);
        assert_eq!((&state.health, &state.reason), (&Health::Healthy, &reason));
    }
}

#[test]
fn a_gpu_without_ecc() {
    let report = evaluate(&context(), &seen([Reading::default()]), 1);
    assert_eq!(only_state(&report).health, Health::Healthy);
    let shown = data(&report);
    assert!(
        shown.contains(r#""enabled_current":false,"enabled_pending":false,"supported":false}],"#)
    );
    assert!(
        shown.ends_with(
            r#""gpu_register_file":{"corrected":0,"uncorrected":0}},"supported":false}]}"#
        )
    );
    assert!(metrics(&report).iter().all(|(_, _, value)| *value == 0.0));
    let none = evaluate(&context(), &seen([]), 0);
    let reason = "all 0 GPU(s) were checked, no ECC issue found";
    assert_eq!(none, Report::of(HealthState::healthy(&context(), reason)));
}

#[test]
fn errors_are_judged_only_when_asked() {
    let reading = |corrected, uncorrected| Reading {
        aggregate: counters(1_000),
        volatile: Counters {
            total: pair(corrected, uncorrected),
            ..Counters::default()
        },
        ..reading()
    };
    for (uncorrected, threshold, health) in [
        (0, 0, Health::Healthy),
        (5, 0, Health::Healthy),
        (0, 1, Health::Healthy),
        (4, 5, Health::Healthy),
        (5, 5, Health::Degraded),
        (6, 5, Health::Degraded),
    ] {
        let machine = seen([reading(1_000, uncorrected), reading(0, 0)]);
        let report = evaluate(&context(), &machine, threshold);
        let state = only_state(&report);
        assert_eq!(state.health, health, "{uncorrected} {threshold}");
        assert!(!state.reason.contains("no ECC issue"), "{}", state.reason);
        if health == Health::Degraded {
            let reason = format!(
                "{GPU_0} (0000:0f:00.0) has {uncorrected} uncorrected ECC error(s) since its last reset (threshold 5)"
            );
            assert_eq!(state.reason, reason);
            assert_eq!(state.subject, Some(gpu(0).subject()));
        }
    }
}

#[test]
fn what_cannot_be_read_is_said() {
    let failing = |trying, error| GpuAnswer {
        gpu: gpu(1),
        answer: Err(Failure { trying, error }),
    };
    let total = "(volatile, corrected) failed to get total ecc errors";
    let other = || AccessError::Other("nvmlX of GPU 1: Unknown Error".into());
    for (asked, reason, action) in [
        (
            failing(TRYING_MODE, other()),
            "error getting ECC mode",
            false,
        ),
        (failing(total, other()), "error getting ECC errors", false),
        (
            failing(total, AccessError::SourceLost("x".into())),
            "GPU lost",
            true,
        ),
        (
            failing(TRYING_MODE, AccessError::NeedsReset("x".into())),
            "GPU requires reset",
            true,
        ),
    ] {
        let mut machine = seen([reading()]);
        machine.gpus.push(asked);
        let report = evaluate(&context(), &machine, 0);
        let state = only_state(&report);
        assert_eq!(
            (&state.health, state.reason.as_str()),
            (&Health::Unhealthy, reason)
        );
        let expected: &[RepairAction] = match action {
            true => &[RepairAction::RebootSystem],
            false => &[],
        };
        assert_eq!(
            actions(&report),
            (if action { reason } else { "" }, expected)
        );
        assert!(data(&report).contains(GPU_0));
    }
    let failed = failing(TRYING_MODE, other());
    let report = evaluate(
        &context(),
        &GpuReadings {
            product: String::new(),
            gpus: vec![failed],
        },
        0,
    );
    assert_eq!(
        only_state(&report).error.as_deref(),
        Some("failed to get current/pending ecc mode: nvmlX of GPU 1: Unknown Error")
    );
    assert_eq!(data(&report), "");
    let report = evaluate(
        &context(),
        &and(seen([]), AccessError::Denied("x".into())),
        0,
    );
    assert_eq!(only_state(&report).reason, "error getting ECC errors");
}
