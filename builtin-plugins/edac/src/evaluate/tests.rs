use gpud_sdk::incidents::as_stored;
use gpud_sdk::{EventType, Evidence, Message, Trigger};

use super::*;
use crate::line;

const DAY: u64 = 86_400_000;
const NOW: u64 = 1_800_000_000_000;

fn context() -> CheckContext {
    CheckContext {
        component: "memory-edac".into(),
        now: NOW,
        trigger: Trigger::Scheduled,
        boot_id: "now".into(),
        boot_time: NOW - DAY / 2,
        previous_check: None,
        extra: Vec::new(),
    }
}

/// A stored event: boot, how long before now, `CE` or `UE`, DIMM and its channel, count.
fn stored(
    boot: &str,
    before: u64,
    kind: &str,
    (name, channel): (&str, u32),
    count: u64,
) -> StoredEvent {
    let context = CheckContext {
        boot_id: boot.into(),
        ..context()
    };
    let message = Message {
        sequence: 7,
        time: NOW - before,
        level: 4,
        facility: 0,
        text: format!(
            "EDAC MC0: 1 {kind} on {name} (channel:{channel} slot:0 page:0x1 offset:0x0 grain:32)"
        ),
        dictionary: None,
    };
    StoredEvent {
        event: line::events(&context, &[message]).remove(0),
        count,
        last_time: NOW - before,
    }
}

const A: (&str, u32) = ("DIMM_A1", 0);
const B: (&str, u32) = ("DIMM_B1", 1);
const ANY: (&str, u32) = ("any memory", 9);

/// DIMMs A and B, and what belongs to none: corrected and uncorrected errors of each.
fn counters(counts: [(u64, u64); 3]) -> Vec<Dimm> {
    let [none, a, b] = counts;
    let dimm = |slot: &str, label: &str, location: &str, (corrected, uncorrected)| Dimm {
        controller: "mc0".into(),
        slot: slot.into(),
        label: label.into(),
        location: location.into(),
        corrected,
        uncorrected,
    };
    vec![
        dimm("", "", "", none),
        dimm("dimm0", "DIMM_A1", "channel 0 slot 0", a),
        dimm("dimm3", "DIMM_B1", "channel 1 slot 0", b),
    ]
}

const QUIET: [(u64, u64); 3] = [(0, 0); 3];

fn judge(
    context: &CheckContext,
    config: &Config,
    events: &[StoredEvent],
    dimms: &[Dimm],
    before: Option<&Memory>,
) -> (Report, Memory) {
    super::judge(context, config, |_| false, events, dimms, before, || false)
}

fn judged(events: &[StoredEvent], counts: [(u64, u64); 3]) -> Report {
    judge(
        &context(),
        &Config::default(),
        events,
        &counters(counts),
        None,
    )
    .0
}

