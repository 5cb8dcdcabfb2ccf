//! Errors of on-chip memory: the verdict on too many, and how they are shown.

use super::*;

#[test]
fn too_many_errors_of_on_chip_memory_want_an_inspection() {
    let bad = |sram| Reading {
        sram: Some(sram),
        ..without_errors()
    };
    let machine = seen([without_errors(), bad(SEVEN_SRAM_ERRORS)]);
    let report = evaluate(&context(), &machine, 0);
    let state = only_state(&report);
    let words = "uncorrectable errors of on-chip memory passed the driver's threshold (SRAM 7 (parity 2, SEC-DED 5; L2 cache 4, SM 3))";
    let reason = format!("{}: {words}", gpu(1).label());
    assert_eq!(
        (&state.health, &state.reason),
        (&Health::Unhealthy, &reason)
    );
    assert_eq!(state.subject, Some(gpu(1).subject()));
    assert_eq!(
        actions(&report),
        (INSPECT, [RepairAction::HardwareInspection].as_slice())
    );
    // The flag counts, whatever the counters say.
    let flag = SramEccStatus {
        threshold_exceeded: true,
        ..NO_SRAM_ERRORS
    };
    let report = evaluate(&context(), &seen([bad(flag)]), 0);
    let reason = &only_state(&report).reason;
    assert!(
        reason.ends_with("passed the driver's threshold"),
        "{reason}"
    );
    // Beside a limit of the operator's.
    let report = evaluate(&context(), &seen([bad(SEVEN_SRAM_ERRORS)]), 3);
    let reason = &only_state(&report).reason;
    assert!(
        reason.ends_with("has 3 uncorrected ECC error(s) since its last reset (threshold 3)"),
        "{reason}"
    );
}

#[test]
fn errors_of_on_chip_memory_are_shown() {
    let bad = Reading {
        sram: Some(SEVEN_SRAM_ERRORS),
        ..without_errors()
    };
    let silent = Reading {
        sram: None,
        ..without_errors()
    };
    let report = evaluate(&context(), &seen([bad, silent]), 0);
    let row = format!(
        r#""sram_errors":[{{"uuid":"{GPU_0}","bus_id":"0000:0f:00.0","threshold_exceeded":true,"aggregate_parity":2,"aggregate_sec_ded":5,"aggregate_corrected":0,"volatile_parity":0,"volatile_sec_ded":3,"volatile_corrected":0,"l2":4,"sm":3,"pcie":0,"microcontroller":0,"other":0}}]}}"#
    );
    assert!(data(&report).ends_with(&row), "{}", data(&report));
    let of_sram = metrics(&report).into_iter();
    let of_sram: Vec<_> = of_sram.filter(|(name, ..)| name.contains("sram")).collect();
    let name = |rest: &str| format!("accelerator_nvidia_ecc_{rest}");
    let expected = [
        ("aggregate_sram_parity_uncorrected", 2.0),
        ("aggregate_sram_sec_ded_uncorrected", 5.0),
        ("aggregate_sram_corrected", 0.0),
        ("volatile_sram_parity_uncorrected", 0.0),
        ("volatile_sram_sec_ded_uncorrected", 3.0),
        ("volatile_sram_corrected", 0.0),
        ("sram_threshold_exceeded", 1.0),
        ("aggregate_sram_uncorrected", 4.0),
        ("aggregate_sram_uncorrected", 3.0),
        ("aggregate_sram_uncorrected", 0.0),
        ("aggregate_sram_uncorrected", 0.0),
        ("aggregate_sram_uncorrected", 0.0),
    ]
    .map(|(rest, value)| (name(rest), value));
    assert_eq!(of_sram.len(), expected.len());
    for ((found, uuid, value), (name, expected)) in of_sram.into_iter().zip(&expected) {
        assert_eq!((found, uuid, value), (name.as_str(), GPU_0, *expected));
    }
    let units = report
        .metrics
        .iter()
        .filter_map(|metric| metric.labels.get(1));
    let units: Vec<&str> = units.map(|(_, unit)| unit.as_str()).collect();
    assert_eq!(units, ["l2", "sm", "pcie", "microcontroller", "other"]);
}
