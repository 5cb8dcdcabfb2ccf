use super::*;
use crate::testing::{context, gpu};

#[test]
fn without_findings_all_is_well() {
    let found = state(&context(), "all well", Vec::new());
    assert_eq!(found, HealthState::healthy(&context(), "all well"));
}

#[test]
fn findings_come_together() {
    let inspect = GpuFinding::unhealthy("a")
        .action(RepairAction::HardwareInspection, "look")
        .about([gpu(0)])
        .read_from("nvmlA");
    let reboot = GpuFinding::unhealthy("b")
        .action(RepairAction::RebootSystem, "boot")
        .error("e")
        .about([gpu(0)]);
    let warm = GpuFinding::degraded("c")
        .about([gpu(0), gpu(1)])
        .read_from("nvmlC");
    for (findings, health, reason, action, subject, evidence) in [
        (vec![warm.clone()], Health::Degraded, "c", None, false, 2),
        (
            vec![inspect.clone()],
            Health::Unhealthy,
            "a",
            Some("look"),
            true,
            1,
        ),
        (
            vec![reboot.clone(), inspect.clone()],
            Health::Unhealthy,
            "b; a",
            Some("look"),
            true,
            1,
        ),
        (
            vec![warm, reboot],
            Health::Unhealthy,
            "c; b",
            Some("boot"),
            false,
            2,
        ),
    ] {
        let state = state(&context(), "all well", findings);
        assert_eq!((state.health, state.reason.as_str()), (health, reason));
        let description = state.suggested_actions.map(|actions| actions.description);
        assert_eq!(description.as_deref(), action, "{reason}");
        assert_eq!(state.subject, subject.then(|| gpu(0).subject()), "{reason}");
        assert_eq!(state.evidence.len(), evidence, "{reason}");
        assert_eq!(state.recovery, [Recovery::NextGoodReading]);
    }
}

#[test]
fn many_gpus_make_no_report_that_is_refused() {
    let long = "x".repeat(200);
    let findings = (0..128).map(|index| {
        GpuFinding::degraded(long.clone())
            .error(long.clone())
            .about([gpu(index)])
            .read_from("nvmlC")
    });
    let state = state(&context(), "", findings.collect());
    assert!(state.reason.len() <= 4096, "{}", state.reason.len());
    assert!(state.error.unwrap().len() <= 4096);
    assert_eq!(state.evidence.len(), 64);
}

#[test]
fn documents() {
    let healthy = || HealthState::healthy(&context(), "");
    let state = with_data(healthy(), &[1, 2]);
    assert_eq!(state.extra_info, [("data".to_owned(), "[1,2]".to_owned())]);
    assert_eq!(with_data(healthy(), &[1, 2].as_slice()), state);
}
