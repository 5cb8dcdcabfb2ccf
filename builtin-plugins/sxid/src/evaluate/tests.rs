//! Reports from histories and kernel logs.

use gpud_sdk::nvml::Library;
use gpud_sdk::{Evidence, Health, Recovery, RepairAction, Subject, SuggestedActions, Trigger};

use super::*;

const NOW: u64 = 1_740_824_500_000;

fn context() -> CheckContext {
    CheckContext {
        component: crate::COMPONENT.into(),
        now: NOW,
        trigger: Trigger::Event,
        boot_id: "b0".into(),
        boot_time: 0,
        previous_check: None,
        extra: Vec::new(),
    }
}

fn kernel(sequence: u64, time: u64, text: &str) -> Message {
    Message {
        sequence,
        time,
        level: 3,
        facility: 0,
        text: text.into(),
        dictionary: None,
    }
}

fn driver(library: Library, product: &str) -> Driver {
    Driver {
        library,
        product: Ok(product.into()),
    }
}

fn h100() -> Driver {
    driver(Library::Loaded, "NVIDIA H100 80GB HBM3")
}

fn no_driver() -> Driver {
    driver(Library::NotFound("libnvidia-ml.so.1".into()), "")
}

fn config() -> Config {
    crate::config::read("{}").unwrap()
}

const FAULT: &str =
    "nvidia-nvswitch5: SXid (PCI:0000:c4:00.0): 20034, Fatal, Link 11 LTSSM Fault Up";
const FAULT_TEXT: &str = "SXID 20034(LTSSM Fault Up) detected on PCI:0000:c4:00.0";
const REPLAY: &str =
    "nvidia-nvswitch5: SXid (PCI:0000:c4:00.0): 20001, Non-fatal, Link 11 TX Replay Error";

/// Stores the SXids of lines, a second apart; gives them newest first.
fn history(lines: &[&str]) -> Vec<StoredEvent> {
    let messages: Vec<Message> = (1..)
        .zip(lines)
        .map(|(at, line)| kernel(at, at * 1000, line))
        .collect();
    let stored = |event: Event| StoredEvent {
        count: 1,
        last_time: event.time,
        event,
    };
    let events = events(&context(), &config(), &messages).unwrap();
    events.into_iter().map(stored).rev().collect()
}

fn judged(events: &[StoredEvent], reboots: Vec<u64>) -> HealthState {
    let report = check(&config(), events, Ok(reboots), || false, h100);
    assert!(report.supported && report.events.is_empty() && report.metrics.is_empty());
    let [state] = <[HealthState; 1]>::try_from(report.states).unwrap();
    state
}

#[test]
fn without_errors_all_is_well() {
    let expected = HealthState {
        name: Some("error_sxid".into()),
        time: None,
        ..HealthState::healthy(&context(), "SXIDComponent is healthy")
    };
    assert_eq!(judged(&[], vec![5_000]), expected);
}