#[test]
fn timelines() {
    use Health::{Degraded, Healthy, Unhealthy};
    use RepairAction::{HardwareInspection, RebootSystem};
    let (reboot, inspect) = (vec![RebootSystem], vec![HardwareInspection]);
    let until_reboot = vec![Recovery::Reboot, Recovery::SetHealthy];
    let until_good = vec![Recovery::NextGoodReading, Recovery::SetHealthy];
    for (what, events, counts, health, actions, recovery) in [
        ("nothing", vec![], QUIET, Healthy, vec![], vec![]),
        (
            "one corrected",
            vec![stored("now", 10, "CE", A, 1)],
            [(0, 0), (1, 0), (0, 0)],
            Healthy,
            vec![],
            vec![],
        ),
        (
            "99 each",
            vec![
                stored("now", 10, "CE", A, 99),
                stored("now", 10, "CE", B, 99),
            ],
            QUIET,
            Healthy,
            vec![],
            vec![],
        ),
        (
            "too many in the log",
            vec![
                stored("now", 10, "CE", A, 60),
                stored("old", 20, "CE", A, 40),
            ],
            QUIET,
            Degraded,
            inspect.clone(),
            until_good.clone(),
        ),
        (
            "too many, long ago",
            vec![stored("now", DAY + 1, "CE", A, 5_000)],
            QUIET,
            Healthy,
            vec![],
            vec![],
        ),
        (
            "too many by the counter",
            vec![],
            [(0, 0), (0, 0), (100, 0)],
            Degraded,
            inspect.clone(),
            until_good,
        ),
        (
            "log and counter tell of the same",
            vec![stored("now", 10, "CE", A, 60)],
            [(0, 0), (60, 0), (0, 0)],
            Healthy,
            vec![],
            vec![],
        ),
        (
            "lost",
            vec![stored("now", 10, "UE", A, 1)],
            QUIET,
            Unhealthy,
            reboot.clone(),
            until_reboot.clone(),
        ),
        (
            "lost, by the counter alone",
            vec![],
            [(0, 0), (0, 1), (0, 0)],
            Unhealthy,
            reboot.clone(),
            until_reboot.clone(),
        ),
        (
            "lost, of no DIMM",
            vec![],
            [(0, 1), (0, 0), (0, 0)],
            Unhealthy,
            reboot.clone(),
            until_reboot.clone(),
        ),
        (
            "after the reboot",
            vec![stored("old", 10, "UE", A, 1)],
            QUIET,
            Healthy,
            vec![],
            vec![],
        ),
        (
            "again on the same DIMM",
            vec![
                stored("now", 10, "UE", A, 1),
                stored("old", DAY, "UE", A, 1),
            ],
            [(0, 0), (0, 1), (0, 0)],
            Unhealthy,
            inspect.clone(),
            until_reboot.clone(),
        ),
        (
            "again, reported by the counter",
            vec![stored("old", DAY, "UE", B, 1)],
            [(0, 0), (0, 0), (0, 1)],
            Unhealthy,
            inspect,
            until_reboot.clone(),
        ),
        (
            "then on another",
            vec![
                stored("now", 10, "UE", B, 1),
                stored("old", DAY, "UE", A, 1),
            ],
            QUIET,
            Unhealthy,
            reboot,
            until_reboot,
        ),
        (
            "lost, and too many corrected",
            vec![stored("now", 10, "UE", A, 1)],
            [(0, 0), (100, 1), (0, 0)],
            Unhealthy,
            vec![RebootSystem, HardwareInspection],
            vec![Recovery::SetHealthy],
        ),
    ] {
        let state = judged(&events, counts).states.remove(0);
        let found = state
            .suggested_actions
            .map(|actions| actions.repair_actions)
            .unwrap_or_default();
        assert_eq!(
            (state.health, found, state.recovery),
            (health, actions, recovery),
            "{what}: {}",
            state.reason
        );
    }
}

#[test]
fn reasons_name_the_dimm() {
    let state = |events: &[StoredEvent], counts| judged(events, counts).states.remove(0);
    let quiet = state(&[], QUIET);
    assert_eq!((quiet.reason.as_str(), quiet.subject), ("ok", None));
    let one = state(
        &[
            stored("now", 10, "UE", A, 2),
            stored("old", DAY, "UE", A, 1),
        ],
        [(0, 0), (150, 2), (0, 0)],
    );
    assert_eq!(
        one.reason,
        "uncorrected memory errors since the machine started: 2 on DIMM_A1 (mc0), again after a reboot: DIMM_A1; too \
         many corrected memory errors within 24 h: 150 on DIMM_A1 (mc0)"
    );
    assert_eq!(
        (one.subject, one.evidence),
        (Some(subject("DIMM_A1")), vec![Evidence::Kmsg(7)])
    );
    let two = state(&[], [(0, 1), (0, 0), (0, 2)]);
    assert_eq!(
        two.reason,
        "uncorrected memory errors since the machine started: 2 on DIMM_B1 (mc0), 1 on unknown memory (mc0)"
    );
    assert_eq!(two.subject, None);
    let many: Vec<_> = (0..6)
        .map(|n| stored("now", 10, "UE", (&format!("D{n}"), 50 + n), 1))
        .collect();
    assert!(
        state(&many, QUIET)
            .reason
            .ends_with("1 on D3 (mc0) and 2 more")
    );
}

