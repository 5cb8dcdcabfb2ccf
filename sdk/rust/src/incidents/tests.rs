use super::*;
use crate::{Health, Recovery, RepairAction};

const HOUR: u64 = 3_600_000;
const DAY: u64 = 24 * HOUR;

fn context(now: u64) -> CheckContext {
    CheckContext {
        component: "wheels".into(),
        now,
        trigger: crate::Trigger::Scheduled,
        boot_id: "b".into(),
        boot_time: 0,
        previous_check: None,
        extra: vec![],
    }
}

fn rule() -> Rule {
    Rule {
        event: "wheel_lost",
        at_least: 1,
        remember_ms: DAY,
        reboot_clears: true,
        ended_by: &["wheel_found"],
        health: Health::Unhealthy,
        action: Some(RepairAction::RebootSystem),
        advice: "Count the wheels.",
    }
}

fn seen(name: &str, device: &str, time: u64, count: u64) -> StoredEvent {
    let mut event = Event::new(
        time,
        name,
        EventType::Critical,
        format!("{name} \"{device}\""),
    );
    if !device.is_empty() {
        event.extra_info.push((DEVICE.into(), device.into()));
    }
    event.evidence = vec![Evidence::Kmsg(time / HOUR)];
    StoredEvent {
        event,
        count,
        last_time: time,
    }
}

fn open_devices(events: &[StoredEvent], boots: &[u64], now: u64) -> Vec<(String, u64, usize)> {
    open(&[rule()], events, boots, now)
        .into_iter()
        .map(|incident| (incident.device.to_owned(), incident.count, incident.boots))
        .collect()
}

#[test]
fn what_counts() {
    let one = |device: &str, count, boots| (device.to_owned(), count, boots);
    let lost = |device: &str, hour: u64, count| seen("wheel_lost", device, hour * HOUR, count);
    let found = |device: &str, hour: u64| seen("wheel_found", device, hour * HOUR, 1);
    let now = 100 * HOUR;
    // Two devices, repeats added up.
    let events = [lost("b", 99, 2), lost("a", 98, 1), lost("b", 97, 3)];
    assert_eq!(
        open_devices(&events, &[], now),
        [one("a", 1, 1), one("b", 5, 1)]
    );
    // Forgotten after a day, not a moment before.
    let old = [lost("a", 76, 1), lost("b", 75, 1)];
    assert_eq!(open_devices(&old, &[], now), [one("a", 1, 1)]);
    // A reboot clears; what happens in the second of the boot is of that boot.
    assert_eq!(open_devices(&[lost("a", 98, 1)], &[99 * HOUR], now), []);
    assert_eq!(
        open_devices(&[lost("a", 98, 1)], &[98 * HOUR + 7], now),
        [one("a", 1, 1)]
    );
    // Ended by the same device's other event, not by another device's, and not by an earlier one.
    assert_eq!(
        open_devices(&[found("a", 99), lost("a", 98, 1)], &[], now),
        []
    );
    for events in [
        [found("b", 99), lost("a", 98, 1)],
        [found("", 99), lost("a", 98, 1)],
        [lost("a", 98, 1), found("a", 97)],
    ] {
        assert_eq!(open_devices(&events, &[], now), [one("a", 1, 1)]);
    }
    // Boots in which it was seen.
    let events = [
        lost("a", 99, 1),
        lost("a", 94, 1),
        lost("a", 92, 1),
        lost("a", 90, 1),
    ];
    assert_eq!(
        open_devices(&events, &[95 * HOUR, 91 * HOUR], now),
        [one("a", 1, 3)]
    );
}

#[test]
fn a_rule_can_ask_for_several_and_outlive_reboots() {
    let rules = [Rule {
        at_least: 3,
        reboot_clears: false,
        ..rule()
    }];
    let events = [
        seen("wheel_lost", "", 9 * HOUR, 1),
        seen("wheel_lost", "", 5 * HOUR, 1),
    ];
    assert_eq!(open(&rules, &events, &[7 * HOUR], 10 * HOUR), []);
    let events = [
        seen("wheel_lost", "", 9 * HOUR, 1),
        seen("wheel_lost", "", 5 * HOUR, 2),
    ];
    let found = open(&rules, &events, &[7 * HOUR], 10 * HOUR);
    assert_eq!(
        (found[0].count, found[0].boots, found[0].this_boot),
        (3, 2, true)
    );
    assert_eq!((found[0].first, found[0].last), (5 * HOUR, 9 * HOUR));
    assert_eq!(found[0].clears_at(), 9 * HOUR + DAY);
}

#[test]
fn reboots_that_did_not_help_end_in_an_inspection() {
    let events: Vec<_> = [9, 7, 5]
        .map(|hour| seen("wheel_lost", "a", hour * HOUR, 1))
        .into();
    let rules = [rule()];
    for (boots, action) in [
        (vec![], RepairAction::RebootSystem),
        (vec![8 * HOUR], RepairAction::RebootSystem),
        (vec![8 * HOUR, 6 * HOUR], RepairAction::HardwareInspection),
    ] {
        let found = open(&rules, &events, &boots, 10 * HOUR);
        assert_eq!(found[0].action(), Some(action), "{boots:?}");
    }
}

#[test]
fn this_boot_is_known_without_a_history() {
    let mut context = context(10 * HOUR);
    assert_eq!(boots(&context, [5 * HOUR]), [5 * HOUR]);
    context.boot_time = 5 * HOUR + 400;
    assert_eq!(boots(&context, [5 * HOUR]), [5 * HOUR]);
    assert_eq!(boots(&context, []), [5 * HOUR + 400]);
    context.boot_time = 6 * HOUR;
    assert_eq!(boots(&context, [5 * HOUR]), [6 * HOUR, 5 * HOUR]);
}

