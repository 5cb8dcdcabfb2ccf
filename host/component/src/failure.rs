//! Turns a check without a report into a state that names the party at fault, and says when to try again.

use std::time::Duration;

use crate::{
    model::{Health, HealthState, UnixMillis},
    node::error::SourceError,
    runtime::CallError,
};

/// Longest wait between two checks of a component whose checker fails.
const MAX_WAIT: Duration = Duration::from_secs(3600);

/// When a failing component is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Retry {
    /// How often it failed in a row.
    pub failures: u32,
    /// Until the next try.
    pub wait: Duration,
}

/// Counts a failure. A plugin that fails is left alone for longer and longer, doubling from its interval up to an hour;
/// a source that does not answer is asked on schedule.
pub(super) fn back_off(error: &CallError, failures: &mut u32, interval: Duration) -> Option<Retry> {
    if matches!(error, CallError::Source(_)) {
        *failures = 0;
        return None;
    }
    *failures = failures.saturating_add(1);
    let doublings = failures.saturating_sub(1).min(16);
    let wait = interval
        .saturating_mul(1 << doublings)
        .min(MAX_WAIT.max(interval));
    Some(Retry {
        failures: *failures,
        wait,
    })
}

/// The state of a component whose check gave no report. No action is suggested: nothing is known of the machine.
pub(super) fn state(
    component: &str,
    now: UnixMillis,
    error: &CallError,
    retry: Option<&Retry>,
) -> HealthState {
    let (health, mut reason) = match error {
        CallError::Source(source) => (source_health(source), format!("cannot be judged: {source}")),
        other => (
            Health::Unhealthy,
            format!("the checker itself failed: it {other}"),
        ),
    };
    if let Some(Retry { failures, wait }) = retry.filter(|retry| retry.failures > 1) {
        reason.push_str(&format!(
            " ({failures} failures in a row, next try in {} s)",
            wait.as_secs()
        ));
    }
    HealthState {
        name: Some(component.to_owned()),
        time: Some(now),
        health,
        reason,
        error: Some(error.to_string()),
        ..HealthState::default()
    }
}

/// The states, each with this error unless it has one of its own.
pub(super) fn with_error(mut states: Vec<HealthState>, problem: &str) -> Vec<HealthState> {
    for state in &mut states {
        state.error.get_or_insert_with(|| problem.to_owned());
    }
    states
}

/// The states of a component that judges by the kernel log alone, while that cannot be read: what it calls healthy is
/// unknown.
pub(super) fn unknown(mut states: Vec<HealthState>, problem: &str) -> Vec<HealthState> {
    for state in &mut states {
        if state.health == Health::Healthy {
            state.health = Health::Degraded;
            state.reason = format!("unknown: {problem}");
        }
    }
    with_error(states, problem)
}

/// A source that hangs, or whose device is gone, says something about the node; one that may not be read, or is not
/// there, only leaves the component unjudged.
fn source_health(source: &SourceError) -> Health {
    match source {
        SourceError::TimedOut { .. } | SourceError::SourceLost(_) | SourceError::NeedsReset(_) => {
            Health::Unhealthy
        }
        _ => Health::Degraded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn plugin_failures_back_off_to_an_hour_and_sources_do_not() {
        let trap = CallError::Trap("x".into());
        let mut failures = 0;
        let waits: Vec<u64> = (0..9)
            .filter_map(|_| back_off(&trap, &mut failures, MINUTE))
            .map(|retry| retry.wait.as_secs())
            .collect();
        assert_eq!(waits, [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]);
        let gone = CallError::Source(SourceError::NotFound("/x".into()));
        assert_eq!(back_off(&gone, &mut failures, MINUTE), None);
        assert_eq!(failures, 0);
        let mut failures = u32::MAX;
        let day = Duration::from_secs(86_400);
        assert_eq!(
            back_off(&trap, &mut failures, day).map(|r| r.wait),
            Some(day)
        );
    }

    #[test]
    fn states_blame_the_right_one() {
        let denied = CallError::Source(SourceError::Denied("/proc/x".into()));
        let judged = state("a", 5, &denied, None);
        assert_eq!(judged.health, Health::Degraded);
        assert_eq!(
            judged.reason,
            "cannot be judged: /proc/x: permission denied"
        );
        let hung = CallError::Source(SourceError::TimedOut {
            what: "/mnt".into(),
            after: MINUTE,
            last_good: None,
        });
        assert_eq!(state("a", 5, &hung, None).health, Health::Unhealthy);
        let retry = Retry {
            failures: 3,
            wait: Duration::from_secs(240),
        };
        let trapped = state(
            "a",
            5,
            &CallError::Trap("out of bounds".into()),
            Some(&retry),
        );
        assert_eq!(
            trapped.reason,
            "the checker itself failed: it trapped: out of bounds (3 failures in a row, next try in 240 s)"
        );
        assert!(trapped.suggested_actions.is_none());
    }

    #[test]
    fn only_what_is_called_healthy_becomes_unknown() {
        let state = |health| HealthState {
            health,
            reason: "as it was".into(),
            ..HealthState::default()
        };
        let states = unknown(
            vec![state(Health::Healthy), state(Health::Unhealthy)],
            "the kernel log cannot be read (x)",
        );
        let shown: Vec<_> = states
            .iter()
            .map(|state| (state.health.as_str(), state.reason.as_str()))
            .collect();
        assert_eq!(
            shown,
            [
                ("Degraded", "unknown: the kernel log cannot be read (x)"),
                ("Unhealthy", "as it was"),
            ]
        );
        assert!(states.iter().all(|state| state.error.is_some()));
    }
}
