//! Turns a check without a report into a state that names the party at fault, and says when to try again.

use std::time::Duration;

use crate::{
    model::{Health, HealthState, UnixMillis},
    node::error::SourceError,
    runtime::CallError,
};

/// Longest wait between two checks of a component whose checker fails.
const MAX_WAIT: Duration = Duration::from_secs(3600);

/// How often a component has failed, and when it is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Retry {
    /// How often it failed in a row.
    pub failures: u32,
    /// The time until the next try.
    pub wait: Duration,
}

/// Counts a failure. The wait after a plugin's failure doubles from its interval up to an hour; a source that does not
/// answer is asked on schedule.
pub(super) fn back_off(error: &CallError, failures: &mut u32, interval: Duration) -> Option<Retry> {
    if matches!(error, CallError::Source(_) | CallError::Database(_)) {
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
        CallError::Database(_) => (Health::Degraded, format!("cannot be judged: {error}")),
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

/// Returns what is known of a component whose check gave no report: where the daemon's own database is to blame, what was
/// broken before is still broken.
pub(super) fn states(
    failed: HealthState,
    error: &CallError,
    before: Vec<HealthState>,
) -> Vec<HealthState> {
    let was_broken = before.iter().any(|state| state.health == Health::Unhealthy);
    match (error, &failed.error) {
        (CallError::Database(_), Some(problem)) if was_broken => unknown(before, problem),
        _ => vec![failed],
    }
}

/// Adds this error to each state that has none of its own.
pub(super) fn with_error(mut states: Vec<HealthState>, problem: &str) -> Vec<HealthState> {
    for state in &mut states {
        state.error.get_or_insert_with(|| problem.to_owned());
    }
    states
}

/// Returns the states of a component that judges by the kernel log alone while the log cannot be read: a healthy state
/// becomes an unknown one.
pub(super) fn unknown(mut states: Vec<HealthState>, problem: &str) -> Vec<HealthState> {
    for state in &mut states {
        if state.health == Health::Healthy {
            state.health = Health::Degraded;
            state.reason = format!("unknown: {problem}");
        }
    }
    with_error(states, problem)
}

/// Returns the health of a component whose source failed. A source that hangs, or whose device is gone, says something
/// about the node; one that is missing, or that gpud may not read, only leaves the component unjudged.
fn source_health(source: &SourceError) -> Health {
    match source {
        SourceError::TimedOut { .. } | SourceError::SourceLost(_) | SourceError::NeedsReset(_) => {
            Health::Unhealthy
        }
        _ => Health::Degraded,
    }
}

#[cfg(test)]
mod tests;