#[test]
fn words_for_none_one_and_many() {
    let context = context(10 * HOUR);
    let describe = |incident: &Incident<'_>| format!("lost {}", incident.device);
    let none = state(&context, "all four", &[], describe);
    assert_eq!(
        (none.health, none.reason.as_str()),
        (Health::Healthy, "all four")
    );
    assert_eq!((none.recovery.len(), none.suggested_actions), (0, None));

    let rules = [
        Rule {
            event: "wheel_soft",
            reboot_clears: false,
            health: Health::Degraded,
            action: Some(RepairAction::HardwareInspection),
            advice: "Pump.",
            ..rule()
        },
        rule(),
    ];
    let one = [seen("wheel_lost", "a", 9 * HOUR, 2)];
    let found = open(&rules, &one, &[], context.now);
    let verdict = state(&context, "", &found, describe);
    assert_eq!(
        (&verdict.health, verdict.reason.as_str()),
        (&Health::Unhealthy, "lost a")
    );
    let recovery = [
        Recovery::Reboot,
        Recovery::At(9 * HOUR + DAY),
        Recovery::SetHealthy,
    ];
    assert_eq!(verdict.recovery, recovery);
    assert_eq!(verdict.evidence, [Evidence::Kmsg(9)]);
    let data = r#"[{"event":"wheel_lost","device":"a","count":2,"boots":1,"first_unix_ms":32400000,"last_unix_ms":32400000,"message":"wheel_lost \"a\""}]"#;
    assert_eq!(verdict.extra_info, [("data".to_owned(), data.to_owned())]);

    let mut many: Vec<_> = (0..6)
        .map(|n| seen("wheel_soft", &format!("w{n}"), n * HOUR, 1))
        .collect();
    many.push(seen("wheel_lost", "a", HOUR, 1));
    let found = open(&rules, &many, &[], context.now);
    let verdict = state(&context, "", &found, describe);
    assert_eq!(
        verdict.reason,
        "lost a; lost w5; lost w4; lost w3; lost w2; and 2 more"
    );
    // A reboot would not clear all of it.
    assert_eq!(
        verdict.recovery,
        [Recovery::At(5 * HOUR + DAY), Recovery::SetHealthy]
    );
    let actions = verdict.suggested_actions.unwrap();
    assert_eq!(actions.description, "Count the wheels. Pump.");
    assert_eq!(
        actions.repair_actions,
        [RepairAction::HardwareInspection, RepairAction::RebootSystem]
    );
}

#[test]
fn evidence_of_another_boot_is_not_shown() {
    let context = context(10 * HOUR);
    let rules = [Rule {
        reboot_clears: false,
        ..rule()
    }];
    let events = [seen("wheel_lost", "a", 5 * HOUR, 1)];
    let found = open(&rules, &events, &[7 * HOUR], context.now);
    assert_eq!(state(&context, "", &found, |_| String::new()).evidence, []);
}

#[test]
fn sightings_become_events_that_are_counted() {
    let message = |time, facility| Message {
        sequence: 7,
        time,
        level: 3,
        facility,
        text: String::new(),
        dictionary: None,
    };
    let context = context(10 * HOUR);
    let sighting = |device: &str| {
        Sighting::new("wheel_lost", EventType::Critical, "x".repeat(600))
            .of(device)
            .fact("side", "left")
            .fact("none", "")
    };
    // A clock that runs ahead is held back.
    let event = sighting("a").event(&context, &message(11 * HOUR, 0), 300);
    assert_eq!((event.time, event.message.len()), (10 * HOUR, 512));
    assert_eq!(
        (device(&event), fact(&event, "side"), fact(&event, "none")),
        ("a", Some("left"), None)
    );
    let merge = event.merge.clone().unwrap();
    assert_eq!(
        (merge.key.as_str(), merge.window_seconds),
        ("b wheel_lost a", 300)
    );

    let at = |device: &str, time| sighting(device).event(&context, &message(time, 0), 300);
    let stored = as_stored(vec![
        at("a", 1_000),
        at("b", 2_000),
        at("a", 299_999),
        at("a", 300_000),
    ]);
    let rows: Vec<_> = stored
        .iter()
        .map(|row| (device(&row.event), row.event.time, row.last_time, row.count))
        .collect();
    assert_eq!(
        rows,
        [
            ("a", 300_000, 300_000, 1),
            ("b", 2_000, 2_000, 1),
            ("a", 1_000, 299_999, 2)
        ]
    );

    let facilities = (0..24).filter(|facility| is_kernel_line(&message(0, *facility)));
    assert_eq!(facilities.collect::<Vec<_>>(), [0, 1, 5]);
    // As journald writes it for any user: a name that the user chose, the number of the process, a text.
    let facilities = (0..24).filter(|facility| {
        let mut passed_on = message(0, *facility);
        passed_on.text = "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, x[4711]: y".to_owned();
        is_kernel_line(&passed_on)
    });
    assert_eq!(facilities.collect::<Vec<_>>(), [0]);
}

#[test]
fn a_saved_log_may_be_of_any_machine() {
    let mut context = context(0);
    assert!(are_of_this_machine(&context));
    context.boot_id.clear();
    assert!(!are_of_this_machine(&context));
}

#[test]
fn text_is_cut_between_characters() {
    assert_eq!(clip(&"é".repeat(300)).len(), 512);
    assert_eq!(clip(&format!("a{}", "é".repeat(300))).len(), 511);
    assert_eq!(document(&[]), "[]");
}
