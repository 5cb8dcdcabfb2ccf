//! Timelines: what a history of errors and reboots comes to.

use super::*;
use crate::catalog;

/// One moment of a history.
#[derive(Clone, Copy)]
enum Moment {
    /// An error that the catalogue has.
    Error(u32),
    /// An error that it does not have, with its own severity and action.
    Own(EventKind, u32, Option<&'static str>),
    /// A reboot.
    Reboot,
}
use Moment::{Error, Own, Reboot};

#[derive(Clone, Copy)]
enum EventKind {
    Fatal,
    Critical,
    Warning,
}
use EventKind::{Critical, Fatal, Warning};

fn row(second: u64, moment: Moment) -> Option<Row<'static>> {
    let (code, event_type, action) = match moment {
        Error(code) => {
            let known = catalog::code(code).unwrap();
            let action = known.actions.first().map(|action| action.word());
            (code, known.severity.event_type(), action)
        }
        Own(Fatal, code, action) => (code, EventType::Fatal, action),
        Own(Critical, code, action) => (code, EventType::Critical, action),
        Own(Warning, code, action) => (code, EventType::Warning, action),
        Reboot => return None,
    };
    Some(Row {
        second,
        code,
        event_type,
        action: action.map(Into::into),
        device: "d".into(),
        evidence: &[],
    })
}

/// Health, code of the current error, and action; `seconds` are those of the moments.
fn at(moments: &[(u64, Moment)], config: &str) -> (Health, Option<u32>, String) {
    let rows = moments
        .iter()
        .filter_map(|(second, moment)| row(*second, *moment));
    let reboots = moments
        .iter()
        .filter(|(_, moment)| matches!(moment, Reboot))
        .map(|(second, _)| *second);
    let verdict = judge(rows, reboots, &Config::read(config).unwrap());
    let code = verdict.current.map(|row| row.code);
    (
        verdict.health,
        code,
        verdict.action.unwrap_or_default().into_owned(),
    )
}

/// The moments a second apart.
fn of(moments: &[Moment], config: &str) -> (Health, Option<u32>, String) {
    let moments: Vec<(u64, Moment)> = (1..).zip(moments.iter().copied()).collect();
    at(&moments, config)
}

const REBOOT: &str = "REBOOT_SYSTEM";
const INSPECT: &str = "HARDWARE_INSPECTION";

/// An error that asks for a reboot.
const E: Moment = Error(20_034);
/// Another.
const F: Moment = Error(12_028);
/// One that harms nothing.
const W: Moment = Error(20_001);
const R: Moment = Reboot;

