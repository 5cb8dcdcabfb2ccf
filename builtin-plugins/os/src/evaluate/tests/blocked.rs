//! Processes in uninterruptible sleep.

use super::*;

/// One check a minute with a process stuck.
fn stuck_for(checks: u64, machine: &mut Machine, past: fn() -> ProcessHistory) -> Vec<Report> {
    let run = |check: u64| {
        let mut tracker = std::mem::take(&mut machine.tracker);
        let mut inputs = machine.inputs();
        inputs.processes = Ok(vec![stat(7, "nvidia-smi", 'D')]);
        let report = judge(&context(1000 + 60 * check), inputs, &mut tracker, || {
            Ok(past())
        })
        .unwrap();
        machine.tracker = tracker;
        report
    };
    (0..checks).map(run).collect()
}

fn past(recovered: u64, reboots: &[u64]) -> ProcessHistory {
    let event = Event::new(
        recovered,
        "blocked_processes_recovered",
        EventType::Info,
        "",
    );
    ProcessHistory {
        events: vec![StoredEvent {
            last_time: event.time,
            count: 1,
            event,
        }],
        reboots: reboots.iter().map(|&time| Reboot { time }).collect(),
    }
}

#[test]
fn a_stuck_process_degrades_or_asks_for_a_reboot_or_an_inspection() {
    let reboot = "reboot the system to clear persistent D-state processes stuck in uninterruptible kernel waits";
    let inspection = "persistent D-state processes reappeared after 2 reboots; recommend hardware/driver inspection instead of another reboot";
    let escalated =
        format!("persistent D-state processes matching escalation rules \"x,^nvidia\": {STUCK}");
    let detected = format!(
        "persistent D-state (uninterruptible sleep) processes detected (persistent: 1): {STUCK}"
    );
    type Outcome<'a> = (Health, &'a str, Option<(&'a str, RepairAction)>);
    type Case<'a> = (&'a [&'a str], fn() -> ProcessHistory, Outcome<'a>);
    let cases: [Case<'_>; 4] = [
        (
            &["^other"],
            || panic!("not asked"),
            (Health::Degraded, &detected, None),
        ),
        (
            &["x", "^nvidia"],
            ProcessHistory::default,
            (
                Health::Unhealthy,
                &escalated,
                Some((reboot, RepairAction::RebootSystem)),
            ),
        ),
        (
            &["x", "^nvidia"],
            || past(15, &[20, 10]),
            (
                Health::Unhealthy,
                &escalated,
                Some((reboot, RepairAction::RebootSystem)),
            ),
        ),
        (
            &["x", "^nvidia"],
            || past(5, &[20, 10]),
            (
                Health::Unhealthy,
                &escalated,
                Some((inspection, RepairAction::HardwareInspection)),
            ),
        ),
    ];
    for (names, past, (health, reason, action)) in cases {
        let reports = stuck_for(6, &mut Machine::new(names), past);
        assert!(
            reports[..4]
                .iter()
                .all(|report| short(report).0 == Health::Healthy)
        );
        assert_eq!(short(&reports[4]), (health, reason));
        let actions = reports[4].states[0].suggested_actions.as_ref();
        assert_eq!(
            actions.map(|a| (a.description.as_str(), a.repair_actions[0].clone())),
            action
        );
        let events: Vec<usize> = reports.iter().map(|report| report.events.len()).collect();
        assert_eq!(events, [0, 0, 0, 0, 1, 0]);
        assert_eq!(reports[4].events[0].message, reason);
        let listed = r#""blocked_processes":{"current_count":1,"persistent_count":1,"persistent":[{"pid":7,"name":"nvidia-smi","first_seen_unix_seconds":1000,"last_seen_unix_seconds":1240,"blocked_seconds":240,"consecutive_checks":5}]}"#;
        assert!(reports[4].states[0].extra_info[0].1.contains(listed));
        let gauges: Vec<_> = reports[4]
            .metrics
            .iter()
            .filter(|m| m.name.contains("blocked"))
            .map(|m| m.value)
            .collect();
        assert_eq!(gauges, [1.0, 1.0]);
    }
}

#[test]
fn a_process_that_waits_for_another_one_of_user_space_is_not_stuck() {
    let mut machine = Machine::new(&["^nvidia"]);
    for check in 0..9 {
        let mut tracker = std::mem::take(&mut machine.tracker);
        let mut inputs = machine.inputs();
        inputs.processes = Ok(vec![stat(7, "nvidia-smi", 'D')]);
        // Any user makes one: a program of that name that calls vfork, whose child sleeps.
        inputs.wait_channels = vec![FileContent {
            path: "/proc/7/wchan".into(),
            content: Ok(b"kernel_clone".to_vec()),
        }];
        let now = context(1000 + 60 * check);
        let report = judge(&now, inputs, &mut tracker, || panic!("not asked")).unwrap();
        machine.tracker = tracker;
        assert_eq!(short(&report), (Health::Healthy, "ok"));
        assert!(report.events.is_empty());
        let data = &report.states[0].extra_info[0].1;
        assert!(data.contains(r#""blocked_processes":{"current_count":1,"persistent_count":0}"#));
    }
}

#[test]
fn an_episode_ends_by_itself_by_a_mark_or_by_the_configuration() {
    let stuck = || {
        let mut machine = Machine::new(&["^nvidia"]);
        stuck_for(5, &mut machine, ProcessHistory::default);
        machine
    };
    let ended = |report: &Report| {
        report
            .events
            .iter()
            .map(|event| event.message.clone())
            .collect::<Vec<_>>()
    };

    let mut machine = stuck();
    machine.tracker.update(2000, &[]);
    let report = machine.judge(|_| {});
    assert_eq!(ended(&report), ["persistent blocked processes cleared"]);
    assert_eq!(short(&report), (Health::Healthy, "ok"));

    let mut machine = stuck();
    let report = machine.judge(|inputs| {
        inputs.processes = Ok(vec![stat(7, "nvidia-smi", 'D')]);
        inputs.mark = Some(999_000);
    });
    assert_eq!(
        ended(&report),
        ["persistent blocked processes cleared (set-healthy)"]
    );
    assert_eq!(short(&report), (Health::Healthy, "ok"));

    let mut machine = stuck();
    machine.config = config(&[]);
    let report = machine.judge(|inputs| inputs.processes = Ok(vec![stat(7, "nvidia-smi", 'D')]));
    assert_eq!(
        ended(&report),
        ["D-state process checking disabled (empty name regexes)"]
    );
    assert_eq!(machine.tracker, Tracker::default());
}

#[test]
fn zombies_come_before_stuck_processes_but_the_episode_is_reported() {
    let mut machine = Machine::new(&["^nvidia"]);
    stuck_for(4, &mut machine, ProcessHistory::default);
    let mut tracker = std::mem::take(&mut machine.tracker);
    let mut inputs = machine.inputs();
    let zombies = (100..2000).map(|pid| stat(pid, "z", 'Z'));
    inputs.processes = Ok(zombies.chain([stat(7, "nvidia-smi", 'D')]).collect());
    let report = judge(&context(1240), inputs, &mut tracker, || {
        Ok(ProcessHistory::default())
    })
    .unwrap();
    assert_eq!(
        short(&report).1,
        "too many zombie processes (unhealthy state threshold: 800)"
    );
    assert_eq!(report.events[0].name, "blocked_processes_persistent");
}

#[test]
fn a_stuck_process_is_followed_while_it_is_others_turn() {
    let mut machine = Machine::new(&["^nvidia"]);
    let mut last = None;
    for minute in 0..5 {
        let mut tracker = std::mem::take(&mut machine.tracker);
        let mut inputs = machine.inputs();
        let stuck = vec![stat(7, "nvidia-smi", 'D')];
        match minute {
            0 => inputs.processes = Ok(stuck),
            _ => {
                inputs.elsewhere.watched = stuck;
                inputs.elsewhere.blocked = 1;
            }
        }
        let now = context(1000 + minute * 60);
        last = Some(judge(&now, inputs, &mut tracker, || Ok(ProcessHistory::default())).unwrap());
        machine.tracker = tracker;
    }
    let report = last.unwrap();
    assert_eq!(short(&report).0, Health::Unhealthy);
    assert!(short(&report).1.ends_with(STUCK), "{report:?}");
}
