use gpud_sdk::incidents::as_stored;
use gpud_sdk::{Event, Evidence, Message};

use super::*;
use crate::row;

const DAY: u64 = 86_400_000;
const NOW: u64 = 1_800_000_000_000;

fn context(boot: &str) -> CheckContext {
    CheckContext {
        component: "machine-check".into(),
        now: NOW,
        trigger: gpud_sdk::Trigger::Scheduled,
        boot_id: boot.into(),
        boot_time: NOW - DAY,
        previous_check: None,
        extra: Vec::new(),
    }
}

const FATAL: &str =
    "mce: [Hardware Error]: CPU 2: Machine Check Exception: 5 Bank 4: b200000000070005";
const LOST: &str =
    "mce: [Hardware Error]: CPU 1: Machine Check Exception: f Bank 1: bd80000000100134";
const FOUND: &str = "mce: [Hardware Error]: CPU 0: Machine Check: 0 Bank 5: bea0000000000108";
const CORRECTED_LINE: &str =
    "mce: [Hardware Error]: CPU 5: Machine Check: 0 Bank 7: 8c00004000010090";
const DEFERRED_LINE: &str =
    "[Hardware Error]: CPU:8 (17:31:0) MC21_STATUS[-|-|Deferred]: 0x8400300000000400";
const UNHANDLED_LINE: &str =
    "Memory failure: 0x9: recovery action for reserved kernel page: Ignored";
const HANDLED_LINE: &str = "Memory failure: 0x9: recovery action for dirty LRU page: Recovered";

/// A stored event of a line seen in a boot, that long before now; `FOUND` right at that boot's start.
fn stored(boot: &str, before: u64, line: &str, count: u64) -> StoredEvent {
    let time = NOW - before;
    let at_start = line == FOUND;
    let seen = CheckContext {
        boot_time: if at_start { time - 5_000 } else { time - DAY },
        ..context(boot)
    };
    let message = Message {
        sequence: 7,
        time,
        level: 0,
        facility: 0,
        text: line.into(),
        dictionary: None,
    };
    let (mut events, _) = row::events(&seen, &[message], || None);
    StoredEvent {
        event: events.remove(0),
        count,
        last_time: time,
    }
}

fn judge(events: &[StoredEvent]) -> (Health, String, Vec<RepairAction>, Vec<Recovery>) {
    let report = check(&context("now"), &Config::default(), events, || true);
    assert_eq!(report.states.len(), 1);
    let state = report.states.into_iter().next().unwrap();
    let actions = state
        .suggested_actions
        .map(|actions| actions.repair_actions);
    (
        state.health,
        state.reason,
        actions.unwrap_or_default(),
        state.recovery,
    )
}

#[test]
fn timelines() {
    use Health::{Degraded, Healthy, Unhealthy};
    use Recovery::{NextGoodReading, Reboot, SetHealthy};
    use RepairAction::{HardwareInspection, RebootSystem};
    let at = |days| Recovery::At(NOW - days * DAY + 14 * DAY);
    type Case = (
        &'static str,
        Vec<StoredEvent>,
        Health,
        Vec<RepairAction>,
        Vec<Recovery>,
    );
    let cases: Vec<Case> = vec![
        ("nothing", vec![], Healthy, vec![], vec![]),
        (
            "one corrected",
            vec![stored("now", 10, CORRECTED_LINE, 1)],
            Healthy,
            vec![],
            vec![],
        ),
        (
            "below the threshold",
            vec![stored("now", 10, CORRECTED_LINE, 99)],
            Healthy,
            vec![],
            vec![],
        ),
        (
            "at the threshold, over two rows and two boots",
            vec![
                stored("now", 10, CORRECTED_LINE, 60),
                stored("old", 20, CORRECTED_LINE, 40),
            ],
            Degraded,
            vec![HardwareInspection],
            vec![NextGoodReading, SetHealthy],
        ),
        (
            "older than the window",
            vec![stored("now", DAY + 1, CORRECTED_LINE, 5000)],
            Healthy,
            vec![],
            vec![],
        ),
        (
            "a page dealt with",
            vec![stored("now", 10, HANDLED_LINE, 1)],
            Healthy,
            vec![],
            vec![],
        ),
        (
            "a page not dealt with",
            vec![stored("now", 10, UNHANDLED_LINE, 1)],
            Degraded,
            vec![RebootSystem],
            vec![Reboot, SetHealthy],
        ),
        (
            "the same before a reboot",
            vec![stored("old", 10, UNHANDLED_LINE, 1)],
            Healthy,
            vec![],
            vec![],
        ),
        (
            "deferred",
            vec![stored("now", 10, DEFERRED_LINE, 1)],
            Degraded,
            vec![RebootSystem],
            vec![Reboot, SetHealthy],
        ),
        (
            "uncorrected",
            vec![stored("now", 10, LOST, 1)],
            Unhealthy,
            vec![RebootSystem],
            vec![Reboot, SetHealthy],
        ),
        (
            "after the reboot",
            vec![stored("old", 10, LOST, 1)],
            Healthy,
            vec![],
            vec![],
        ),
        (
            "back after one reboot",
            vec![stored("now", 10, LOST, 1), stored("a", DAY, FATAL, 2)],
            Unhealthy,
            vec![RebootSystem],
            vec![Reboot, SetHealthy],
        ),
        (
            "back after two reboots",
            vec![
                stored("now", 10, LOST, 1),
                stored("a", DAY, FATAL, 1),
                stored("b", 2 * DAY, LOST, 1),
            ],
            Unhealthy,
            vec![HardwareInspection],
            vec![Reboot, SetHealthy],
        ),
        (
            "found at the start",
            vec![stored("now", 10, FOUND, 4)],
            Healthy,
            vec![],
            vec![],
        ),
        (
            "found at three starts",
            vec![
                stored("now", 10, FOUND, 1),
                stored("a", DAY, FOUND, 1),
                stored("b", 3 * DAY, FOUND, 1),
            ],
            Degraded,
            vec![HardwareInspection],
            vec![at(3), SetHealthy],
        ),
        (
            "one error reported in two boots counts once",
            vec![
                stored("now", 10, FOUND, 1),
                stored("a", 1_000_000, LOST, 1),
                stored("a", DAY, FOUND, 1),
            ],
            Healthy,
            vec![],
            vec![],
        ),
        (
            "uncorrected and too many corrected",
            vec![
                stored("now", 10, LOST, 1),
                stored("now", 20, CORRECTED_LINE, 100),
            ],
            Unhealthy,
            vec![RebootSystem, HardwareInspection],
            vec![SetHealthy],
        ),
    ];
    for (what, events, health, actions, recovery) in cases {
        let found = judge(&events);
        assert_eq!(
            (found.0, found.2, found.3),
            (health, actions, recovery),
            "{what}: {}",
            found.1
        );
    }
}

