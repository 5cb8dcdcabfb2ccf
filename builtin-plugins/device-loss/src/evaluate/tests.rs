use gpud_sdk::{EventType, Health, Recovery, RepairAction, Trigger};

use super::*;
use crate::patterns::CATALOG;

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
    assert_eq!(some.metrics.len(), NEWS.len());
}

#[test]
fn a_network_card_is_named() {
    let event = all(&[(1, DEAD)]).remove(0);
    assert_eq!(event.name, "mlx5_fatal_error");
    assert_eq!(event.event_type, EventType::Fatal);
    assert_eq!(
        event.message,
        "Network card: fatal error (0000:17:00.0), mlx5_0, ens1np0"
    );
    assert_eq!(incidents::fact(&event, "names"), Some("mlx5_0,ens1np0"));
    assert_eq!(
        event.subject,
        Some(Subject::Other(("nic".into(), "0000:17:00.0".into())))
    );
    let event = all(&[(1, INIT)]).remove(0);
    let gpu = GpuId {
        uuid: None,
        serial: None,
        pci_id: Some("0000:3b:00.0".into()),
    };
    assert_eq!(event.subject, Some(Subject::Gpu(gpu)));
    // A card is looked up once, a GPU never.
    let mut asked = 0;
    let line = |text: &str| Message {
        sequence: 1,
        time: NOW,
        level: 3,
        facility: 0,
        text: text.into(),
        dictionary: None,
    };
    let lines = [line(DEAD), line(INIT), line(DEAD)];
    events(&context(NOW), &lines, &mut Repeats::default(), |_| {
        asked += 1;
        vec![]
    });
    assert_eq!(asked, 1);
    let mut service = line(DEAD);
    service.facility = 3;
    let mut repeats = Repeats::default();
    assert_eq!(
        events(&context(NOW), &[service], &mut repeats, |_| vec![]),
        []
    );
}

#[test]
fn a_card_that_recovers_is_healthy_again() {
    let (health, reason) = verdict(&[(5, DEAD)]);
    assert_eq!(health, Health::Unhealthy);
    assert_eq!(
        reason,
        "Network card: fatal error (0000:17:00.0), mlx5_0, ens1np0"
    );
    assert_eq!(verdict(&[(5, DEAD), (4, BACK)]).0, Health::Healthy);
    assert_eq!(
        verdict(&[(5, DEAD), (4, &BACK.replace("17", "18"))]).0,
        Health::Unhealthy
    );
    assert_eq!(verdict(&[(5, BACK), (4, DEAD)]).0, Health::Unhealthy);
    let failed = "mlx5_core 0000:17:00.0: mlx5_health_try_recover:381:(pid 1): health recovery flow aborted, PCI reads still not working";
    let state = report(&[(5, DEAD), (4, failed)], &[]).states.remove(0);
    assert_eq!(
        state.reason,
        "Network card: recovery failed (0000:17:00.0), mlx5_0, ens1np0: health recovery flow aborted, PCI reads still not working; Network card: fatal error (0000:17:00.0), mlx5_0, ens1np0"
    );
    assert_eq!(
        state.recovery,
        [
            Recovery::Reboot,
            Recovery::At(NOW - 4 * MINUTE + LOOK_BACK_MS),
            Recovery::SetHealthy
        ]
    );
}

#[test]
fn a_gpu_that_does_not_start() {
    let state = report(&[(5, INIT), (4, INIT)], &[]).states.remove(0);
    assert_eq!(state.health, Health::Unhealthy);
    assert_eq!(
        state.reason,
        "NVIDIA driver could not bring the GPU up (0000:3b:00.0), 2 times: 0x26:0xffff:1474"
    );
    let actions = state.suggested_actions.unwrap();
    assert_eq!(actions.repair_actions, [RepairAction::RebootSystem]);
    assert_eq!(
        report(&[(5, INIT)], &[NOW - MINUTE]).states[0].health,
        Health::Healthy
    );
    // Two reboots did not help.
    let boots = [NOW - 15 * MINUTE, NOW - 35 * MINUTE];
    let state = report(&[(50, INIT), (30, INIT), (10, INIT)], &boots)
        .states
        .remove(0);
    let actions = state.suggested_actions.unwrap();
    assert_eq!(actions.repair_actions, [RepairAction::HardwareInspection]);
}

