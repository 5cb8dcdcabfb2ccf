use super::*;

#[test]
fn a_required_unit_that_starts() {
    for (active, sub, expected) in [
        ("active", "running", None),
        ("reloading", "reload", None),
        ("refreshing", "refresh", None),
        ("activating", "start-pre", Some(Health::Degraded)),
        ("activating", "auto-restart", Some(Health::Unhealthy)),
        ("activating", "auto-restart-queued", Some(Health::Unhealthy)),
        ("deactivating", "stop-sigterm", Some(Health::Unhealthy)),
        ("failed", "failed", Some(Health::Unhealthy)),
    ] {
        let unit = Unit {
            active: active.to_owned(),
            sub: sub.to_owned(),
            ..Unit::default()
        };
        let found = required("a.service", Some(&unit)).map(|one| one.health);
        assert_eq!(found, expected, "{active} {sub}");
    }
}

use crate::units::shown;
use gpud_sdk::Health;
use gpud_sdk::testing::test_context;

fn unit(name: &str, active: &str, restarts: u64) -> String {
    format!(
        "Id={name}\nLoadState=loaded\nActiveState={active}\nSubState=x\nResult=exit-code\nNRestarts={restarts}\n\n"
    )
}

fn run(config: &str, checks: &[(&[&str], String)]) -> (Health, String, Vec<String>) {
    let config = Config::parse(config).unwrap();
    let (mut saved, mut memory) = (None, Memory::default());
    let mut answer = (Health::Healthy, String::new(), Vec::new());
    for (minute, (failed, watched)) in (0..).zip(checks) {
        let context = test_context("systemd-units", 1_800_000_000_000 + minute * 60_000);
        let inputs = Inputs {
            failed: failed.iter().map(|&name| name.to_owned()).collect(),
            watched: shown(watched),
        };
        let mut restarts = Restarts::restore(saved.as_deref(), "b-1");
        let (report, after) = judge(&context, &config, &inputs, &mut restarts, &memory);
        (saved, memory) = (Some(restarts.save()), after);
        answer.0 = report.states[0].health.clone();
        answer.1.clone_from(&report.states[0].reason);
        answer
            .2
            .extend(report.events.iter().map(|event| event.name.clone()));
    }
    answer
}

#[test]
fn verdicts() {
    let kubelet = |active| unit("kubelet.service", active, 0);
    let see = " See systemctl status and journalctl -u of the unit.";
    for (config, failed, watched, health, reason) in [
        (
            "{}",
            vec![],
            kubelet("inactive"),
            Health::Healthy,
            "no failed units".to_owned(),
        ),
        (
            "{}",
            vec!["cups.service"],
            String::new(),
            Health::Healthy,
            "no trouble with watched units; 1 other failed: cups.service".to_owned(),
        ),
        (
            r#"{"any_failed_unit":true}"#,
            vec!["cups.service"],
            String::new(),
            Health::Degraded,
            format!("cups.service has failed.{see}"),
        ),
        (
            "{}",
            vec!["kubelet.service"],
            kubelet("failed"),
            Health::Degraded,
            format!("kubelet.service has failed (exit-code).{see}"),
        ),
        (
            r#"{"required":["kubelet"]}"#,
            vec!["kubelet.service"],
            kubelet("failed"),
            Health::Unhealthy,
            format!("kubelet.service must run and is failed (x).{see}"),
        ),
        (
            r#"{"required":["kubelet"]}"#,
            vec![],
            kubelet("reloading"),
            Health::Healthy,
            "no failed units".to_owned(),
        ),
        (
            r#"{"required":["kubelet"]}"#,
            vec![],
            "Id=kubelet.service\nLoadState=not-found\n".to_owned(),
            Health::Unhealthy,
            format!("kubelet.service is not installed.{see}"),
        ),
    ] {
        let found = run(config, &[(&failed, watched)]);
        assert_eq!((found.0, found.1), (health, reason));
    }
}

#[test]
fn a_crash_loop_is_seen_at_once() {
    let kubelet = "Id=kubelet.service\nLoadState=loaded\nActiveState=activating\nSubState=auto-restart\nResult=exit-code\nNRestarts=8121\n";
    let (health, reason, events) = run("{}", &[(&[], kubelet.to_owned())]);
    assert_eq!(health, Health::Degraded);
    assert!(
        reason.starts_with(
            "kubelet.service is being restarted over and over: activating (auto-restart), last result exit-code; 8121 restarts"
        ),
        "{reason}"
    );
    assert_eq!(events, ["systemd_unit_restarting"]);
    // One that ends well and is started again on purpose, and one that just starts.
    for fine in [
        kubelet.replace("exit-code", "success"),
        kubelet.replace("auto-restart", "start"),
    ] {
        assert_eq!(run("{}", &[(&[], fine)]).0, Health::Healthy);
    }
    let required = r#"{"required":["kubelet"]}"#;
    let (health, reason, _) = run(required, &[(&[], kubelet.to_owned())]);
    assert_eq!(
        (health, reason.contains("over and over")),
        (Health::Unhealthy, false)
    );
}

#[test]
fn restarts_count_from_the_first_check() {
    let docker = |count| unit("docker.service", "active", count);
    let (health, ..) = run("{}", &[(&[], docker(100)), (&[], docker(104))]);
    assert_eq!(health, Health::Healthy);
    let (health, reason, events) = run("{}", &[(&[], docker(100)), (&[], docker(105))]);
    assert_eq!(
        (health, events),
        (Health::Degraded, vec!["systemd_unit_restarting".to_owned()])
    );
    assert!(reason.starts_with("docker.service was restarted 5 times within an hour"));
}

#[test]
fn events_are_transitions() {
    let cups: &[&str] = &["cups.service"];
    let none = String::new;
    let (.., events) = run("{}", &[(cups, none()), (cups, none()), (&[], none())]);
    assert_eq!(
        events,
        ["systemd_unit_failed", "systemd_unit_failed_cleared"]
    );
}
