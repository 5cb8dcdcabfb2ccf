use super::*;
use crate::kmsg::{LOCK_RECLAIM_FAILED, OK};
use crate::script::Step;
use gpud_sdk::exec::Output;
use gpud_sdk::{Event, EventType, Health};
use std::cell::Cell;

const NOW: u64 = 1_800_000_000_000;

fn context(trigger: Trigger) -> CheckContext {
    CheckContext {
        component: "nfs".into(),
        now: NOW,
        trigger,
        boot_id: "b-1".into(),
        boot_time: 0,
        previous_check: None,
        extra: Vec::new(),
    }
}

fn stored(name: &str, time: u64) -> StoredEvent {
    StoredEvent {
        event: Event::new(time, name, EventType::Warning, "NFS server recovered: a"),
        count: 1,
        last_time: time,
    }
}

/// A volume that works.
#[derive(Default)]
struct Fake(Cell<u32>);

impl Machine for Fake {
    fn mountinfo(&self) -> Result<String, AccessError> {
        Ok("30 27 0:50 / /a rw - nfs4 srv:/a rw\n".to_owned())
    }

    fn answers(&self, _: &str) -> Result<(), AccessError> {
        Ok(())
    }

    fn run(&self, step: Step, _: &[(&str, &str)], _: usize) -> Result<Output, AccessError> {
        self.0.set(self.0.get() + 1);
        Ok(Output {
            exit_code: Some(0),
            signal: None,
            stdout: if step == Step::Read {
                b"x".to_vec()
            } else {
                Vec::new()
            },
            stderr: Vec::new(),
            truncated: false,
            duration_ms: 1,
        })
    }
}

fn config() -> Config {
    Config::parse(r#"{"groups":[{"volume_path":"/a","file_contents":"x"}]}"#).unwrap()
}

fn checked(
    events: Result<Vec<StoredEvent>, AccessError>,
    reboots: Result<Vec<Reboot>, AccessError>,
    trigger: Trigger,
    memory: &mut Memory,
) -> (HealthState, u32) {
    let machine = Fake::default();
    let history = KernelLogHistory {
        events,
        reboots: || reboots,
    };
    let mut report = check(
        &context(trigger),
        &config(),
        history,
        "id",
        &machine,
        memory,
    );
    assert!(report.supported && report.events.is_empty() && report.metrics.is_empty());
    assert_eq!(report.states.len(), 1);
    let state = report.states.remove(0);
    assert!(state.extra_info.is_empty());
    (state, machine.0.get())
}

#[test]
fn a_hang_comes_first_and_nothing_is_tried() {
    let hung = || Ok(vec![stored(LOCK_RECLAIM_FAILED, NOW - 1000)]);
    let (state, runs) = checked(
        hung(),
        Ok(vec![]),
        Trigger::Scheduled,
        &mut Memory::default(),
    );
    assert_eq!(
        (state.health, state.reason.as_str(), runs),
        (
            Health::Unhealthy,
            "NFS hang detected: 1 lock reclaim failures",
            0
        )
    );
    let error = Err(AccessError::Other("disk full".into()));
    let (state, runs) = checked(hung(), error, Trigger::Scheduled, &mut Memory::default());
    assert_eq!(
        (
            state.health,
            state.reason.as_str(),
            state.error.as_deref(),
            runs
        ),
        (
            Health::Unhealthy,
            "failed to get reboot events",
            Some("disk full"),
            0
        )
    );
    let rebooted = Ok(vec![Reboot { time: NOW }]);
    let (state, runs) = checked(hung(), rebooted, Trigger::Scheduled, &mut Memory::default());
    assert_eq!((state.health, runs), (Health::Healthy, 4));
}

#[test]
fn volumes_are_tried_otherwise() {
    let well = "correctly read/wrote on \"/a\"";
    let answered = Ok(vec![stored(OK, NOW - 1000)]);
    let (state, runs) = checked(
        answered,
        Ok(vec![]),
        Trigger::Scheduled,
        &mut Memory::default(),
    );
    assert_eq!(
        (state, runs),
        (HealthState::healthy(&context(Trigger::Scheduled), well), 4)
    );
    let denied = Err(AccessError::Other("disk full".into()));
    let (state, runs) = checked(
        denied,
        Ok(vec![]),
        Trigger::Scheduled,
        &mut Memory::default(),
    );
    assert_eq!(
        (state.reason.as_str(), state.error.as_deref(), runs),
        (well, Some("the events cannot be read: disk full"), 4)
    );
}

#[test]
fn who_insists() {
    for (trigger, runs) in [
        (Trigger::Scheduled, 0),
        (Trigger::Event, 0),
        (Trigger::Startup, 0),
        (Trigger::Manual, 4),
        (Trigger::SetHealthy, 4),
    ] {
        let mut memory = Memory::default();
        memory.hangs("/a", NOW - 1000, "NFS write timed out for /a", "e");
        let (state, ran) = checked(Ok(vec![]), Ok(vec![]), trigger, &mut memory);
        assert_eq!(ran, runs);
        if runs == 0 {
            assert_eq!(
                (state.health, state.reason.as_str(), state.error.as_deref()),
                (
                    Health::Degraded,
                    "NFS write timed out for /a",
                    Some("e; tried again in 49 s")
                )
            );
            assert_eq!(state.subject, Some(Subject::Mount("/a".into())));
        }
    }
}

#[test]
fn three_days() {
    let day = 86_400_000;
    assert!(is_recent(&stored(OK, NOW - 3 * day + 1), NOW));
    assert!(!is_recent(&stored(OK, NOW - 3 * day), NOW));
}
