//! Timelines: the verdict on a history of errors and reboots.

use super::super::config::CodeKind;
use super::*;
use crate::policy::codes::Codes;

const KIND: CodeKind = CodeKind {
    codes: Codes {
        family: "Xid",
        version: 1,
        possible: |_| true,
        listed: |_| true,
    },
    has_threshold: true,
    key_pattern: "",
    overrides: &[(94, 1000)],
    further_properties: "",
};

/// One moment of a history.
#[derive(Clone, Copy)]
enum Moment {
    /// An error: its severity, code, and first action.
    Error(Severity, u32, &'static str),
    /// A reboot.
    Reboot,
}
use Moment::Error;
use Severity::{Critical, Fatal, Info, Unknown, Warning};

const REBOOT: &str = "REBOOT_SYSTEM";
const INSPECT: &str = "HARDWARE_INSPECTION";
const IGNORE: &str = "IGNORE_NO_ACTION_REQUIRED";
const APP: &str = "CHECK_USER_APP_AND_GPU";

/// Errors that ask for a reboot.
const E: Moment = Error(Fatal, 79, REBOOT);
const F: Moment = Error(Fatal, 119, REBOOT);
/// A contained one.
const C: Moment = Error(Fatal, 94, REBOOT);
/// Those that harm nothing: an application's, one that asks for a reboot nevertheless, one without an action.
const A: Moment = Error(Warning, 13, APP);
const W: Moment = Error(Warning, 173, REBOOT);
const N: Moment = Error(Warning, 154, "");
const R: Moment = Moment::Reboot;

/// Health, code of the current error, action, and whether by policy.
type Outcome = (Health, Option<u32>, &'static str, bool);

/// `seconds` are those of the moments.
fn at(moments: &[(u64, Moment)], config: &str) -> Outcome {
    let faults = || {
        moments.iter().enumerate().filter_map(|(index, moment)| {
            let (second, Error(severity, code, action)) = *moment else {
                return None;
            };
            Some(Fault {
                index,
                second,
                key: Key::of(code),
                severity,
                action: (!action.is_empty()).then(|| action.into()),
            })
        })
    };
    let reboots = || {
        let reboots = moments
            .iter()
            .filter(|(_, moment)| matches!(moment, Moment::Reboot));
        reboots.map(|(second, _)| *second)
    };
    let config = CodeConfig::read(config, &KIND).unwrap();
    let (verdict, note) = judge(faults, reboots, &config);
    let code = verdict.current.map(|index| match moments[index].1 {
        Error(_, code, _) => code,
        Moment::Reboot => panic!("a reboot is no error"),
    });
    let words = [REBOOT, INSPECT, IGNORE, APP, "CALL_SOMEBODY"];
    let action = verdict
        .action
        .map(|action| *words.iter().find(|word| **word == action).unwrap());
    (verdict.health, code, action.unwrap_or(""), note.is_some())
}

/// The moments a second apart.
fn of(moments: &[Moment], config: &str) -> Outcome {
    let moments: Vec<(u64, Moment)> = (1..).zip(moments.iter().copied()).collect();
    at(&moments, config)
}

fn healthy(code: Option<u32>, action: &'static str) -> Outcome {
    (Health::Healthy, code, action, false)
}

fn degraded(code: u32, action: &'static str) -> Outcome {
    (Health::Degraded, Some(code), action, false)
}

fn unhealthy(code: u32, action: &'static str) -> Outcome {
    (Health::Unhealthy, Some(code), action, false)
}

fn by_policy(outcome: Outcome) -> Outcome {
    (outcome.0, outcome.1, outcome.2, true)
}

#[test]
fn reboots_and_inspections() {
    for (moments, expected) in [
        (&[][..], healthy(None, "")),
        (&[E], unhealthy(79, REBOOT)),
        (&[E, R], healthy(None, "")),
        (&[E, R, E], unhealthy(79, REBOOT)),
        (&[E, R, E, R], healthy(None, "")),
        (&[E, R, E, R, E], unhealthy(79, INSPECT)),
        (&[E, R, R, E], unhealthy(79, INSPECT)),
        (&[R, R, R, E], unhealthy(79, REBOOT)),
        (&[R, R, R, E, R, E], unhealthy(79, REBOOT)),
        (&[E, R, E, R, E, R], unhealthy(79, INSPECT)),
        (&[E, R, E, R, E, R, E], unhealthy(79, INSPECT)),
        (&[E, E, E, E], unhealthy(79, REBOOT)),
        // Reboots count for codes only from the first error on, and by code.
        (&[F, R, R, E], unhealthy(79, REBOOT)),
        (&[F, R, R, E, F], unhealthy(119, INSPECT)),
        // A set-healthy removed the older errors, not the reboots.
        (&[R, R, E], unhealthy(79, REBOOT)),
    ] {
        assert_eq!(of(moments, "{}"), expected);
    }
}

#[test]
fn only_errors_within_the_window_count() {
    // E R R, and E 13 days later: an inspection until the first three leave the window.
    let day = 86_400;
    let all = [(0, E), (1, R), (2, R), (13 * day, E)];
    assert_eq!(at(&all, "{}").2, INSPECT);
    assert_eq!(at(&all[1..], "{}").2, REBOOT);
    assert_eq!(at(&all[3..], "{}").2, REBOOT);
}

#[test]
fn thresholds() {
    for (moments, config, action) in [
        (&[E, R, E][..], r#"{"reboot_threshold":1}"#, INSPECT),
        (&[E, R, E, R, E], r#"{"reboot_threshold":3}"#, REBOOT),
        (&[E, R, E, R, E, R, E], r#"{"reboot_threshold":3}"#, INSPECT),
        (&[E, R, E], r#"{"overrides":{"79":1}}"#, INSPECT),
        (&[E, R, E], r#"{"overrides":{"119":1}}"#, REBOOT),
        (
            &[E, R, E, R, E],
            r#"{"overrides":{"79":{"rebootThreshold":9}}}"#,
            REBOOT,
        ),
        (&[C, R, C, R, C, R, C], "{}", REBOOT),
        (&[C, R, C, R, C], r#"{"overrides":{"94":0}}"#, INSPECT),
    ] {
        let (_, _, found, by_policy) = of(moments, config);
        assert_eq!((found, by_policy), (action, false), "{config}");
    }
}

#[test]
fn among_several_errors() {
    let own = |severity, action| Error(severity, 79, action);
    for (moments, expected) in [
        // The newest of the most serious wins; so a later one can hide an inspection, and a reboot then clears it.
        (&[F, E][..], unhealthy(79, REBOOT)),
        (&[E, R, E, R, E, F], unhealthy(119, REBOOT)),
        (&[E, R, E, R, E, F, R], healthy(None, "")),
        // Less serious ones do not count at all in the meantime.
        (&[E, A], unhealthy(79, REBOOT)),
        (&[E, W, R, R, W], healthy(Some(173), REBOOT)),
        (&[W, E, R, R, W], healthy(Some(173), INSPECT)),
        // Harmless errors keep the machine healthy, with reason and action.
        (&[A], healthy(Some(13), APP)),
        (&[A, R], healthy(None, "")),
        (&[W, R, R, W], healthy(Some(173), INSPECT)),
        (&[own(Warning, IGNORE), R], healthy(Some(79), IGNORE)),
        (&[own(Info, IGNORE)], healthy(Some(79), IGNORE)),
        (&[own(Unknown, REBOOT)], healthy(Some(79), REBOOT)),
        // Without an action the last one stays, and with it what clears it.
        (&[N], healthy(Some(154), "")),
        (&[N, R, R], healthy(Some(154), "")),
        (&[A, N], healthy(Some(154), APP)),
        (&[A, N, R], healthy(None, "")),
        (&[own(Fatal, ""), R], unhealthy(79, "")),
        (&[F, own(Fatal, "")], unhealthy(79, REBOOT)),
        (&[F, own(Fatal, ""), R], healthy(None, "")),
        (&[N, E, R], healthy(None, "")),
        // What a reboot clears, and what not.
        (&[own(Fatal, IGNORE), R], unhealthy(79, IGNORE)),
        (&[own(Fatal, INSPECT), R, R], unhealthy(79, INSPECT)),
        (
            &[own(Fatal, "CALL_SOMEBODY"), R],
            unhealthy(79, "CALL_SOMEBODY"),
        ),
        (&[own(Fatal, APP), R], healthy(None, "")),
        // Rows of other versions.
        (&[own(Critical, REBOOT)], degraded(79, REBOOT)),
        (&[own(Critical, REBOOT), A], degraded(79, REBOOT)),
        (&[own(Critical, REBOOT), F], unhealthy(119, REBOOT)),
        (&[E, Error(Critical, 31, APP)], unhealthy(79, REBOOT)),
        (&[own(Critical, REBOOT), R], healthy(None, "")),
    ] {
        assert_eq!(of(moments, "{}"), expected);
    }
}

#[test]
fn within_a_second_errors_come_before_the_reboot() {
    assert_eq!(at(&[(5, E), (5, R)], "{}").0, Health::Healthy);
    assert_eq!(at(&[(5, R), (5, E)], "{}").0, Health::Healthy);
    assert_eq!(at(&[(5, R), (6, E)], "{}").0, Health::Unhealthy);
    assert_eq!(at(&[(5, E), (5, F)], "{}").1, Some(119));
}

#[test]
fn a_policy_changes_the_verdict_and_says_so() {
    for (policy, moments, expected) in [
        // Severity, both ways.
        (
            r#"{"severity":"warning"}"#,
            &[E][..],
            by_policy(healthy(Some(79), REBOOT)),
        ),
        (
            r#"{"severity":"critical"}"#,
            &[E],
            by_policy(degraded(79, REBOOT)),
        ),
        (r#"{"severity":"info"}"#, &[E, F], unhealthy(119, REBOOT)),
        (
            r#"{"severity":"info"}"#,
            &[F, E],
            by_policy(unhealthy(119, REBOOT)),
        ),
        (
            r#"{"severity":"fatal"}"#,
            &[own_warning()],
            by_policy(unhealthy(79, APP)),
        ),
        // As if it had not happened: neither its reason nor its reboots count.
        (
            r#"{"severity":"ignore"}"#,
            &[E],
            by_policy(healthy(None, "")),
        ),
        (
            r#"{"severity":"ignore"}"#,
            &[A, E],
            by_policy(healthy(Some(13), APP)),
        ),
        (
            r#"{"severity":"ignore"}"#,
            &[E, R, R, E],
            by_policy(healthy(None, "")),
        ),
        // Actions: the first is asked for; none keeps the one before.
        (
            r#"{"actions":["HARDWARE_INSPECTION","REBOOT_SYSTEM"]}"#,
            &[E, R],
            by_policy(unhealthy(79, INSPECT)),
        ),
        (
            r#"{"actions":["CHECK_USER_APP_AND_GPU"]}"#,
            &[E],
            by_policy(unhealthy(79, APP)),
        ),
        (
            r#"{"actions":["CHECK_USER_APP_AND_GPU"]}"#,
            &[E, R],
            healthy(None, ""),
        ),
        (r#"{"actions":[]}"#, &[E, R], by_policy(unhealthy(79, ""))),
        // Without a reboot to ask for, none are counted.
        (
            r#"{"actions":["IGNORE_NO_ACTION_REQUIRED"]}"#,
            &[E, R, R, E],
            by_policy(unhealthy(79, IGNORE)),
        ),
        // Thresholds.
        (r#"{"reboot_threshold":1}"#, &[E], unhealthy(79, REBOOT)),
        (
            r#"{"reboot_threshold":1}"#,
            &[E, R, E],
            by_policy(unhealthy(79, INSPECT)),
        ),
        (
            r#"{"reboot_threshold":9}"#,
            &[E, R, R, E],
            by_policy(unhealthy(79, REBOOT)),
        ),
        (
            r#"{"reboot_threshold":9}"#,
            &[E, R, R, E, R],
            by_policy(healthy(None, "")),
        ),
        // What is as before is not marked, nor what the policy does not name.
        (r#"{"severity":"fatal"}"#, &[E], unhealthy(79, REBOOT)),
        (r#"{"severity":"ignore"}"#, &[F], unhealthy(119, REBOOT)),
        (r#"{"severity":"ignore"}"#, &[E, R], healthy(None, "")),
        (r#"{"severity":"ignore"}"#, &[], healthy(None, "")),
    ] {
        let config = format!(r#"{{"policy":{{"79":{policy}}}}}"#);
        assert_eq!(of(moments, &config), expected, "{policy}");
    }
    // It wins over the thresholds of flags, and over the built-in one.
    let both = r#"{"overrides":{"79":1},"policy":{"79":{"reboot_threshold":3}}}"#;
    assert_eq!(of(&[E, R, E], both), by_policy(unhealthy(79, REBOOT)));
    let contained = r#"{"policy":{"94":{"reboot_threshold":1}}}"#;
    assert_eq!(of(&[C, R, C], contained), by_policy(unhealthy(94, INSPECT)));
}

fn own_warning() -> Moment {
    Error(Warning, 79, APP)
}

#[test]
fn a_look_at_the_moment_goes_by_the_policy() {
    let context = CheckContext {
        component: "c".into(),
        now: 5,
        trigger: crate::Trigger::Manual,
        boot_id: String::new(),
        boot_time: 0,
        previous_check: None,
        extra: Vec::new(),
    };
    let errors = [(Key::of(79), Fatal), (Key::of(13), Warning)];
    for (policy, health, reason) in [
        ("{}", Health::Unhealthy, "two"),
        (
            r#"{"79":{"severity":"warning"}}"#,
            Health::Healthy,
            "two (site policy)",
        ),
        (
            r#"{"79":{"severity":"ignore"}}"#,
            Health::Healthy,
            "two (site policy)",
        ),
        (
            r#"{"79":{"severity":"critical"}}"#,
            Health::Unhealthy,
            "two",
        ),
        (r#"{"13":{"severity":"fatal"}}"#, Health::Unhealthy, "two"),
        (
            r#"{"13":{"severity":"critical"},"79":{"severity":"info"}}"#,
            Health::Unhealthy,
            "two",
        ),
    ] {
        let config = CodeConfig::read(&format!(r#"{{"policy":{policy}}}"#), &KIND).unwrap();
        let state = at_once(&context, errors.into_iter(), &config, "two".into());
        assert_eq!((state.health, &*state.reason), (health, reason), "{policy}");
        assert_eq!(state.extra_info.len(), usize::from(reason != "two"));
    }
}

#[test]
fn says_whether_a_reboot_clears() {
    for (action, recovery) in [
        (None, &[Recovery::SetHealthy][..]),
        (Some(REBOOT), &[Recovery::Reboot, Recovery::SetHealthy]),
        (Some(APP), &[Recovery::Reboot, Recovery::SetHealthy]),
        (Some(INSPECT), &[Recovery::SetHealthy]),
        (Some(IGNORE), &[Recovery::SetHealthy]),
    ] {
        let verdict = TimelineVerdict {
            health: Health::Unhealthy,
            current: None,
            action: action.map(Into::into),
        };
        assert_eq!(verdict.state("n", "r").recovery, recovery, "{action:?}");
    }
}