#[test]
fn what_only_the_counter_knows_becomes_an_event_once() {
    let dimms = counters([(0, 1), (0, 3), (0, 0)]);
    let logged = [
        stored("now", 10, "UE", A, 1),
        stored("now", 10, "UE", ANY, 1),
    ];
    // Lines of the ring buffer may come after the first check: it judges, but does not tell.
    let first = CheckContext {
        trigger: Trigger::Startup,
        ..context()
    };
    let (report, kept) = judge(&first, &Config::default(), &[], &dimms, None);
    assert_eq!(
        (report.events.len(), report.states[0].health.clone()),
        (0, Health::Unhealthy)
    );
    let (report, kept) = judge(&context(), &Config::default(), &logged, &dimms, Some(&kept));
    assert_eq!(report.events.len(), 1);
    let event = &report.events[0];
    assert_eq!(
        event.message,
        "2 uncorrected memory error(s) on DIMM_A1 (mc0), reported by the kernel's counter alone"
    );
    assert_eq!(
        (event.name.as_str(), event.event_type.clone()),
        (UNCORRECTED, EventType::Critical)
    );
    assert!(
        report.states[0].reason.contains("3 on DIMM_A1 (mc0)"),
        "{}",
        report.states[0].reason
    );
    // The next check finds it among the stored ones.
    let mut events = logged.to_vec();
    events.push(StoredEvent {
        event: event.clone(),
        count: 1,
        last_time: NOW,
    });
    let (again, _) = judge(&context(), &Config::default(), &events, &dimms, Some(&kept));
    assert_eq!(
        (again.events.len(), &again.states[0].reason),
        (0, &report.states[0].reason)
    );
}

#[test]
fn set_healthy_clears_counters_too() {
    let dimms = counters([(0, 0), (500, 2), (0, 0)]);
    let (report, kept) = judge(&context(), &Config::default(), &[], &dimms, None);
    assert_eq!(report.states[0].health, Health::Unhealthy);
    let cleared = CheckContext {
        trigger: Trigger::SetHealthy,
        ..context()
    };
    let (report, kept) = judge(&cleared, &Config::default(), &[], &dimms, Some(&kept));
    assert_eq!(
        (report.states[0].health.clone(), report.events.len()),
        (Health::Healthy, 0)
    );
    let (report, kept) = judge(&context(), &Config::default(), &[], &dimms, Some(&kept));
    assert_eq!(
        (report.states[0].health.clone(), report.events.len()),
        (Health::Healthy, 0)
    );
    let dimms = counters([(0, 0), (500, 3), (0, 0)]);
    let (report, _) = judge(&context(), &Config::default(), &[], &dimms, Some(&kept));
    assert_eq!(
        (report.states[0].health.clone(), report.events.len()),
        (Health::Unhealthy, 1)
    );
}

#[test]
fn a_machine_without_edac_is_hidden() {
    let (report, _) = judge(&context(), &Config::default(), &[], &[], None);
    assert_eq!(
        (report.supported, report.states[0].health.clone()),
        (false, Health::Healthy)
    );
    assert!(report.metrics.is_empty() && report.events.is_empty());
    let (report, _) = judge(
        &context(),
        &Config::default(),
        &[stored("now", 1, "CE", A, 1)],
        &[],
        None,
    );
    assert!(report.supported);
    let seen = super::judge(
        &context(),
        &Config::default(),
        |_| false,
        &[],
        &[],
        None,
        || true,
    )
    .0;
    assert!(seen.supported && seen.states[0].health == Health::Healthy);
}

