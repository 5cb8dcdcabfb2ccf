use super::*;
use gpud_sdk::types::TimeoutInfo;
use gpud_sdk::{Event, EventType, Trigger};

mod blocked;
mod unread;

const STUCK: &str = "pid=7 name=nvidia-smi blocked=4m0s consecutive_checks=5";

fn context(now: u64) -> CheckContext {
    CheckContext {
        component: "os".into(),
        now: now * 1000,
        trigger: Trigger::Scheduled,
        boot_id: "b-1".into(),
        boot_time: 500_000,
        previous_check: None,
        extra: Vec::new(),
    }
}

fn config(names: &[&str]) -> Config {
    let document = serde_json::json!({ "blocked_process_name_regexes": names });
    Config::parse(&document.to_string(), false, true).unwrap()
}

fn stat(pid: u32, name: &str, state: char) -> FileContent {
    let content = format!("{pid} ({name}) {state}{} 0", " 1".repeat(20));
    FileContent {
        path: format!("/proc/{pid}/stat"),
        content: Ok(content.into_bytes()),
    }
}

fn fds(count: Result<u32, AccessError>) -> EntryCount {
    EntryCount {
        path: "/proc/1/fd".into(),
        count,
    }
}

/// A quiet machine: two processes with three open files.
struct Machine {
    facts: Facts,
    config: Config,
    tracker: Tracker,
}

impl Machine {
    fn new(names: &[&str]) -> Self {
        Self {
            facts: Facts::default(),
            config: config(names),
            tracker: Tracker::default(),
        }
    }

    fn inputs(&self) -> Inputs<'_> {
        Inputs {
            facts: &self.facts,
            config: &self.config,
            uptime: Ok("500.25 900.00\n".into()),
            processes: Ok(vec![stat(1, "systemd", 'S'), stat(2, "kthreadd", 'Z')]),
            is_turn_of_first: true,
            wait_channels: Vec::new(),
            open_files: Ok(vec![fds(Ok(1)), fds(Ok(2))]),
            elsewhere: OtherProcesses::default(),
            file_nr: Ok("1184\t0\t1000\n".into()),
            file_max: Ok("1000\n".into()),
            pid_max: Ok("32768\n".into()),
            mark: None,
        }
    }

    fn judge(&mut self, change: impl FnOnce(&mut Inputs<'_>)) -> Report {
        let mut tracker = std::mem::take(&mut self.tracker);
        let mut inputs = self.inputs();
        change(&mut inputs);
        let report = judge(&context(1000), inputs, &mut tracker, || panic!("not asked")).unwrap();
        self.tracker = tracker;
        report
    }
}

fn short(report: &Report) -> (Health, &str) {
    let [state] = report.states.as_slice() else {
        panic!("one state")
    };
    (state.health.clone(), &state.reason)
}

#[test]
fn all_well() {
    let report = Machine::new(&[]).judge(|_| {});
    let data = r#"{"virtualization_environment":{"type":"","vm":"","container":"","is_kvm":false},"system_manufacturer":"","machine_metadata":{"boot_id":"","dmidecode_uuid":"","os_machine_id":""},"host":{"id":""},"kernel":{"arch":"","version":""},"platform":{"name":"","family":"","version":""},"uptimes":{"seconds":500,"boot_time_unix_seconds":500},"zombie_processes":1,"blocked_processes":{"current_count":0,"persistent_count":0},"file_descriptors":{"allocated_file_handles":1184,"running_pids":2,"usage":3,"limit":1000,"allocated_file_handles_percent":"118.40","used_percent":"0.30","threshold_allocated_file_handles":1000,"threshold_allocated_file_handles_percent":"0.30","threshold_running_pids":900000,"threshold_running_pids_percent":"0.00","file_handles_supported":true,"fd_limit_supported":true}}"#;
    assert_eq!(
        report.states,
        [HealthState::healthy(&context(1000), "ok").info("data", data)]
    );
    let metrics: Vec<_> = report
        .metrics
        .iter()
        .map(|metric| (metric.name.as_str(), metric.value))
        .collect();
    assert_eq!(
        metrics,
        [
            ("os_zombie_processes", 1.0),
            ("os_blocked_processes", 0.0),
            ("os_blocked_processes_persistent", 0.0),
            ("os_running_pids", 2.0),
            ("os_threshold_running_pids", 900_000.0),
            ("os_threshold_running_pids_percent", 2.0 / 900_000.0 * 100.0),
            ("os_allocated_file_handles", 1184.0),
            ("os_limit", 1000.0),
            ("os_allocated_file_handles_percent", 1184.0 / 1000.0 * 100.0),
            ("os_used_percent", 3.0 / 1000.0 * 100.0),
            ("os_threshold_allocated_file_handles", 1000.0),
            (
                "os_threshold_allocated_file_handles_percent",
                3.0 / 1000.0 * 100.0
            ),
        ]
    );
}

