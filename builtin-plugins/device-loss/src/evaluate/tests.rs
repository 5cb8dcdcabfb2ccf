use gpud_sdk::{EventType, Health, Recovery, RepairAction, Trigger};

use super::*;
use crate::patterns::CATALOG;

mod gpus;
mod network_cards;

const NOW: u64 = 1_800_000_000_000;
const MINUTE: u64 = 60_000;
const DEAD: &str = "mlx5_core 0000:17:00.0: poll_health:801:(pid 0): Fatal error 1 detected";
const BACK: &str =
    "mlx5_core 0000:17:00.0: mlx5_health_try_recover:348:(pid 1): health recovery succeeded";
const INIT: &str = "NVRM: GPU 0000:3b:00.0: RmInitAdapter failed! (0x26:0xffff:1474)";
const CONFLICT_LINE: &str = "NVRM: The NVIDIA probe routine was not called for 8 device(s).";

fn context(now: u64) -> CheckContext {
    CheckContext {
        component: crate::COMPONENT.into(),
        now,
        trigger: Trigger::Event,
        boot_id: "boot".into(),
        boot_time: 0,
        previous_check: None,
        extra: vec![],
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
    let names = |id: &str| match id {
        "0000:17:00.0" => vec!["mlx5_0".to_owned(), "ens1np0".to_owned()],
        _ => vec![],
    };
    events(&context(NOW), &messages, &mut Repeats::default(), names)
}

fn report(texts: &[(u64, &str)], boots: &[u64]) -> Report {
    let stored = incidents::as_stored(all(texts));
    let drivers = Drivers {
        nvidia: 8,
        mlx5: 2,
        amdgpu: 0,
    };
    judge(
        &context(NOW),
        &Config::default(),
        &Policy::none(&CATALOG),
        &stored,
        boots,
        &drivers,
        Vec::new,
    )
}

fn verdict(texts: &[(u64, &str)]) -> (Health, String) {
    let state = report(texts, &[]).states.remove(0);
    (state.health, state.reason)
}

#[test]
fn an_ordinary_machine_has_nothing_to_watch() {
    let config = Config::default();
    let none = judge(
        &context(NOW),
        &config,
        &Policy::none(&CATALOG),
        &[],
        &[],
        &Drivers::default(),
        || panic!("asked"),
    );
    assert!(!none.supported);
    assert_eq!(
        (&none.states[0].health, none.metrics.len()),
        (&Health::Healthy, 0)
    );
    let some = report(&[], &[]);
    assert!(some.supported);
    assert_eq!(
        some.states[0].reason,
        "no device is lost (nvidia 8, mlx5_core 2)"
    );
    assert_eq!(some.metrics.len(), KINDS.len());
}

#[test]
fn versions_that_differ() {
    let line = r"NVRM: API mismatch: the client has the version 570.86.15, but\x0aNVRM: this kernel module has the version 560.35.05.  Please";
    let state = report(&[(9, line), (8, line)], &[]).states.remove(0);
    assert_eq!(state.health, Health::Degraded);
    assert_eq!(
        state.reason,
        "NVIDIA user space and kernel module differ in version, 2 times: user space 570.86.15, kernel module 560.35.05"
    );
    let actions = state.suggested_actions.unwrap();
    assert_eq!(actions.repair_actions, [RepairAction::CheckUserAppAndGpu]);
    assert_eq!(verdict(&[(61, line)]).0, Health::Healthy);
}

#[test]
fn notices_are_for_the_record() {
    for line in [
        "mlx5_core 0000:61:00.1: print_health_info:496:(pid 0): Health issue observed, EQ error, severity(6) INFO:",
        BACK,
    ] {
        assert_eq!(all(&[(1, line)])[0].event_type, EventType::Info);
        assert_eq!(verdict(&[(1, line); 20]).0, Health::Healthy, "{line}");
    }
}

fn events_without_lookup(messages: &[Message]) -> Vec<Event> {
    let mut repeats = Repeats::default();
    events(&context(NOW), messages, &mut repeats, |id| {
        panic!("asked for {id}")
    })
}

#[test]
fn slots_and_iommus_are_news_only() {
    for line in [
        "pcieport 0000:00:01.0: pciehp: Slot(1): Link Down",
        "DMAR: [DMA Read NO_PASID] Request device [3b:00.0] fault addr 0xfffff000 [fault reason 0x06] x",
        "arm-smmu-v3 arm-smmu-v3.0.auto: event 0x10 received:",
    ] {
        assert_eq!(
            all(&[(1, line)])[0].event_type,
            EventType::Warning,
            "{line}"
        );
        assert_eq!(verdict(&[(1, line); 50]).0, Health::Healthy, "{line}");
    }
}

#[test]
fn every_kind_has_one_name_and_rules_speak_of_names_that_events_have() {
    for (n, kind_facts) in KINDS.iter().enumerate() {
        let same = |other: &kinds::KindFacts| {
            other.kind == kind_facts.kind || other.event == kind_facts.event
        };
        assert_eq!(KINDS.iter().position(same), Some(n));
    }
    for rule in rules::rules(&Config::default(), true) {
        let names = std::iter::once(rule.event).chain(rule.ended_by.iter().copied());
        for name in names {
            assert!(
                KINDS.iter().any(|kind_facts| kind_facts.event == name),
                "{name}"
            );
        }
    }
}

#[test]
fn each_of_the_rest() {
    use Health::{Degraded, Unhealthy};
    for (line, health) in [
        (
            "nvidia: probe of 0000:82:00.0 failed with error -1",
            Unhealthy,
        ),
        (
            "amdgpu 0000:c1:00.0: probe with driver amdgpu failed with error -22",
            Unhealthy,
        ),
        (
            "mlx5_core 0000:17:00.0: device's health compromised",
            Unhealthy,
        ),
        ("NVRM: GPU has fallen off the bus.", Unhealthy),
        (
            "NVRM: _issueRpcAndWait: rpcRecvPoll timedout for fn 76!",
            Unhealthy,
        ),
        (
            "mlx5_core 0000:61:00.1: print_health_info:496:(pid 0): Health issue observed, firmware internal error, severity(3) ERROR:",
            Degraded,
        ),
    ] {
        assert_eq!(verdict(&[(1, line)]).0, health, "{line}");
    }
}

#[test]
fn a_site_has_its_own_view() {
    let locked =
        "NVRM: krcWatchdog_IMPL: RC watchdog: GPU is probably locked!  Notify Timeout Seconds: 7";
    for (policy, line, health, marked) in [
        ("{}", locked, Health::Healthy, false),
        (
            r#"{"nvidia_gpu_locked":{"threshold":1}}"#,
            locked,
            Health::Degraded,
            true,
        ),
        (
            r#"{"nvidia_gpu_locked":{"severity":"fatal","threshold":1}}"#,
            locked,
            Health::Unhealthy,
            true,
        ),
        (
            r#"{"nvidia_gpu_locked":{"threshold":1}}"#,
            DEAD,
            Health::Unhealthy,
            false,
        ),
        (
            r#"{"mlx5_fatal_error":{"severity":"ignore"}}"#,
            DEAD,
            Health::Healthy,
            true,
        ),
        // A card that is back is back, whatever else is said of its loss.
        (
            r#"{"mlx5_fatal_error":{"severity":"critical"}}"#,
            DEAD,
            Health::Degraded,
            true,
        ),
    ] {
        let document = format!("{{\"policy\":{policy}}}");
        let policy = gpud_sdk::policy::alone(&document, &CATALOG).unwrap();
        let judged = |lines: &[(u64, &str)]| {
            let stored = incidents::as_stored(all(lines));
            let drivers = Drivers::default();
            judge(
                &context(NOW),
                &Config::default(),
                &policy,
                &stored,
                &[],
                &drivers,
                Vec::new,
            )
            .states
            .remove(0)
        };
        let state = judged(&[(1, line)]);
        assert_eq!(state.health, health, "{document}: {}", state.reason);
        assert_eq!(
            state.reason.ends_with(" (site policy)"),
            marked,
            "{document}: {}",
            state.reason
        );
        if line == DEAD {
            let state = judged(&[(2, line), (1, BACK)]);
            assert_eq!(state.health, Health::Healthy, "{}", state.reason);
        }
    }
}
