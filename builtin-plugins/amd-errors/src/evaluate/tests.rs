use gpud_sdk::catalog::testing;
use gpud_sdk::{EventType, GpuId, Health, Recovery, RepairAction, Subject};

use super::*;

const NOW: u64 = 1_800_000_000_000;
const MINUTE: u64 = 60_000;
const RESET: &str = "amdgpu 0000:c1:00.0: amdgpu: GPU reset begin!";
const BACK: &str = "amdgpu 0000:c1:00.0: amdgpu: GPU reset(1) succeeded!";
const FAILED: &str = "amdgpu 0000:c1:00.0: amdgpu: GPU reset(1) failed";
const DAMAGED: &str =
    "amdgpu 0000:c1:00.0: amdgpu: 2 uncorrectable hardware errors detected in umc block";

fn context() -> CheckContext {
    CheckContext {
        now: NOW,
        ..gpud_builtin_amd_common::testing::context(crate::COMPONENT)
    }
}

/// Lines with the minutes before now at which they came.
fn all(texts: &[(u64, &str)]) -> Vec<Event> {
    let line = |(n, (minutes, text)): (usize, &(u64, &str))| Message {
        sequence: n as u64,
        time: NOW - minutes * MINUTE,
        level: 3,
        facility: 0,
        text: (*text).into(),
        dictionary: None,
    };
    let messages: Vec<Message> = texts.iter().enumerate().map(line).collect();
    events(&context(), &messages)
}

fn report(texts: &[(u64, &str)], boots: &[u64]) -> Report {
    let stored = incidents::as_stored(all(texts));
    judge(&context(), &Config::parse("{}").unwrap(), &stored, boots, 8)
}

fn health(texts: &[(u64, &str)]) -> Health {
    report(texts, &[]).states.remove(0).health
}

#[test]
fn no_forged_line_is_believed() {
    for line in [
        RESET,
        FAILED,
        DAMAGED,
        "amdgpu: 2 uncorrectable errors detected in umc block",
    ] {
        let events = |lines: &[String]| {
            let lines: Vec<(u64, &str)> = lines.iter().map(|line| (1, line.as_str())).collect();
            all(&lines)
        };
        assert!(!events(&[line.to_owned()]).is_empty(), "{line}");
        testing::no_forged_line_is_believed(&[line.to_owned()], events);
    }
}

#[test]
fn an_ordinary_machine() {
    let config = Config::parse("{}").unwrap();
    let none = judge(&context(), &config, &[], &[], 0);
    assert!(!none.supported);
    assert_eq!(
        (&none.states[0].health, none.metrics.len()),
        (&Health::Healthy, 0)
    );
    let some = report(&[], &[]);
    assert_eq!(
        some.states[0].reason,
        "no errors of 8 AMD GPU(s) in the kernel log that need attention"
    );
    assert_eq!(some.metrics.len(), KINDS.len());
    // A game that hangs now and then.
    let fault = "amdgpu 0000:c1:00.0: amdgpu: [gfxhub0] no-retry page fault (src_id:0 ring:24 vmid:3 pasid:1)";
    let soft = "amdgpu 0000:c1:00.0: amdgpu: ring gfx_0.0.0 timeout, but soft recovered";
    assert_eq!(health(&[(3, fault); 20]), Health::Healthy);
    assert_eq!(health(&[(3, soft); 20]), Health::Healthy);
    assert_eq!(health(&[(9, RESET), (8, BACK)]), Health::Healthy);
}

#[test]
fn a_line_becomes_its_event() {
    let event = all(&[(1, DAMAGED)]).remove(0);
    assert_eq!(
        (event.name.as_str(), &event.event_type),
        ("amdgpu_uncorrectable_error", &EventType::Critical)
    );
    assert_eq!(
        event.message,
        "AMD GPU: uncorrectable hardware error (0000:c1:00.0)"
    );
    assert_eq!(incidents::fact(&event, "block"), Some("umc"));
    let gpu = GpuId {
        uuid: None,
        serial: None,
        pci_id: Some("0000:c1:00.0".into()),
    };
    assert_eq!(event.subject, Some(Subject::Gpu(gpu)));
    let event = all(&[(1, "amdgpu: qcm fence wait loop timeout expired")]).remove(0);
    assert_eq!(
        (event.subject, event.message.as_str()),
        (None, "AMD GPU: its scheduler does not answer (amdgpu)")
    );
    let mut service = Message {
        sequence: 1,
        time: NOW,
        level: 3,
        facility: 3,
        text: RESET.into(),
        dictionary: None,
    };
    assert_eq!(events(&context(), std::slice::from_ref(&service)), []);
    service.facility = 0;
    assert_eq!(events(&context(), &[service]).len(), 1);
}