#[test]
fn reasons_name_what_happened() {
    assert_eq!(judge(&[]).1, "ok");
    let reason = judge(&[
        stored("now", 10, LOST, 2),
        stored("now", 11, UNHANDLED_LINE, 1),
        stored("now", 20, CORRECTED_LINE, 150),
    ])
    .1;
    assert_eq!(
        reason,
        "2 uncorrected hardware error(s) since the machine started, the last one: uncorrected machine check on CPU 1, \
         bank 1: cache, status 0xbd80000000100134; 1 memory page(s) with lost data still in use: page 0x9; too many \
         corrected hardware errors within 24 h: 150 at CPU 5, bank 7"
    );
    let many: Vec<_> = (0..6)
        .map(|cpu| stored("now", 10, &format!("CPU{cpu} BANK7 CMCI storm detected"), 1))
        .collect();
    let reason = judge(&many).1;
    assert!(
        reason.ends_with("CPU 0, bank 7, CPU 1, bank 7, CPU 2, bank 7, CPU 3, bank 7 and 2 more"),
        "{reason}"
    );
}

#[test]
fn a_storm_lasts_until_its_end() {
    let begin = |before| stored("now", before, "CPU3 BANK7 CMCI storm detected", 1);
    let end = |before| stored("now", before, "CPU3 BANK7 CMCI storm subsided", 1);
    let other = stored("now", 5, "CPU3 BANK8 CMCI storm subsided", 1);
    for (what, events, health) in [
        ("going on", vec![begin(100)], Health::Degraded),
        ("over", vec![end(50), begin(100)], Health::Healthy),
        (
            "again",
            vec![begin(10), end(50), begin(100)],
            Health::Degraded,
        ),
        ("another's end", vec![other, begin(100)], Health::Degraded),
        ("long ago", vec![begin(DAY + 1)], Health::Healthy),
        (
            "before the boot",
            vec![stored("old", 100, "CPU3 BANK7 CMCI storm detected", 1)],
            Health::Healthy,
        ),
    ] {
        assert_eq!(judge(&events).0, health, "{what}");
    }
}

#[test]
fn a_machine_without_sources_is_hidden_until_one_speaks() {
    let report = check(&context("now"), &Config::default(), &[], || false);
    assert!(!report.supported && report.metrics.is_empty());
    assert_eq!(report.states[0].health, Health::Healthy);
    let report = check(&context("now"), &Config::default(), &[], || true);
    assert!(report.supported);
    let events = [
        stored("now", 10, LOST, 2),
        stored("now", 10, CORRECTED_LINE, 3),
    ];
    let report = check(&context("now"), &Config::default(), &events, || {
        panic!("not asked")
    });
    assert!(report.supported);
    let metrics: Vec<_> = report
        .metrics
        .iter()
        .map(|metric| (metric.labels[0].1.as_str(), metric.value))
        .collect();
    assert_eq!(
        metrics,
        [
            ("corrected", 3.0),
            ("deferred", 0.0),
            ("uncorrected", 2.0),
            ("fatal", 0.0)
        ]
    );
    let data = r#"{"corrected":3,"deferred":0,"uncorrected":2,"fatal":0}"#;
    assert_eq!(
        report.states[0].extra_info,
        [("data".to_owned(), data.to_owned())]
    );
    assert_eq!(report.states[0].evidence, [Evidence::Kmsg(7)]);
}

#[test]
fn a_look_without_a_store_counts_as_the_store_does() {
    let message = |sequence, text: &str| Message {
        sequence,
        time: NOW - 1_000 + sequence,
        level: 0,
        facility: 0,
        text: text.into(),
        dictionary: None,
    };
    let mut messages: Vec<Message> = (0..100).map(|n| message(n, CORRECTED_LINE)).collect();
    messages.push(message(100, LOST));
    let (events, _) = row::events(&context("now"), &messages, || None);
    let rows = as_stored(events);
    let counts: Vec<(&str, u64)> = rows
        .iter()
        .map(|row| (row.event.name.as_str(), row.count))
        .collect();
    assert_eq!(
        counts,
        [
            ("machine_check_uncorrected", 1),
            ("machine_check_corrected", 100)
        ]
    );
    assert_eq!(rows[1].last_time, NOW - 901);
    assert_eq!(
        as_stored(vec![Event::new(1, "a", EventType::Info, "x")])[0].count,
        1
    );
    assert_eq!(judge(&rows).0, Health::Unhealthy);
}