#[test]
fn a_fatal_error_is_reported_in_full() {
    let switch = ("nvswitch".to_owned(), "0000:c4:00.0".to_owned());
    let expected = HealthState {
        name: Some("error_sxid".into()),
        time: None,
        health: Health::Unhealthy,
        reason: FAULT_TEXT.into(),
        error: None,
        suggested_actions: Some(SuggestedActions {
            description: String::new(),
            repair_actions: vec![RepairAction::RebootSystem],
        }),
        subject: Some(Subject::Other(switch)),
        recovery: vec![Recovery::Reboot, Recovery::SetHealthy],
        latch: false,
        evidence: vec![Evidence::Kmsg(1), Evidence::Other("boot b0".into())],
        extra_info: [
            ("vendor_action", "RESET_BY_SCOPE"),
            (
                "vendor_action_words",
                "reset the GPUs of the job (access link) or all GPUs and NVSwitches (trunk link)",
            ),
            ("xid_catalog", "gpud"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into(),
        extra: Vec::new(),
    };
    assert_eq!(judged(&history(&[FAULT]), vec![]), expected);
}

#[test]
fn reboots_and_orders() {
    let both = history(&[FAULT, "SXid (PCI:0000:c4:00.0): 12028, x"]);
    let reason = |reboots: Vec<u64>| judged(&both, reboots).reason;
    assert!(reason(vec![]).starts_with("SXID 12028("));
    assert_eq!(reason(vec![9_000]), "SXIDComponent is healthy");
    // Newest first; a reboot in the second of an error comes after it.
    assert_eq!(reason(vec![2_999, 500]), "SXIDComponent is healthy");
    assert!(reason(vec![1_999, 500]).starts_with("SXID 12028("));
    // The same code again after two reboots.
    let state = judged(&history(&[FAULT, "x", "x", FAULT]), vec![3_000, 2_000]);
    assert_eq!(
        state.suggested_actions.unwrap().repair_actions,
        [RepairAction::HardwareInspection]
    );
    assert_eq!(state.recovery, [Recovery::SetHealthy]);
}

#[test]
fn harmless_errors_leave_a_healthy_state_with_a_reason() {
    let state = judged(&history(&[REPLAY]), vec![]);
    assert_eq!(state.health, Health::Healthy);
    assert_eq!(
        state.reason,
        "SXID 20001(TX Replay Error) detected on PCI:0000:c4:00.0"
    );
    assert_eq!((state.suggested_actions, state.recovery), (None, vec![]));
    // Not listed: seen, but not judged.
    let state = judged(&history(&["SXid (PCI:0:1): 28006, Fatal, x"]), vec![]);
    assert_eq!(
        (state.health, state.reason.as_str()),
        (Health::Healthy, "SXID 28006 detected on PCI:0:1")
    );
}

#[test]
fn an_unreadable_reboot_history_is_reported() {
    let failed = Err(AccessError::Other("disk full".into()));
    let report = check(&config(), &history(&[FAULT]), failed, || false, h100);
    let state = &report.states[0];
    assert_eq!(state.health, Health::Unhealthy);
    assert_eq!(
        state.error.as_deref(),
        Some("failed to get reboot events: disk full\n")
    );
}

#[test]
fn foreign_rows_do_not_count() {
    let mut rows = history(&[FAULT]);
    rows[0].event.name = "other".into();
    let report = check(&config(), &rows, Ok(vec![]), || false, no_driver);
    let missing = "no NVIDIA driver, and no SXid so far";
    assert_eq!(report.states[0].reason, missing);
    assert!(!report.supported);
}

#[test]
fn who_is_watched() {
    for (driver, expected) in [
        (h100(), true),
        (driver(Library::Loaded, " "), false),
        (driver(Library::Failed("Unknown Error".into()), ""), true),
        (no_driver(), false),
    ] {
        let supported = |events: &[StoredEvent], seen: bool| {
            check(&config(), events, Ok(vec![]), || seen, || driver.clone()).supported
        };
        assert_eq!(supported(&[], false), expected, "{driver:?}");
        assert!(supported(&history(&[REPLAY]), false));
        assert!(
            supported(&[], true),
            "what was cleared is shown to be healthy"
        );
    }
}

#[test]
fn unknown_actions_are_shown_as_they_are() {
    for (word, action) in [
        ("REBOOT_SYSTEM", RepairAction::RebootSystem),
        ("HARDWARE_INSPECTION", RepairAction::HardwareInspection),
        ("X", RepairAction::Other("X".into())),
    ] {
        assert_eq!(gpud_sdk::catalog::repair_action(word), action);
    }
}

#[test]
fn whose_lines_are_believed() {
    let count = |facility, text: &str| {
        let message = Message {
            facility,
            ..kernel(1, 1_000, text)
        };
        events(&context(), &config(), &[message]).unwrap().len()
    };
    for (facility, driver_s, wide) in [(0, 1, 0), (1, 1, 1), (5, 1, 1), (3, 0, 0), (9, 0, 0)] {
        assert_eq!(count(facility, FAULT), driver_s, "{facility}");
        assert_eq!(count(facility, "SXid: 20034, x"), wide, "{facility}");
    }
}

fn log(messages: Vec<Message>) -> Result<LookBack, AccessError> {
    Ok(LookBack {
        messages,
        scanned: 1_234,
        unparsable: 0,
    })
}

#[test]
fn a_look_at_the_moment() {
    use Health::{Healthy, Unhealthy};
    let warning = || kernel(1, 1_000, REPLAY);
    let fatal = || kernel(2, 2_000, FAULT);
    let nameless = driver(Library::Loaded, "");
    let failed = driver(Library::Failed("Unknown Error".into()), "");
    let matched = |n: usize| format!("matched {n} sxid errors from 1234 kmsg(s)");
    let missing = "NVIDIA NVML library is not loaded".to_owned();
    let no_name = "NVIDIA NVML is loaded but GPU is not detected (missing product name)".to_owned();
    let not_set = || "kmsg reader is not set".to_owned();
    let eio = || Err(AccessError::Other("EIO".into()));
    for (driver, log, (health, reason, error), events, supported) in [
        (h100(), log(vec![]), (Healthy, matched(0), None), 0, true),
        (
            h100(),
            log(vec![warning()]),
            (Healthy, matched(1), None),
            1,
            true,
        ),
        (
            h100(),
            log(vec![warning(), fatal()]),
            (Unhealthy, matched(2), None),
            2,
            true,
        ),
        // Repeats within a minute of the clock.
        (
            h100(),
            log(vec![
                fatal(),
                kernel(3, 59_999, FAULT),
                kernel(4, 60_000, FAULT),
            ]),
            (Unhealthy, matched(2), None),
            2,
            true,
        ),
        (
            h100(),
            Err(AccessError::Denied("kmsg".into())),
            (Healthy, not_set(), None),
            0,
            true,
        ),
        (
            h100(),
            Err(AccessError::NotFound("kmsg".into())),
            (Healthy, not_set(), None),
            0,
            true,
        ),
        (
            h100(),
            eio(),
            (
                Health::Degraded,
                "cannot be judged: EIO".to_owned(),
                Some("EIO"),
            ),
            0,
            true,
        ),
        // Without NVML, SXids are still reported.
        (
            no_driver(),
            log(vec![]),
            (Healthy, missing.clone(), None),
            0,
            false,
        ),
        (no_driver(), eio(), (Healthy, missing, None), 0, false),
        (
            no_driver(),
            log(vec![fatal()]),
            (Unhealthy, matched(1), None),
            1,
            true,
        ),
        (
            nameless.clone(),
            log(vec![]),
            (Healthy, no_name, None),
            0,
            false,
        ),
        (
            nameless,
            log(vec![warning()]),
            (Healthy, matched(1), None),
            1,
            true,
        ),
        (
            failed,
            log(vec![fatal()]),
            (
                Unhealthy,
                "NVML initialization error: Unknown Error".to_owned(),
                None,
            ),
            0,
            true,
        ),
    ] {
        let report = scan(&context(), &config(), &driver, || log).unwrap();
        assert_eq!((report.events.len(), report.supported), (events, supported));
        let [state] = <[HealthState; 1]>::try_from(report.states).unwrap();
        assert_eq!(
            (state.name.as_deref(), state.time),
            (Some(crate::COMPONENT), Some(NOW))
        );
        assert_eq!(
            (state.health, state.reason, state.error.as_deref()),
            (health, reason, error)
        );
        assert_eq!((state.suggested_actions, state.extra_info), (None, vec![]));
    }
}

#[test]
fn a_look_shows_the_newest_errors() {
    let messages = (0..600)
        .map(|number| kernel(number, number * 60_000, FAULT))
        .collect();
    let report = scan(&context(), &config(), &h100(), || log(messages)).unwrap();
    assert_eq!(
        report.states[0].reason,
        "matched 600 sxid errors from 1234 kmsg(s)"
    );
    assert_eq!(report.events.len(), 256);
    assert_eq!(report.events[255].evidence[0], Evidence::Kmsg(599));
}
