//! Reports from histories and kernel logs.

use gpud_sdk::nvml::Library;
use gpud_sdk::{
    EventType, Evidence, GpuId, Health, Recovery, RepairAction, Subject, SuggestedActions, Trigger,
};

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

fn not_seen() -> bool {
    false
}

fn h100() -> Driver {
    driver(Library::Loaded, "NVIDIA H100 80GB HBM3")
}

fn no_driver() -> Driver {
    driver(Library::NotFound("libnvidia-ml.so.1".into()), "")
}

fn gpus() -> Vec<Gpu> {
    vec![Gpu {
        uuid: "GPU-a".into(),
        bus_id: "0000:3b:00.0".into(),
        ..Gpu::default()
    }]
}

#[test]
fn lines_of_services_and_users_are_not_believed() {
    const LOST: &str = "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=x, GPU has fallen off the bus.";
    // As journald writes it for any user: a name that the user chose, the number of the process, a text.
    let passed_on = format!("{LOST}[4711]: x");
    for (facility, of_root, of_user) in [
        (0, 1, 1),
        (1, 1, 0),
        (3, 0, 0),
        (4, 0, 0),
        (5, 1, 0),
        (9, 0, 0),
        (16, 0, 0),
    ] {
        let count = |text: &str| {
            let message = Message {
                facility,
                ..kernel(7, 1_000, text)
            };
            let found = events(&context(), &config(), &[message], || None, gpus);
            found.unwrap().len()
        };
        assert_eq!(count(LOST), of_root, "{facility}");
        assert_eq!(count(&passed_on), of_user, "{facility}");
    }
}

/// Stores the Xids of lines, a second apart; gives them newest first.
fn history(lines: &[&str], gpus: fn() -> Vec<Gpu>) -> Vec<StoredEvent> {
    let messages: Vec<Message> = (1..)
        .zip(lines)
        .map(|(at, line)| kernel(at, at * 1000, line))
        .collect();
    let events = events(&context(), &config(), &messages, || None, gpus).unwrap();
    let stored = |event: Event| StoredEvent {
        count: 1,
        last_time: event.time,
        event,
    };
    events.into_iter().map(stored).rev().collect()
}

fn config() -> Config {
    crate::config::read("{}").unwrap()
}

const OFF: &str = "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=x, GPU has fallen off the bus.";
const OFF_TEXT: &str = "XID 79 ROBUST_CHANNEL_GPU_HAS_FALLEN_OFF_THE_BUS GPU has fallen off the bus detected on GPU PCI:0000:3b:00";

fn state(report: &Report) -> &HealthState {
    assert_eq!(report.states.len(), 1);
    &report.states[0]
}

#[test]
fn without_errors_all_is_well() {
    let report = check(
        &config(),
        &[],
        Ok(vec![5_000]),
        not_seen,
        h100,
        || unreachable!(),
    );
    assert!(report.supported && report.events.is_empty() && report.metrics.is_empty());
    let expected = HealthState {
        name: Some("error_xid".into()),
        time: None,
        ..HealthState::healthy(&context(), "XIDComponent is healthy")
    };
    assert_eq!(*state(&report), expected);
}

