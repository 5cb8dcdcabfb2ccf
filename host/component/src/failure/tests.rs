use super::*;
use crate::store::StoreError;

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
fn what_was_broken_stays_so_while_the_database_does_not_answer() {
    let of = |health| HealthState {
        health,
        ..HealthState::default()
    };
    let healths = |error: &CallError, before: &[Health]| -> Vec<Health> {
        let before = before.iter().cloned().map(of).collect();
        let shown = states(state("a", 5, error, None), error, before);
        shown.into_iter().map(|state| state.health).collect()
    };
    let database = CallError::Database(StoreError::Hangs);
    let mixed = [Health::Unhealthy, Health::Healthy];
    let unknown = [Health::Unhealthy, Health::Degraded];
    assert_eq!(healths(&database, &mixed), unknown);
    assert_eq!(healths(&database, &[Health::Healthy]), [Health::Degraded]);
    let denied = CallError::Source(SourceError::Denied("/proc/x".into()));
    assert_eq!(healths(&denied, &mixed), [Health::Degraded]);
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