#[test]
fn verdicts_of_one_line() {
    use Health::{Degraded, Healthy, Unhealthy};
    use RepairAction::{HardwareInspection, RebootSystem};
    for (line, health, action) in [
        (FAILED, Unhealthy, Some(RebootSystem)),
        (
            "amdgpu 0000:05:00.0: amdgpu: device lost from bus!",
            Unhealthy,
            Some(RebootSystem),
        ),
        (
            "amdgpu 0000:83:00.0: uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!",
            Unhealthy,
            Some(RebootSystem),
        ),
        (
            "amdgpu 0000:67:00.0: Fatal error during GPU init",
            Unhealthy,
            Some(RebootSystem),
        ),
        (
            "amdgpu 0000:03:00.0: amdgpu: PSP firmware loading failed",
            Degraded,
            Some(RebootSystem),
        ),
        (
            "amdgpu 0000:03:00.0: amdgpu: RAS records:300 exceed threshold:256",
            Unhealthy,
            Some(HardwareInspection),
        ),
        (
            "amdgpu 0000:03:00.0: amdgpu: RAS records:240 exceeds 90% of threshold:256",
            Degraded,
            Some(HardwareInspection),
        ),
        (DAMAGED, Degraded, Some(RebootSystem)),
        (
            "amdgpu 0000:03:00.0: amdgpu: RAS poison consumption, fall back to gpu reset flow: client id 10",
            Degraded,
            Some(RebootSystem),
        ),
        (
            "amdgpu 0000:03:00.0: amdgpu: XGMI PCS CRCErr detected",
            Degraded,
            Some(RebootSystem),
        ),
        (
            "amdgpu 0000:2f:00.0: amdgpu: VRAM is lost due to GPU reset!",
            Healthy,
            None,
        ),
        (
            "amdgpu 0000:03:00.0: SMU: No response msg_reg: 6 resp_reg: 0",
            Healthy,
            None,
        ),
    ] {
        let state = report(&[(1, line)], &[]).states.remove(0);
        assert_eq!(state.health, health, "{line}");
        let found = state
            .suggested_actions
            .map(|actions| actions.repair_actions);
        assert_eq!(found, action.map(|action| vec![action]), "{line}");
    }
}

#[test]
fn a_gpu_that_recovers_is_healthy_again() {
    assert_eq!(health(&[(5, FAILED)]), Health::Unhealthy);
    assert_eq!(health(&[(5, FAILED), (4, BACK)]), Health::Healthy);
    assert_eq!(
        health(&[(5, FAILED), (4, &BACK.replace("c1", "c2"))]),
        Health::Unhealthy
    );
    // A reset does not undo damage.
    assert_eq!(health(&[(5, DAMAGED), (4, BACK)]), Health::Degraded);
    let state = report(&[(5, FAILED)], &[]).states.remove(0);
    assert_eq!(
        state.recovery,
        [
            Recovery::Reboot,
            Recovery::At(NOW - 5 * MINUTE + LOOK_BACK_MS),
            Recovery::SetHealthy
        ]
    );
    assert_eq!(
        report(&[(5, FAILED)], &[NOW - MINUTE]).states[0].health,
        Health::Healthy
    );
    // Two reboots did not help.
    let boots = [NOW - 15 * MINUTE, NOW - 35 * MINUTE];
    let state = report(&[(50, FAILED), (30, FAILED), (10, FAILED)], &boots)
        .states
        .remove(0);
    let actions = state.suggested_actions.unwrap().repair_actions;
    assert_eq!(actions, [RepairAction::HardwareInspection]);
}

#[test]
fn what_gpus_recover_from_counts_when_it_comes_often() {
    for line in [
        RESET,
        "amdgpu 0000:03:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=7, emitted seq=8",
        "amdgpu 0000:65:00.0: amdgpu: MES failed to respond to msg=REMOVE_QUEUE",
        "amdgpu 0000:03:00.0: SMU: No response msg_reg: 6 resp_reg: 0",
    ] {
        assert_eq!(health(&[(9, line), (8, line)]), Health::Healthy, "{line}");
        assert_eq!(
            health(&[(9, line), (8, line), (7, line)]),
            Health::Degraded,
            "{line}"
        );
        assert_eq!(
            health(&[(99, line), (98, line), (97, line)]),
            Health::Healthy,
            "{line}"
        );
    }
    let state = report(&[(9, RESET), (8, RESET), (7, RESET)], &[])
        .states
        .remove(0);
    assert_eq!(state.reason, "AMD GPU is reset (0000:c1:00.0), 3 times");
}

#[test]
fn every_kind_has_one_name_and_rules_speak_of_names_that_events_have() {
    for (n, kind_facts) in KINDS.iter().enumerate() {
        let same =
            |other: &KindFacts| other.kind == kind_facts.kind || other.event == kind_facts.event;
        assert_eq!(KINDS.iter().position(same), Some(n));
    }
    for rule in rules::rules(&Config::parse("{}").unwrap()) {
        let names = std::iter::once(rule.event).chain(rule.ended_by.iter().copied());
        for name in names {
            assert!(
                KINDS.iter().any(|kind_facts| kind_facts.event == name),
                "{name}"
            );
        }
    }
}