#[test]
fn counters_are_metrics() {
    let report = judged(&[], [(1, 0), (12, 0), (0, 0)]);
    assert!(report.supported);
    let text: Vec<String> = report
        .metrics
        .iter()
        .map(|m| {
            let labels: Vec<&str> = m.labels.iter().map(|(_, value)| value.as_str()).collect();
            format!("{} {} {}", m.name, labels.join(","), m.value)
        })
        .collect();
    assert_eq!(
        text[..4],
        [
            "memory_edac_corrected_errors mc0,,unknown memory 1",
            "memory_edac_uncorrected_errors mc0,,unknown memory 0",
            "memory_edac_corrected_errors mc0,dimm0,DIMM_A1 12",
            "memory_edac_uncorrected_errors mc0,dimm0,DIMM_A1 0",
        ]
    );
    let data = r#"{"controllers":1,"dimms":2,"corrected_errors":13,"uncorrected_errors":0}"#;
    assert_eq!(
        report.states[0].extra_info,
        [("data".to_owned(), data.to_owned())]
    );
}

#[test]
fn a_look_without_a_store_counts_as_the_store_does() {
    let text = "EDAC MC0: 1 CE on DIMM_A1 (channel:0 slot:0 page:0x1 offset:0x0 grain:32)";
    let messages: Vec<Message> = (0..120)
        .map(|sequence| Message {
            sequence,
            time: NOW - 500_000,
            level: 4,
            facility: 0,
            text: text.into(),
            dictionary: None,
        })
        .collect();
    let rows = as_stored(line::events(&context(), &messages));
    assert_eq!(rows.iter().map(|row| row.count).collect::<Vec<_>>(), [120]);
    assert_eq!(judged(&rows, QUIET).states[0].health, Health::Degraded);
}

#[test]
fn counters_of_what_a_policy_judges_are_left_alone() {
    let dimms = counters([(0, 0), (500, 2), (0, 0)]);
    let ruled = |names: &'static [&str]| {
        let first = CheckContext {
            trigger: Trigger::Startup,
            ..context()
        };
        let ruled = |name: &str| names.contains(&name);
        let judged = super::judge(&first, &Config::default(), ruled, &[], &dimms, None, || {
            false
        });
        judged.0.states[0].health.clone()
    };
    assert_eq!(ruled(&[]), Health::Unhealthy);
    assert_eq!(ruled(&[CORRECTED]), Health::Unhealthy);
    assert_eq!(ruled(&[UNCORRECTED, CORRECTED]), Health::Healthy);
}

#[test]
fn errors_without_a_line_are_reported_once_whatever_a_policy_says() {
    let document = r#"{"policy":{"memory_uncorrected_error":{"severity":"critical"}}}"#;
    let catalog = &crate::patterns::CATALOG;
    let policy = gpud_sdk::policy::alone(document, catalog).unwrap();
    let before = counters([(0, 0), (0, 0), (0, 0)]);
    let (_, kept) = judge(&context(), &Config::default(), &[], &before, None);
    // As many as the lines tell.
    let dimms = counters([(0, 0), (0, 1), (0, 0)]);
    let events = [stored("now", 10, "UE", A, 1)];
    let report = policy
        .judge(
            &context(),
            &events,
            || Ok(Vec::new()),
            |events| {
                let ruled = |name: &str| policy.names(name);
                let config = Config::default();
                super::judge(
                    &context(),
                    &config,
                    ruled,
                    events,
                    &dimms,
                    Some(&kept),
                    || false,
                )
                .0
            },
        )
        .unwrap();
    let state = &report.states[0];
    assert_eq!((report.events.len(), &state.health), (0, &Health::Degraded));
    assert_eq!(
        state.reason,
        "1 uncorrected memory error(s) on DIMM_A1 (mc0, channel:0 slot:0) (site policy)"
    );
}