#[test]
fn reboots_and_inspections() {
    for (moments, health, action) in [
        (&[][..], Health::Healthy, ""),
        (&[E], Health::Unhealthy, REBOOT),
        (&[E, R], Health::Healthy, ""),
        (&[E, R, E], Health::Unhealthy, REBOOT),
        (&[E, R, E, R, E], Health::Unhealthy, INSPECT),
        (&[E, R, R, E], Health::Unhealthy, INSPECT),
        (&[R, R, R, E], Health::Unhealthy, REBOOT),
        (&[R, R, R, E, R, E], Health::Unhealthy, REBOOT),
        (&[E, R, E, R, E, R], Health::Unhealthy, INSPECT),
        (&[E, E, E, E], Health::Unhealthy, REBOOT),
        // Reboots count for codes only from the first error on, and by code.
        (&[F, R, R, E], Health::Unhealthy, REBOOT),
        (&[F, R, R, E, F], Health::Unhealthy, INSPECT),
        // A set-healthy removed the older errors, not the reboots.
        (&[R, R, E], Health::Unhealthy, REBOOT),
    ] {
        let found = of(moments, "{}");
        assert_eq!((&found.0, found.2.as_str()), (&health, action));
        assert_eq!(found.1.is_none(), health == Health::Healthy);
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
        (&[E, R, E][..], r#"{"overrides":{"20034":1}}"#, INSPECT),
        (&[E, R, E], r#"{"overrides":{"12028":1}}"#, REBOOT),
        (
            &[E, R, E, R, E],
            r#"{"overrides":{"20034":{"rebootThreshold":3}}}"#,
            REBOOT,
        ),
        (
            &[E, R, E, R, E, R, E],
            r#"{"overrides":{"20034":{"rebootThreshold":3}}}"#,
            INSPECT,
        ),
    ] {
        assert_eq!(of(moments, config).2, action, "{config}");
    }
}

#[test]
fn among_several_errors() {
    for (moments, expected) in [
        // The newest of the most serious wins; so a later one can hide an inspection, and a reboot then clears it.
        (&[F, E][..], (Health::Unhealthy, Some(20_034), REBOOT)),
        (
            &[E, R, E, R, E, F],
            (Health::Unhealthy, Some(12_028), REBOOT),
        ),
        (&[E, R, E, R, E, F, R], (Health::Healthy, None, "")),
        // Less serious ones do not count meanwhile; alone they keep the machine healthy, with a reason that no reboot
        // takes away.
        (&[E, W], (Health::Unhealthy, Some(20_034), REBOOT)),
        (&[W], (Health::Healthy, Some(20_001), "")),
        (&[W, R, R], (Health::Healthy, Some(20_001), "")),
        (&[W, E, R], (Health::Healthy, None, "")),
        // Without an action the last one stays, and with it what clears it.
        (
            &[Own(Fatal, 28_006, None), R],
            (Health::Unhealthy, Some(28_006), ""),
        ),
        (
            &[E, Own(Fatal, 28_006, None)],
            (Health::Unhealthy, Some(28_006), REBOOT),
        ),
        (
            &[E, Own(Fatal, 28_006, None), R],
            (Health::Healthy, None, ""),
        ),
        // Events of other versions.
        (
            &[Own(Critical, 28_006, Some(REBOOT))],
            (Health::Degraded, Some(28_006), REBOOT),
        ),
        (
            &[Own(Critical, 28_006, Some(REBOOT)), W],
            (Health::Degraded, Some(28_006), REBOOT),
        ),
        (
            &[Own(Critical, 28_006, Some(REBOOT)), E],
            (Health::Unhealthy, Some(20_034), REBOOT),
        ),
        (
            &[Own(Fatal, 28_006, Some(INSPECT)), R, R],
            (Health::Unhealthy, Some(28_006), INSPECT),
        ),
        (
            &[Own(Fatal, 28_006, Some(CHECK_APP)), R],
            (Health::Healthy, None, ""),
        ),
        (
            &[Own(Warning, 28_006, Some("CALL_SOMEBODY"))],
            (Health::Healthy, Some(28_006), "CALL_SOMEBODY"),
        ),
    ] {
        let found = of(moments, "{}");
        assert_eq!((found.0, found.1, found.2.as_str()), expected);
    }
}

#[test]
fn within_a_second_errors_come_before_the_reboot() {
    assert_eq!(at(&[(5, E), (5, R)], "{}").0, Health::Healthy);
    assert_eq!(at(&[(5, R), (5, E)], "{}").0, Health::Healthy);
    assert_eq!(at(&[(5, R), (6, E)], "{}").0, Health::Unhealthy);
    assert_eq!(at(&[(5, E), (5, F)], "{}").1, Some(12_028));
}

#[test]
fn says_whether_a_reboot_clears() {
    for (action, clears) in [
        (None, false),
        (Some(REBOOT), true),
        (Some(CHECK_APP), true),
        (Some(INSPECT), false),
        (Some("IGNORE_NO_ACTION_REQUIRED"), false),
    ] {
        let verdict = Verdict {
            health: Health::Unhealthy,
            current: None,
            action: action.map(Into::into),
        };
        assert_eq!(verdict.clears_by_reboot(), clears, "{action:?}");
    }
}
