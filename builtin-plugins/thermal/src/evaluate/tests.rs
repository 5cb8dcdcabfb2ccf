use gpud_sdk::{EventType, Trigger};

use super::*;

const NOW: u64 = 1_800_000_000_000;
const MINUTE: u64 = 60_000;
const HOT: &str =
    "CPU3: Package temperature is above threshold, cpu clock is throttled (total events = 3)";
const FINE: &str = "CPU3: Package temperature/speed normal (total events = 3)";
const SHUTDOWN: &str = "thermal thermal_zone4: critical temperature reached (128 C), shutting down";

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
fn stored(texts: &[(u64, &str)]) -> Vec<StoredEvent> {
    let line = |(n, (minutes, text)): (usize, &(u64, &str))| Message {
        sequence: n as u64,
        time: NOW - minutes * MINUTE,
        level: 4,
        facility: 0,
        text: (*text).into(),
        dictionary: None,
    };
    let messages: Vec<Message> = texts.iter().enumerate().map(line).collect();
    incidents::as_stored(events(&context(NOW), &messages))
}

fn report(texts: &[(u64, &str)], boots: &[u64], readings: &Readings) -> Report {
    judge(
        &context(NOW),
        &Config::default(),
        &Policy::none(&crate::patterns::CATALOG),
        &stored(texts),
        boots,
        readings,
    )
}

fn readings(core: u64, package: u64) -> Readings {
    let sample = |now, core, package| {
        Some(Sample::new(
            &context(now),
            vec![(0, 0), (5, core)],
            vec![(0, package)],
        ))
    };
    Readings {
        sample: sample(NOW, 1_000 + core, package),
        before: sample(NOW - MINUTE, 1_000, 0),
    }
}

#[test]
fn a_virtual_machine_has_nothing_to_watch() {
    let report = report(&[], &[], &Readings::default());
    assert!(!report.supported);
    assert_eq!(report.states[0].health, Health::Healthy);
    assert_eq!(
        report.states[0].reason,
        "no counters of thermal throttling on this machine"
    );
    assert_eq!(report.metrics, []);
}

#[test]
fn throttled_time_counts() {
    let fine = report(&[], &[], &readings(5_999, 0));
    assert!(fine.supported);
    assert_eq!(fine.states[0].health, Health::Healthy);
    let gauges: Vec<_> = fine
        .metrics
        .iter()
        .map(|metric| {
            (
                metric.name.as_str(),
                metric.labels[0].1.as_str(),
                metric.value,
            )
        })
        .collect();
    assert_eq!(
        gauges,
        [
            (PERCENT, "core", 9.0),
            (TOTAL, "core", 6_999.0),
            (PERCENT, "package", 0.0),
            (TOTAL, "package", 0.0)
        ]
    );
    let state = report(&[], &[], &readings(6_000, 30_000)).states.remove(0);
    assert_eq!(state.health, Health::Degraded);
    assert_eq!(
        state.reason,
        "CPU 5: core throttled for heat for 10 % of the last 60 s; CPU 0: package throttled for heat for 50 % of the last 60 s"
    );
    assert_eq!(state.recovery, [Recovery::NextGoodReading]);
    let actions = state.suggested_actions.unwrap();
    assert_eq!(actions.repair_actions, [RepairAction::HardwareInspection]);
}

#[test]
fn lines_count_until_the_kernel_says_that_it_is_over() {
    let health = |texts: &[(u64, &str)]| {
        report(texts, &[], &Readings::default())
            .states
            .remove(0)
            .health
    };
    assert_eq!(health(&[(1, HOT), (1, HOT)]), Health::Healthy);
    assert_eq!(health(&[(9, HOT), (5, HOT), (1, HOT)]), Health::Degraded);
    assert_eq!(
        health(&[(9, HOT), (5, HOT), (4, HOT), (1, FINE)]),
        Health::Healthy
    );
    // Of the core, not of the package.
    let core = FINE.replace("Package", "Core");
    assert_eq!(
        health(&[(9, HOT), (5, HOT), (4, HOT), (1, &core)]),
        Health::Degraded
    );
    assert_eq!(health(&[(40, HOT), (35, HOT), (30, HOT)]), Health::Healthy);
    let state = report(&[(9, HOT), (5, HOT), (1, HOT)], &[], &readings(0, 6_000))
        .states
        .remove(0);
    assert_eq!(
        state.reason,
        "CPU package throttled for heat (3 lines); CPU 0: package throttled for heat for 10 % of the last 60 s"
    );
    assert!(!state.recovery.contains(&Recovery::NextGoodReading));
}

#[test]
fn a_shutdown_for_heat_is_remembered_over_the_reboot() {
    let report = report(
        &[(30, SHUTDOWN)],
        &[NOW - 10 * MINUTE],
        &Readings::default(),
    );
    assert!(report.supported);
    let state = &report.states[0];
    assert_eq!(state.health, Health::Unhealthy);
    assert_eq!(
        state.reason,
        "the machine shut down at critical temperature (thermal_zone4)"
    );
    assert_eq!(
        state.recovery,
        [
            Recovery::At(NOW - 30 * MINUTE + 24 * 60 * MINUTE),
            Recovery::SetHealthy
        ]
    );
    let event = &stored(&[(30, SHUTDOWN)])[0].event;
    assert_eq!(event.event_type, EventType::Fatal);
    assert_eq!(incidents::fact(event, "celsius"), Some("128"));
}

#[test]
fn repeats_and_processors_are_one_row() {
    let other = HOT.replace("CPU3", "CPU77");
    let rows = stored(&[(1, HOT), (1, &other), (1, HOT)]);
    assert_eq!((rows.len(), rows[0].count), (1, 3));
    assert_eq!(incidents::fact(&rows[0].event, "cpu"), Some("3"));
}