#[test]
fn zombies_by_what_there_can_be() {
    let zombies = |count: u32| (0..count).map(|pid| stat(pid, "z", 'Z')).collect();
    let unknown = || Err(AccessError::Denied("x".into()));
    let cases = [
        (20, Ok("100"), Ok("32768"), Health::Healthy, "ok"),
        (
            21,
            Ok("100"),
            Ok("32768"),
            Health::Degraded,
            "too many zombie processes (degraded state threshold: 20)",
        ),
        (
            81,
            Ok("100"),
            Ok("32768"),
            Health::Unhealthy,
            "too many zombie processes (unhealthy state threshold: 80)",
        ),
        (
            21,
            Ok("9223372036854775807"),
            Ok("100"),
            Health::Degraded,
            "too many zombie processes (degraded state threshold: 20)",
        ),
        (
            1001,
            Ok("0"),
            unknown(),
            Health::Degraded,
            "too many zombie processes (degraded state threshold: 1000)",
        ),
        (
            2001,
            Ok("0"),
            unknown(),
            Health::Unhealthy,
            "too many zombie processes (unhealthy state threshold: 2000)",
        ),
    ];
    for (count, file_max, pid_max, health, reason) in cases {
        let report = Machine::new(&[]).judge(|inputs| {
            inputs.processes = Ok(zombies(count));
            inputs.file_max = file_max.map(str::to_owned);
            inputs.pid_max = pid_max.map(str::to_owned);
        });
        assert_eq!(short(&report), (health.clone(), reason));
        let actions = report.states[0].suggested_actions.as_ref();
        let expected = (health != Health::Healthy)
            .then_some((LEAKS, [RepairAction::CheckUserAppAndGpu].as_slice()));
        assert_eq!(
            actions.map(|a| (a.description.as_str(), a.repair_actions.as_slice())),
            expected
        );
    }
}

#[test]
fn pressure() {
    let cases = [
        (80.0, None),
        (
            80.1,
            Some((
                Health::Degraded,
                "too many x (degraded state percent threshold: 80.00 %)",
            )),
        ),
        (
            95.0,
            Some((
                Health::Degraded,
                "too many x (degraded state percent threshold: 80.00 %)",
            )),
        ),
        (
            95.1,
            Some((
                Health::Unhealthy,
                "too many x (unhealthy state percent threshold: 95.00 %)",
            )),
        ),
    ];
    for (percent, expected) in cases {
        let row = pressure_row("too many x", percent);
        assert_eq!(
            row.as_ref()
                .map(|row| (row.health.clone(), row.reason.as_str())),
            expected
        );
    }
    let report = Machine::new(&[]).judge(|inputs| inputs.open_files = Ok(vec![fds(Ok(951))]));
    assert_eq!(
        short(&report),
        (
            Health::Unhealthy,
            "too many allocated file handles (unhealthy state percent threshold: 95.00 %)"
        )
    );
}

#[test]
fn boot_time_from_uptime_when_the_host_does_not_know_it() {
    let machine = Machine::new(&[]);
    let context = CheckContext {
        boot_time: 0,
        ..context(1200)
    };
    let report = judge(&context, machine.inputs(), &mut Tracker::default(), || {
        Ok(ProcessHistory::default())
    })
    .unwrap();
    assert!(
        report.states[0].extra_info[0]
            .1
            .contains(r#""uptimes":{"seconds":500,"boot_time_unix_seconds":700}"#)
    );
}

#[test]
fn processes_whose_turn_it_is_not_count_as_they_were_seen() {
    let mut machine = Machine::new(&[]);
    let report = machine.judge(|inputs| {
        inputs.elsewhere = OtherProcesses {
            total: 860_000,
            zombies: 5,
            open_files: 7,
            ..OtherProcesses::default()
        };
    });
    assert_eq!(
        short(&report),
        (
            Health::Unhealthy,
            "too many running pids (unhealthy state percent threshold: 95.00 %)"
        )
    );
    let data = &report.states[0].extra_info[0].1;
    for part in [
        r#""zombie_processes":6"#,
        r#""running_pids":860002"#,
        r#""usage":10"#,
    ] {
        assert!(data.contains(part), "{data}");
    }
}
