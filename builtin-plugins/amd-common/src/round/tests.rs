use super::*;
use crate::card::{CardFile, all};
use crate::testing::{Fixture, context};
use gpud_sdk::Health;
use gpud_sdk::types::TimeoutInfo;

fn cards(error: Option<AccessError>) -> Vec<Card> {
    let path = "/sys/bus/pci/drivers/amdgpu/0000:03:00.0/gpu_busy_percent";
    let tree = match error {
        Some(error) => Fixture::default().fails(path, error),
        None => Fixture::default().file(path, "1"),
    };
    all(&tree, &[CardFile::short("gpu_busy_percent")]).unwrap()
}

fn look(error: Option<AccessError>, before: &RetainedState) -> (Report, RetainedState) {
    Round::begin(&cards(error), before).end(&context("x"), "fine")
}

#[test]
fn a_gpu_that_cannot_be_read_twice_is_reported() {
    let denied = || Some(AccessError::Denied("gpu_busy_percent".into()));
    let (report, past) = look(denied(), &RetainedState::default());
    assert_eq!(report.states[0].health, Health::Healthy);
    let (report, past) = look(denied(), &past);
    let state = &report.states[0];
    assert_eq!(state.health, Health::Degraded);
    assert_eq!(
        state.reason,
        "GPU 0000:03:00.0 cannot be read: gpu_busy_percent: permission denied"
    );
    assert_eq!(report.events[0].name, UNREADABLE);
    let (report, past) = look(None, &past);
    assert_eq!(report.states[0].health, Health::Healthy);
    assert_eq!(report.events[0].name, "amd_gpu_unreadable_cleared");
    assert_eq!(past, RetainedState::default());
}

#[test]
fn one_that_hangs_is_not_to_be_trusted() {
    let hangs = || {
        Some(AccessError::TimedOut(TimeoutInfo {
            what: "gpu_busy_percent".into(),
            after_ms: 5_000,
            last_good: None,
        }))
    };
    let (_, past) = look(hangs(), &RetainedState::default());
    let (report, _) = look(hangs(), &past);
    assert_eq!(report.states[0].health, Health::Unhealthy);
}

#[test]
fn what_cannot_be_judged_stays_as_it_was() {
    let finding = || Finding::degraded("a", "thing_broken", "a is broken");
    let round = |before: &RetainedState, seen: Option<bool>| {
        let mut round = Round::begin(&[], before);
        match seen {
            Some(true) => round.add_after(2, finding()),
            Some(false) => {}
            None => round.keep(2, finding()),
        }
        let (report, past) = round.end(&context("x"), "fine");
        (report.states[0].health == Health::Healthy, past)
    };
    let mut past = RetainedState::default();
    for (step, (seen, healthy)) in [
        (None, true),
        (Some(true), true),
        (None, true),
        (Some(true), false),
        (None, false),
        (Some(true), false),
        (Some(false), true),
        (None, true),
    ]
    .into_iter()
    .enumerate()
    {
        let (found, after) = round(&past, seen);
        assert_eq!(found, healthy, "step {step}");
        past = after;
    }
}