#[test]
fn what_devices_recover_from_counts_when_it_comes_often() {
    use Health::{Degraded, Healthy};
    for line in [
        "NVRM: krcWatchdog_IMPL: RC watchdog: GPU is probably locked!  Notify Timeout Seconds: 7",
        "mlx5_core 0000:01:00.0: wait_func:1004:(pid 9): DESTROY_EQ(0x302) timeout. Will cause a leak of a command resource",
        "mlx5_core 0000:17:00.0 ens1np0: TX timeout detected",
    ] {
        assert_eq!(verdict(&[(9, line), (8, line)]).0, Healthy, "{line}");
        assert_eq!(
            verdict(&[(9, line), (8, line), (7, line)]).0,
            Degraded,
            "{line}"
        );
        assert_eq!(
            verdict(&[(99, line), (98, line), (97, line)]).0,
            Healthy,
            "{line}"
        );
    }
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
fn nouveau_is_blamed_only_where_it_has_the_gpus() {
    let stored = incidents::as_stored(all(&[(5, CONFLICT_LINE)]));
    let state = |taken: &[&str]| {
        let taken = taken.iter().map(|id| (*id).to_owned()).collect();
        judge(
            &context(NOW),
            &Config::default(),
            &Policy::none(&CATALOG),
            &stored,
            &[],
            &Drivers::default(),
            || taken,
        )
        .states
        .remove(0)
    };
    // Passed on to virtual machines by vfio-pci, say.
    assert_eq!(state(&[]).health, Health::Healthy);
    let blamed = state(&["0000:3b:00.0", "0000:5e:00.0"]);
    assert_eq!(blamed.health, Health::Degraded);
    assert_eq!(
        blamed.reason,
        "nouveau has GPUs that are meant for the NVIDIA driver: 0000:3b:00.0, 0000:5e:00.0"
    );
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

#[test]
fn a_time_out_of_sending_counts_once() {
    let watchdog = "mlx5_core 0000:17:00.0 ens1np0: NETDEV WATCHDOG: CPU: 3: transmit queue 0 timed out 5000 ms";
    let driver = "mlx5_core 0000:17:00.0 ens1np0: TX timeout detected";
    let events = all(&[(9, watchdog), (9, driver), (8, watchdog), (8, driver)]);
    assert_eq!(events.len(), 2);
    assert_eq!(
        events[0].message,
        "Network card: does not send (0000:17:00.0), mlx5_0, ens1np0"
    );
    assert_eq!(incidents::fact(&events[0], "queue"), Some("0"));
    // Two interfaces at once are two; the name of one is not looked up as a PCI id.
    let lines = ["eth0", "eth1"]
        .map(|name| format!("NETDEV WATCHDOG: {name} (e1000e): transmit queue 0 timed out"));
    let message = |text: &String| Message {
        sequence: 1,
        time: NOW,
        level: 3,
        facility: 0,
        text: text.clone(),
        dictionary: None,
    };
    let messages: Vec<Message> = lines.iter().map(message).collect();
    let events = events_without_lookup(&messages);
    assert_eq!(events.len(), 2);
    assert_eq!(
        (events[1].subject.as_ref(), incidents::device(&events[1])),
        (None, "eth1")
    );
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
    for (n, news) in NEWS.iter().enumerate() {
        let same = |other: &kinds::News| other.kind == news.kind || other.event == news.event;
        assert_eq!(NEWS.iter().position(same), Some(n));
    }
    for rule in rules::rules(&Config::default(), true) {
        let names = std::iter::once(rule.event).chain(rule.ended_by.iter().copied());
        for name in names {
            assert!(NEWS.iter().any(|news| news.event == name), "{name}");
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
        let policy = gpud_builtin_shared::policy::alone(&document, &CATALOG).unwrap();
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

#[test]
fn repeats_count_from_the_first_line() {
    // The edge of a window of the clock is between the two.
    let edge = NOW - NOW % 300_000 - 600_000;
    let line = |time: u64| Message {
        sequence: 1,
        time,
        level: 3,
        facility: 0,
        text: INIT.into(),
        dictionary: None,
    };
    let mut repeats = Repeats::restore(None, "boot");
    let first = events(
        &context(NOW),
        &[line(edge - 40_000)],
        &mut repeats,
        |_| vec![],
    );
    // The next batch, after a restart.
    let saved = repeats.changed();
    let mut repeats = Repeats::restore(saved.as_deref(), "boot");
    let second = events(
        &context(NOW),
        &[line(edge + 1_000)],
        &mut repeats,
        |_| vec![],
    );
    let stored = incidents::as_stored([first, second].concat());
    assert_eq!((stored.len(), stored[0].count), (1, 2));
}

#[test]
fn a_syndrome_is_as_heavy_as_its_report() {
    let severity = |word: &str| {
        format!(
            "mlx5_core 0000:17:00.0: print_health_info:496:(pid 0): Health issue observed, EQ error, {word}:"
        )
    };
    let syndrome = "mlx5_core 0000:17:00.0: print_health_info:510:(pid 0): synd 0xd: EQ error";
    let other = "mlx5_core 0000:61:00.0: print_health_info:510:(pid 0): synd 0xd: EQ error";
    let names = |texts: &[(u64, &str)]| -> Vec<String> {
        all(texts).into_iter().map(|event| event.name).collect()
    };
    let (warning, info) = (
        severity("severity(4) WARNING"),
        severity("severity(6) INFO"),
    );
    for (texts, expected) in [
        (&[(1, syndrome)][..], &["mlx5_health_issue"][..]),
        (
            &[(1, &*warning), (1, syndrome)],
            &["mlx5_health_warning", "mlx5_health_warning"],
        ),
        (
            &[(1, &*info), (1, syndrome)],
            &["mlx5_health_notice", "mlx5_health_notice"],
        ),
        (
            &[(1, &*info), (1, other)],
            &["mlx5_health_notice", "mlx5_health_issue"],
        ),
        (
            &[(3, &*info), (1, syndrome)],
            &["mlx5_health_notice", "mlx5_health_issue"],
        ),
    ] {
        assert_eq!(names(texts), expected, "{texts:?}");
    }
}