#[test]
fn a_fatal_error_is_reported_in_full() {
    let history = history(&[OFF], gpus);
    // By now the GPU is gone, and so is NVML.
    let report = check(
        &config(),
        &history,
        Ok(vec![]),
        not_seen,
        no_driver,
        Vec::new,
    );
    assert!(report.supported, "an Xid proves a driver");
    let gpu = GpuId {
        uuid: Some("GPU-a".into()),
        serial: None,
        pci_id: Some("0000:3b:00.0".into()),
    };
    let expected = HealthState {
        name: Some("error_xid".into()),
        time: None,
        health: Health::Unhealthy,
        reason: format!("{OFF_TEXT} UUID:GPU-a"),
        error: None,
        suggested_actions: Some(SuggestedActions {
            description: String::new(),
            repair_actions: vec![RepairAction::RebootSystem],
        }),
        subject: Some(Subject::Gpu(gpu)),
        recovery: vec![Recovery::Reboot, Recovery::SetHealthy],
        latch: false,
        evidence: vec![Evidence::Kmsg(1), Evidence::Other("boot b0".into())],
        extra_info: [
            ("gpu", "0000:3b:00.0, GPU-a"),
            ("vendor_action", "RESTART_BM"),
            ("vendor_action_words", "restart the host"),
            ("xid_catalog", "gpud"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into(),
        extra: Vec::new(),
    };
    assert_eq!(*state(&report), expected);
    // A UUID that was not known then is looked up now.
    let history = self::history(&[OFF], Vec::new);
    let report = check(&config(), &history, Ok(vec![]), not_seen, no_driver, gpus);
    assert_eq!(*state(&report), expected);
    let report = check(
        &config(),
        &history,
        Ok(vec![]),
        not_seen,
        no_driver,
        Vec::new,
    );
    assert_eq!(state(&report).reason, OFF_TEXT);
}

#[test]
fn reboots_and_orders() {
    let reason = |report: Report| state(&report).reason.clone();
    let both = history(&[OFF, "NVRM: Xid (PCI:0000:3b:00): 119, x"], Vec::new);
    let judge = |reboots: Vec<u64>| check(&config(), &both, Ok(reboots), not_seen, h100, Vec::new);
    assert_eq!(
        reason(judge(vec![])),
        "XID 119 GSP_RPC_TIMEOUT GSP RPC Timeout detected on GPU PCI:0000:3b:00"
    );
    assert_eq!(reason(judge(vec![9_000])), "XIDComponent is healthy");
    // Newest first; a reboot in the second of an error comes after it.
    assert_eq!(reason(judge(vec![2_999, 500])), "XIDComponent is healthy");
    assert!(reason(judge(vec![1_999, 500])).starts_with("XID 119 "));
    // The same code again after two reboots.
    let again = history(&[OFF, "x", "x", OFF], Vec::new);
    let report = check(
        &config(),
        &again,
        Ok(vec![3_000, 2_000]),
        not_seen,
        h100,
        Vec::new,
    );
    let actions = &state(&report)
        .suggested_actions
        .as_ref()
        .unwrap()
        .repair_actions;
    assert_eq!(*actions, [RepairAction::HardwareInspection]);
    assert_eq!(state(&report).recovery, [Recovery::SetHealthy]);
}

#[test]
fn harmless_errors_leave_a_healthy_state_with_a_reason() {
    let report = check(
        &config(),
        &history(&["NVRM: Xid (PCI:0000:3b:00): 31, x"], gpus),
        Ok(vec![]),
        not_seen,
        h100,
        Vec::new,
    );
    let state = state(&report);
    assert_eq!(
        (&state.health, state.recovery.as_slice()),
        (&Health::Healthy, &[][..])
    );
    assert!(
        state.reason.starts_with("XID 31 ") && state.reason.ends_with(" UUID:GPU-a"),
        "{}",
        state.reason
    );
    assert!(state.suggested_actions.is_some());
}

#[test]
fn an_unreadable_reboot_history_is_reported() {
    let failed = || Err(AccessError::Other("disk full".into()));
    let report = check(
        &config(),
        &history(&[OFF], gpus),
        failed(),
        not_seen,
        h100,
        Vec::new,
    );
    assert_eq!(state(&report).health, Health::Unhealthy);
    assert_eq!(
        state(&report).error.as_deref(),
        Some("failed to get reboot events: disk full\n")
    );
}

#[test]
fn old_marks_of_set_healthy_and_foreign_rows() {
    let row = |name: &str| StoredEvent {
        event: Event::new(1, name, EventType::Info, ""),
        count: 1,
        last_time: 1,
    };
    let mut rows = history(&[OFF], gpus);
    rows.insert(0, row("other"));
    assert_eq!(
        state(&check(&config(), &rows, Ok(vec![]), not_seen, h100, gpus)).health,
        Health::Unhealthy
    );
    rows.insert(0, row("SetHealthy"));
    let cleared = check(&config(), &rows, Ok(vec![]), not_seen, h100, gpus);
    assert_eq!(state(&cleared).reason, "XIDComponent is healthy");
    rows.splice(0..0, history(&["NVRM: Xid (PCI:0000:3b:00): 119, x"], gpus));
    let since = check(&config(), &rows, Ok(vec![]), not_seen, h100, gpus);
    assert!(state(&since).reason.starts_with("XID 119 "));
}

#[test]
fn who_is_watched() {
    let hung = AccessError::Other("no answer".into());
    for (driver, supported) in [
        (h100(), true),
        (driver(Library::Loaded, " "), false),
        (
            Driver {
                library: Library::Loaded,
                product: Err(hung),
            },
            true,
        ),
        (driver(Library::Failed("Unknown Error".into()), ""), true),
        (no_driver(), false),
        (driver(Library::Other("not yet".into()), ""), true),
    ] {
        let report = check(
            &config(),
            &[],
            Ok(vec![]),
            not_seen,
            || driver.clone(),
            Vec::new,
        );
        assert_eq!(
            (report.supported, report.states.len()),
            (supported, 1),
            "{driver:?}"
        );
        // `list-plugins` and `/v1/components?detail` show why.
        let missing = "no NVIDIA driver, and no Xid so far";
        assert_eq!(state(&report).reason == missing, !supported, "{driver:?}");
        let report = check(
            &config(),
            &history(&[OFF], gpus),
            Ok(vec![]),
            not_seen,
            || driver.clone(),
            Vec::new,
        );
        assert!(report.supported);
        let cleared = check(
            &config(),
            &[],
            Ok(vec![]),
            || true,
            || driver.clone(),
            Vec::new,
        );
        assert!(cleared.supported, "what was cleared is shown to be healthy");
    }
}

#[test]
fn a_chip_that_the_log_names_says_whether_rows_are_remapped() {
    let line = "NVRM: Xid (PCI:0000:3b:00): 63, unknown";
    let saved = crate::config::read(r#"{"saved_log":true}"#).unwrap();
    let noted = |chip: Option<u16>| {
        let gpu = Gpu {
            bus_id: "0000:3b:00.0".into(),
            slot: Some("5".into()),
            chip,
            ..Gpu::default()
        };
        let messages = [kernel(1, 1, line)];
        let mut events = events(&context(), &saved, &messages, || None, || vec![gpu]).unwrap();
        let event = events.remove(0);
        let fact = |key: &str| {
            let mut facts = event.extra_info.iter();
            facts.find(|(known, _)| known == key).unwrap().1.clone()
        };
        assert_eq!(fact("gpu"), "0000:3b:00.0, slot 5");
        assert!(!event.message.contains("UUID"), "{}", event.message);
        (event.event_type.clone(), fact("note"))
    };
    let (severity, note) = noted(Some(0x2330));
    assert_eq!(severity, EventType::Info);
    assert!(note.contains("takes effect"), "{note}");
    let (severity, note) = noted(Some(0x1db6));
    assert_eq!(severity, EventType::Fatal);
    assert!(note.contains("does not remap"), "{note}");
    assert!(noted(None).1.contains("--product"));
}

#[test]
fn remapped_rows_are_left_to_their_component() {
    let messages = [
        kernel(1, 1, "NVRM: Xid (PCI:0000:3b:00): 63, x"),
        kernel(2, 2, OFF),
        kernel(3, 3, "not one"),
        kernel(4, 4, "NVRM: Xid (PCI:0000:3b:00): 64, x"),
    ];
    let sequences = |product: Option<&str>| -> Vec<Option<(&str, u64)>> {
        let product = product.map(str::to_owned);
        let events = events(&context(), &config(), &messages, || product, gpus).unwrap();
        events
            .iter()
            .map(|event| row::source(&event.evidence).map(|(_, number)| ("", number)))
            .collect()
    };
    assert_eq!(sequences(Some("NVIDIA H100 80GB HBM3")), [Some(("", 2))]);
    let all = [Some(("", 1)), Some(("", 2)), Some(("", 4))];
    assert_eq!(sequences(Some("Tesla V100-SXM2-16GB")), all);
    assert_eq!(sequences(None), all);
    // NVML is asked only when there is a reason to.
    assert_eq!(
        events(
            &context(),
            &config(),
            &messages[2..3],
            || unreachable!(),
            || unreachable!()
        ),
        Ok(vec![])
    );
    assert_eq!(
        events(
            &context(),
            &config(),
            &messages[1..2],
            || unreachable!(),
            gpus
        )
        .unwrap()
        .len(),
        1
    );
}

fn log(messages: Vec<Message>) -> Result<LookBack, AccessError> {
    Ok(LookBack {
        messages,
        scanned: 1_234,
        unparsable: 0,
    })
}

fn looked(
    driver: &Driver,
    log: Result<LookBack, AccessError>,
) -> (Health, String, Option<String>, usize, bool) {
    let report = scan(&context(), &config(), driver, || log, gpus).unwrap();
    let state = state(&report).clone();
    assert_eq!(
        (state.name.as_deref(), state.time),
        (Some(crate::COMPONENT), Some(NOW))
    );
    assert_eq!((state.suggested_actions, state.extra_info), (None, vec![]));
    (
        state.health,
        state.reason,
        state.error,
        report.events.len(),
        report.supported,
    )
}

#[test]
fn a_look_at_the_moment() {
    use Health::{Healthy, Unhealthy};
    let warning = || kernel(1, 1_000, "NVRM: Xid (PCI:0000:3b:00): 31, x");
    let fatal = || kernel(2, 2_000, OFF);
    let empty_name = driver(Library::Loaded, "");
    let failed = driver(
        Library::Failed("error getting device handle for index '0': x".into()),
        "",
    );
    let unreadable = || Err(AccessError::Other("EIO".into()));
    let matched = |n: usize| format!("matched {n} xid errors from 1234 kmsg(s)");
    let missing = "NVIDIA NVML library is not loaded".to_owned();
    let nameless =
        "NVIDIA NVML is loaded but GPU is not detected (missing product name)".to_owned();
    let not_set = || "kmsg reader is not set".to_owned();
    for (driver, log, expected) in [
        (h100(), log(vec![]), (Healthy, matched(0), None, 0, true)),
        (
            h100(),
            log(vec![warning()]),
            (Healthy, matched(1), None, 1, true),
        ),
        (
            h100(),
            log(vec![warning(), fatal()]),
            (Unhealthy, matched(2), None, 2, true),
        ),
        // Repeats within a minute of the clock.
        (
            h100(),
            log(vec![
                fatal(),
                kernel(3, 59_999, OFF),
                kernel(4, 60_000, OFF),
            ]),
            (Unhealthy, matched(2), None, 2, true),
        ),
        (
            h100(),
            log(vec![kernel(1, 1, "NVRM: Xid (PCI:0000:3b:00): 63, x")]),
            (Healthy, matched(0), None, 0, true),
        ),
        (
            driver(Library::Loaded, "Tesla V100-SXM2-16GB"),
            log(vec![kernel(1, 1, "NVRM: Xid (PCI:0000:3b:00): 63, x")]),
            (Unhealthy, matched(1), None, 1, true),
        ),
        (
            h100(),
            Err(AccessError::Denied("kmsg".into())),
            (Healthy, not_set(), None, 0, true),
        ),
        (
            h100(),
            Err(AccessError::NotFound("kmsg".into())),
            (Healthy, not_set(), None, 0, true),
        ),
        (
            h100(),
            unreadable(),
            (
                Health::Degraded,
                "cannot be judged: EIO".into(),
                Some("EIO".into()),
                0,
                true,
            ),
        ),
        // Without NVML, Xids are still reported.
        (
            no_driver(),
            log(vec![]),
            (Healthy, missing.clone(), None, 0, false),
        ),
        (
            no_driver(),
            unreadable(),
            (Healthy, missing, None, 0, false),
        ),
        (
            no_driver(),
            log(vec![fatal()]),
            (Unhealthy, matched(1), None, 1, true),
        ),
        (
            empty_name.clone(),
            log(vec![]),
            (Healthy, nameless, None, 0, false),
        ),
        (
            empty_name,
            log(vec![warning()]),
            (Healthy, matched(1), None, 1, true),
        ),
        (
            failed,
            log(vec![fatal()]),
            (
                Unhealthy,
                "NVML initialization error: error getting device handle for index '0': x".into(),
                None,
                0,
                true,
            ),
        ),
    ] {
        assert_eq!(looked(&driver, log), expected);
    }
}

#[test]
fn a_look_shows_the_newest_errors() {
    let messages = (0..600)
        .map(|number| kernel(number, number * 60_000, OFF))
        .collect();
    let report = scan(&context(), &config(), &h100(), || log(messages), gpus).unwrap();
    assert_eq!(
        state(&report).reason,
        "matched 600 xid errors from 1234 kmsg(s)"
    );
    assert_eq!(report.events.len(), 256);
    assert_eq!(row::source(&report.events[255].evidence), Some(("b0", 599)));
}
