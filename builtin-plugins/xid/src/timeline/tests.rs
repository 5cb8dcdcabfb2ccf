//! Timelines: what a history of errors and reboots comes to.

use gpud_sdk::{Event, EventType, history::StoredEvent};

use super::*;
use crate::row;

/// One moment of a history.
#[derive(Clone, Copy)]
enum Moment {
    /// An error with its code, as fresh from a plain line.
    Error(u32),
    /// An error with type, code and actions.
    Own(&'static str, u32, &'static [&'static str]),
    /// An error that cannot be read.
    Broken,
    /// A reboot.
    Reboot,
}
use Moment::{Broken, Error, Own, Reboot};

fn error(second: u64, event_type: EventType, data: String) -> StoredEvent {
    let mut event = Event::new(second * 1000, "error_xid", event_type, "");
    event.extra_info = vec![("device_uuid".into(), "d".into()), ("data".into(), data)];
    StoredEvent {
        event,
        count: 1,
        last_time: second * 1000,
    }
}

fn stored(second: u64, moment: Moment) -> Option<StoredEvent> {
    Some(match moment {
        Error(code) => error(
            second,
            EventType::Other(String::new()),
            format!(r#"{{"xid":{code}}}"#),
        ),
        Own(event_type, code, actions) => {
            let event_type = match event_type {
                "Fatal" => EventType::Fatal,
                "Critical" => EventType::Critical,
                "Warning" => EventType::Warning,
                "Info" => EventType::Info,
                _ => EventType::Unknown,
            };
            let actions = actions.join("\",\"");
            let data = format!(
                r#"{{"xid":{code},"description":"x","suggested_actions_by_gpud":{{"repair_actions":["{actions}"]}}}}"#
            );
            error(second, event_type, data)
        }
        Broken => error(second, EventType::Fatal, "?".into()),
        Reboot => return None,
    })
}

/// Health, code of the current error, and action; `seconds` are those of the moments.
fn at(moments: &[(u64, Moment)], config: &str) -> (&'static str, Option<u32>, String) {
    let errors: Vec<StoredEvent> = moments
        .iter()
        .filter_map(|(second, moment)| stored(*second, *moment))
        .collect();
    let reboots = moments
        .iter()
        .filter(|(_, moment)| matches!(moment, Reboot))
        .map(|(second, _)| *second);
    let config = Config::read(config).unwrap();
    let verdict = judge(errors.iter().filter_map(row::read), reboots, &config);
    let health = match verdict.health {
        Health::Healthy => "Healthy",
        Health::Degraded => "Degraded",
        Health::Unhealthy => "Unhealthy",
        _ => "?",
    };
    (
        health,
        verdict.current.map(|row| row.code),
        verdict.action.unwrap_or_default().into_owned(),
    )
}

/// The moments a second apart.
fn of(moments: &[Moment]) -> (&'static str, Option<u32>, String) {
    configured(moments, "{}")
}

fn configured(moments: &[Moment], config: &str) -> (&'static str, Option<u32>, String) {
    let moments: Vec<(u64, Moment)> = (1..).zip(moments.iter().copied()).collect();
    at(&moments, config)
}

const REBOOT: &str = "REBOOT_SYSTEM";
const INSPECT: &str = "HARDWARE_INSPECTION";
const IGNORE: &str = "IGNORE_NO_ACTION_REQUIRED";
const APP: &str = "CHECK_USER_APP_AND_GPU";

/// An error that asks for a reboot.
const E: Moment = Error(79);
const R: Moment = Reboot;

#[test]
fn reboots_and_inspections() {
    for (moments, health, action) in [
        (&[][..], "Healthy", ""),
        (&[E], "Unhealthy", REBOOT),
        (&[E, R], "Healthy", ""),
        (&[E, R, E], "Unhealthy", REBOOT),
        (&[E, R, E, R], "Healthy", ""),
        (&[E, R, E, R, E], "Unhealthy", INSPECT),
        (&[E, R, R, E], "Unhealthy", INSPECT),
        (&[R, R, R, E], "Unhealthy", REBOOT),
        (&[R, R, R, E, R, E], "Unhealthy", REBOOT),
        (&[E, R, E, R, E, R], "Unhealthy", INSPECT),
        (&[E, R, E, R, E, R, E], "Unhealthy", INSPECT),
        (&[E, E, E, E], "Unhealthy", REBOOT),
        // Reboots count for codes only from the first error on, and by code.
        (&[Error(119), R, R, E], "Unhealthy", REBOOT),
        (&[Error(119), R, R, E, Error(119)], "Unhealthy", INSPECT),
        // A set-healthy removed the older errors, not the reboots.
        (&[R, R, E], "Unhealthy", REBOOT),
    ] {
        let current = if health == "Healthy" { None } else { Some(()) };
        let found = of(moments);
        assert_eq!(
            (found.0, found.1.map(|_| ()), found.2.as_str()),
            (health, current, action)
        );
    }
}

#[test]
fn the_window_decides_what_counts() {
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
        // A contained error is not the hardware's.
        (
            &[Error(94), R, Error(94), R, Error(94), R, Error(94)],
            "{}",
            REBOOT,
        ),
        (
            &[Error(94), R, Error(94), R, Error(94)],
            r#"{"overrides":{"94":0}}"#,
            INSPECT,
        ),
    ] {
        assert_eq!(configured(moments, config).2, action, "{config}");
    }
}

#[test]
fn among_several_errors() {
    for (moments, expected) in [
        // The newest of the most serious wins; so a later one can hide an inspection, and a reboot then clears it.
        (&[Error(119), E][..], ("Unhealthy", Some(79), REBOOT)),
        (
            &[E, R, E, R, E, Error(119)],
            ("Unhealthy", Some(119), REBOOT),
        ),
        (&[E, R, E, R, E, Error(119), R], ("Healthy", None, "")),
        // Less serious ones do not count at all meanwhile.
        (&[E, Error(13)], ("Unhealthy", Some(79), REBOOT)),
        (
            &[E, Error(173), R, R, Error(173)],
            ("Healthy", Some(173), REBOOT),
        ),
        (
            &[Error(173), E, R, R, Error(173)],
            ("Healthy", Some(173), INSPECT),
        ),
        // Harmless errors keep the machine healthy, with reason and action.
        (&[Error(13)], ("Healthy", Some(13), APP)),
        (&[Error(13), R], ("Healthy", None, "")),
        (&[Error(45)], ("Healthy", Some(45), IGNORE)),
        (&[Error(45), R], ("Healthy", Some(45), IGNORE)),
        (
            &[Error(173), R, R, Error(173)],
            ("Healthy", Some(173), INSPECT),
        ),
        (&[Error(81), R, R, R], ("Unhealthy", Some(81), INSPECT)),
        // Without an action the last one stays, and with it what clears it.
        (&[Error(154)], ("Healthy", Some(154), "")),
        (&[Error(154), R, R], ("Healthy", Some(154), "")),
        (&[Error(13), Error(154)], ("Healthy", Some(154), APP)),
        (&[Error(13), Error(154), R], ("Healthy", None, "")),
        // Fatal, but to be ignored: it stays.
        (
            &[Own("Fatal", 149, &[IGNORE]), R],
            ("Unhealthy", Some(149), IGNORE),
        ),
        (
            &[Own("Fatal", 79, &["CALL_SOMEBODY"]), R],
            ("Unhealthy", Some(79), "CALL_SOMEBODY"),
        ),
        (&[Own("Fatal", 79, &[APP]), R], ("Healthy", None, "")),
        // Only the first action counts.
        (
            &[Own("Fatal", 79, &[INSPECT, REBOOT]), R],
            ("Unhealthy", Some(79), INSPECT),
        ),
        // Counted by code, whatever the GPU and sub-code.
        (
            &[
                Own("Fatal", 149, &[REBOOT]),
                R,
                R,
                Own("Fatal", 149, &[REBOOT, IGNORE]),
            ],
            ("Unhealthy", Some(149), INSPECT),
        ),
        // Rows of other versions.
        (
            &[Own("Critical", 79, &[REBOOT])],
            ("Degraded", Some(79), REBOOT),
        ),
        (
            &[Own("Critical", 79, &[REBOOT]), Error(13)],
            ("Degraded", Some(79), REBOOT),
        ),
        (
            &[Own("Critical", 79, &[REBOOT]), E],
            ("Unhealthy", Some(79), REBOOT),
        ),
        (
            &[E, Own("Critical", 31, &[APP])],
            ("Unhealthy", Some(79), REBOOT),
        ),
        (&[Own("Critical", 79, &[REBOOT]), R], ("Healthy", None, "")),
        (
            &[Own("Unknown", 79, &[REBOOT])],
            ("Healthy", Some(79), REBOOT),
        ),
        (&[Own("Info", 79, &[IGNORE])], ("Healthy", Some(79), IGNORE)),
        (&[Broken], ("Healthy", None, "")),
        (&[E, Broken, R], ("Healthy", None, "")),
    ] {
        let found = of(moments);
        assert_eq!((found.0, found.1, found.2.as_str()), expected);
    }
}

#[test]
fn within_a_second_errors_come_before_the_reboot() {
    assert_eq!(at(&[(5, E), (5, R)], "{}").0, "Healthy");
    assert_eq!(at(&[(5, R), (5, E)], "{}").0, "Healthy");
    assert_eq!(at(&[(5, R), (6, E)], "{}").0, "Unhealthy");
    assert_eq!(at(&[(5, E), (5, Error(119))], "{}").1, Some(119));
}

#[test]
fn says_whether_a_reboot_clears() {
    for (action, clears) in [
        (None, false),
        (Some(REBOOT), true),
        (Some(APP), true),
        (Some(INSPECT), false),
        (Some(IGNORE), false),
    ] {
        let verdict = Verdict {
            health: Health::Unhealthy,
            current: None,
            action: action.map(Into::into),
        };
        assert_eq!(verdict.clears_by_reboot(), clears, "{action:?}");
    }
}
