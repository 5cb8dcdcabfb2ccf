//! What stored failures mean today: none, a reboot, or an inspection.

use gpud_sdk::history::{Reboot, StoredEvent};
use gpud_sdk::policy::{self, Policy, PolicyInput};
use gpud_sdk::{AccessError, CheckContext, HealthState, RepairAction};

use crate::kmsg::FAILURES;

/// How long a failure is remembered: 14 days.
pub const LOOK_BACK_MS: u64 = 14 * 24 * 60 * 60 * 1000;
/// Failures looked at; the newest count.
pub const MAX_EVENTS: u32 = 1000;
/// Failures that came back after a reboot before more reboots are thought useless.
const RETURNS_BEFORE_INSPECTION: usize = 2;

/// The daemon's stored failures; empty without a store.
#[derive(Debug)]
pub struct Log {
    /// Whether there is a store.
    pub available: bool,
    /// Own events of the look-back.
    pub events: Result<Vec<StoredEvent>, AccessError>,
    /// Reboots of the look-back.
    pub reboots: Result<Vec<Reboot>, AccessError>,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            available: false,
            events: Ok(Vec::new()),
            reboots: Ok(Vec::new()),
        }
    }
}

/// Whether any of the events is a failure.
pub fn any(events: &[StoredEvent]) -> bool {
    events.iter().any(|stored| {
        FAILURES
            .iter()
            .any(|failure| failure.entry.name == stored.event.name)
    })
}

/// The failures that a site's policy judges.
#[derive(Debug)]
pub struct PolicyVerdict {
    past: PolicyInput,
    /// Whether the remaining events give another verdict than without the policy.
    changed: bool,
}

/// Takes the events that the policy names out of the log; nothing where it names none of them.
pub fn by_policy(policy: &Policy, log: &mut Log) -> Option<PolicyVerdict> {
    let events = log.events.as_mut().ok()?;
    if !events.iter().any(|stored| policy.names(&stored.event.name)) {
        return None;
    }
    let all = std::mem::take(events);
    *events = policy.left(&all);
    let reboots = log.reboots.as_deref().unwrap_or_default();
    Some(PolicyVerdict {
        changed: evaluate(&all, reboots) != evaluate(events, reboots),
        past: PolicyInput {
            events: all,
            boots: Vec::new(),
            set_healthy: true,
        },
    })
}

impl PolicyVerdict {
    /// Adds what the policy makes of them to the state of the rest.
    ///
    /// # Errors
    /// When it is not known when the machine booted.
    pub fn lay_over(
        mut self,
        context: &CheckContext,
        policy: &Policy,
        state: &mut HealthState,
    ) -> Result<(), AccessError> {
        self.past.boots = policy::boots(context, context.now.saturating_sub(LOOK_BACK_MS))?;
        self.lay(context, policy, state);
        Ok(())
    }

    fn lay(&self, context: &CheckContext, policy: &Policy, state: &mut HealthState) {
        if policy.lay_over(context, &self.past, state) || self.changed {
            policy::mark(state);
        }
    }
}

/// The outcome of all kinds of failures together.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcome {
    /// Messages of the kinds that are not resolved, sorted.
    pub reasons: Vec<&'static str>,
    /// The action for them.
    pub action: Option<RepairAction>,
}

/// Judges each kind by itself and combines: an inspection asked for by one kind wins.
pub fn evaluate(events: &[StoredEvent], reboots: &[Reboot]) -> Outcome {
    let mut reboots: Vec<u64> = reboots.iter().map(|reboot| seconds(reboot.time)).collect();
    reboots.sort_unstable_by(|a, b| b.cmp(a));
    let mut outcome = Outcome::default();
    for failure in &FAILURES {
        let times: Vec<(u64, u64)> = events
            .iter()
            .filter(|stored| stored.event.name == failure.entry.name)
            .map(|stored| {
                (
                    seconds(stored.event.time),
                    seconds(stored.last_time.max(stored.event.time)),
                )
            })
            .collect();
        if let Some(action) = act(&reboots, &times) {
            outcome.reasons.push(failure.entry.message);
            if outcome.action != Some(RepairAction::HardwareInspection) {
                outcome.action = Some(action);
            }
        }
    }
    outcome.reasons.sort_unstable();
    outcome
}

/// One kind: reboots newest first, and first and last time of each of its events. Nothing if it did not happen, or
/// not since the last reboot.
fn act(reboots: &[u64], failures: &[(u64, u64)]) -> Option<RepairAction> {
    let newest = failures.iter().map(|&(_, last)| last).max()?;
    let Some(&last_reboot) = reboots.first() else {
        return Some(RepairAction::RebootSystem);
    };
    if last_reboot > newest {
        return None;
    }
    if reboots.len() == 1 || failures.len() == 1 {
        return Some(RepairAction::RebootSystem);
    }
    let first_reboot = reboots.last().copied().unwrap_or(last_reboot);
    let mut returns: Vec<u64> = failures
        .iter()
        .map(|&(first, _)| first)
        .filter(|&first| first_reboot <= first)
        .collect();
    returns.sort_unstable();
    returns.dedup();
    Some(if returns.len() >= RETURNS_BEFORE_INSPECTION {
        RepairAction::HardwareInspection
    } else {
        RepairAction::RebootSystem
    })
}

/// Reboots are known to the second.
fn seconds(millis: u64) -> u64 {
    millis / 1000
}

#[cfg(test)]
mod tests {
    use super::*;
    use RepairAction::{HardwareInspection, RebootSystem};
    use gpud_sdk::{Event, EventType};

    fn stored(name: &str, first: u64, last: u64) -> StoredEvent {
        StoredEvent {
            event: Event::new(first * 1000 + 7, name, EventType::Warning, ""),
            count: 1,
            last_time: last * 1000 + 9,
        }
    }

    fn reboots(times: &[u64]) -> Vec<Reboot> {
        times
            .iter()
            .map(|time| Reboot { time: time * 1000 })
            .collect()
    }

    #[test]
    fn one_kind() {
        let cases: &[(&[u64], &[u64], Option<RepairAction>)] = &[
            (&[], &[100], Some(RebootSystem)),
            (&[200], &[100], None),
            (&[200], &[200], Some(RebootSystem)),
            (&[200, 50], &[210], Some(RebootSystem)),
            (&[200, 50], &[220, 210], Some(HardwareInspection)),
            (&[200, 50], &[210, 40], Some(RebootSystem)),
            (&[200, 50], &[210, 210], Some(RebootSystem)),
            (&[200], &[220, 210], Some(RebootSystem)),
        ];
        for (boots, failures, expected) in cases {
            let events: Vec<_> = failures
                .iter()
                .map(|&at| stored("buffer_io_error", at, at))
                .collect();
            assert_eq!(
                evaluate(&events, &reboots(boots)).action,
                *expected,
                "{boots:?} {failures:?}"
            );
        }
    }

    #[test]
    fn a_failure_that_went_on_after_the_reboot_is_not_resolved() {
        let events = [stored("buffer_io_error", 100, 250)];
        assert_eq!(
            evaluate(&events, &reboots(&[200])).action,
            Some(RebootSystem)
        );
        assert_eq!(evaluate(&events, &reboots(&[251])).action, None);
    }

    #[test]
    fn kinds_are_combined() {
        let events = [
            stored("nvme_controller_timeout", 220, 220),
            stored("nvme_controller_timeout", 210, 210),
            stored("nvme_path_failure", 215, 215),
            stored("superblock_write_error", 100, 100),
            stored("something_else", 999, 999),
        ];
        let outcome = evaluate(&events, &reboots(&[200, 50]));
        assert_eq!(outcome.action, Some(HardwareInspection));
        assert_eq!(
            outcome.reasons,
            [
                "NVME controller I/O timeout detected, attempting reset",
                "NVMe device has no available path, I/O failing",
            ]
        );
        assert!(any(&events) && !any(&events[4..]));
        assert_eq!(evaluate(&events[4..], &[]), Outcome::default());
    }

    #[test]
    fn a_site_has_its_own_view() {
        let context = CheckContext {
            component: "disk".to_owned(),
            now: 300_000,
            trigger: gpud_sdk::Trigger::Scheduled,
            boot_id: "b".to_owned(),
            boot_time: 0,
            previous_check: None,
            extra: Vec::new(),
        };
        for (policy, left, reason) in [
            (
                r#"{"buffer_io_error":{"severity":"ignore"}}"#,
                None,
                Some("ok (site policy)"),
            ),
            (
                r#"{"buffer_io_error":{"severity":"critical","actions":["HARDWARE_INSPECTION"]}}"#,
                None,
                Some("broken (2 times) (site policy)"),
            ),
            (
                r#"{"buffer_io_error":{"threshold":3}}"#,
                None,
                Some("ok (site policy)"),
            ),
            (
                r#"{"raid_array_failure":{"severity":"ignore"}}"#,
                Some(RebootSystem),
                None,
            ),
        ] {
            let document = format!("{{\"policy\":{policy}}}");
            let policy = policy::alone(&document, &crate::patterns::CATALOG).unwrap();
            let mut event = stored("buffer_io_error", 200, 200);
            event.event.message = "broken".to_owned();
            event.count = 2;
            let mut log = Log {
                available: true,
                events: Ok(vec![event]),
                reboots: Ok(Vec::new()),
            };
            let ruled = by_policy(&policy, &mut log);
            assert_eq!(
                evaluate(log.events.as_ref().unwrap(), &[]).action,
                left,
                "{document}"
            );
            let mut state = HealthState::healthy(&context, "ok");
            if let Some(ruled) = &ruled {
                ruled.lay(&context, &policy, &mut state);
            }
            assert_eq!(ruled.map(|_| state.reason.as_str()), reason, "{document}");
        }
    }
}
