//! One state from several troubles, for a checker that counts stored events and readings by its own rules.
//!
//! ```
//! use gpud_sdk::verdict::{Verdict, list};
//! use gpud_sdk::{Health, Recovery, RepairAction, testing};
//!
//! let mut verdict = Verdict::default();
//! verdict.add(
//!     Health::Unhealthy,
//!     format!("data was lost on {}", list(["dimm1", "dimm2", "dimm3"], 2)),
//!     RepairAction::RebootSystem,
//!     &[Recovery::Reboot, Recovery::SetHealthy],
//! );
//! let state = verdict.state(&testing::test_context("memory", 1_000), "ok");
//! assert_eq!(state.reason, "data was lost on dimm1, dimm2 and 1 more");
//! ```

use std::collections::BTreeMap;
use std::fmt::Display;

use crate::history::StoredEvent;
use crate::{CheckContext, Evidence, Health, HealthState, Recovery, RepairAction, Subject};

/// Most pieces of evidence that a state points to.
const MAX_EVIDENCE: usize = 8;

/// A state in the making. The worst trouble is added first.
#[derive(Debug, Default)]
pub struct Verdict {
    health: Option<Health>,
    reasons: Vec<String>,
    actions: Vec<RepairAction>,
    recovery: Vec<Recovery>,
    subjects: BTreeMap<String, Subject>,
    evidence: Vec<Evidence>,
}

impl Verdict {
    /// Adds a trouble: how healthy the component is with it, in words, what to do, and the ways in which it clears.
    ///
    /// The host clears a state by any way that it lists, so the state lists those that clear every trouble.
    pub fn add(
        &mut self,
        health: Health,
        reason: impl Into<String>,
        action: RepairAction,
        ways: &[Recovery],
    ) {
        if self.health.is_none() {
            self.recovery = ways.to_vec();
        } else {
            self.recovery.retain(|way| ways.contains(way));
        }
        if self.health.is_none() || health == Health::Unhealthy {
            self.health = Some(health);
        }
        self.reasons.push(reason.into());
        if !self.actions.contains(&action) {
            self.actions.push(action);
        }
    }

    /// Says what a trouble is about, by its unique id. The state has a subject if all troubles are about the same.
    pub fn about(&mut self, id: impl Into<String>, subject: Subject) {
        self.subjects.insert(id.into(), subject);
    }

    /// Points to the evidence of events; the first eight pieces of all calls count.
    pub fn point_to<'a>(&mut self, events: impl IntoIterator<Item = &'a StoredEvent>) {
        let room = MAX_EVIDENCE.saturating_sub(self.evidence.len());
        let evidence = events.into_iter().flat_map(|stored| &stored.event.evidence);
        self.evidence.extend(evidence.take(room).cloned());
    }

    /// Returns the state; without any trouble it is Healthy for this reason.
    pub fn state(mut self, context: &CheckContext, healthy: &str) -> HealthState {
        let Some(health) = self.health else {
            return HealthState::healthy(context, healthy);
        };
        let mut state = HealthState::new(context, health, self.reasons.join("; "));
        for action in self.actions {
            state = state.action(action, "");
        }
        state.recovery = self.recovery;
        state.evidence = self.evidence;
        if self.subjects.len() == 1 {
            state.subject = self.subjects.pop_first().map(|(_, subject)| subject);
        }
        state
    }
}

/// Returns the first items with commas between them, and how many more there are.
pub fn list<T: Display>(items: impl IntoIterator<Item = T>, most: usize) -> String {
    let mut items = items.into_iter();
    let named: Vec<String> = items
        .by_ref()
        .take(most)
        .map(|item| item.to_string())
        .collect();
    let mut text = named.join(", ");
    let more = items.count();
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::test_context;
    use crate::{Event, EventType};

    const REBOOT: [Recovery; 2] = [Recovery::Reboot, Recovery::SetHealthy];
    const READING: [Recovery; 2] = [Recovery::NextGoodReading, Recovery::SetHealthy];

    fn disk(name: &str) -> Subject {
        Subject::Other(("disk".to_owned(), name.to_owned()))
    }

    #[test]
    fn without_troubles_all_is_well() {
        let context = test_context("x", 1);
        let state = Verdict::default().state(&context, "ok");
        assert_eq!(state, HealthState::healthy(&context, "ok"));
    }

    #[test]
    fn a_way_of_recovery_clears_every_trouble() {
        let mut verdict = Verdict::default();
        let inspect = || RepairAction::HardwareInspection;
        verdict.add(Health::Unhealthy, "a", RepairAction::RebootSystem, &REBOOT);
        verdict.add(Health::Degraded, "b", inspect(), &READING);
        verdict.add(Health::Degraded, "c", inspect(), &READING);
        let state = verdict.state(&test_context("x", 1), "ok");
        assert_eq!(
            (state.health, state.reason.as_str()),
            (Health::Unhealthy, "a; b; c")
        );
        assert_eq!(state.recovery, [Recovery::SetHealthy]);
        let actions = state.suggested_actions.unwrap().repair_actions;
        assert_eq!(actions, [RepairAction::RebootSystem, inspect()]);
    }

    #[test]
    fn the_worst_health_counts() {
        let mut verdict = Verdict::default();
        for health in [Health::Degraded, Health::Unhealthy, Health::Degraded] {
            verdict.add(health, "a", RepairAction::RebootSystem, &REBOOT);
        }
        let state = verdict.state(&test_context("x", 1), "ok");
        assert_eq!(state.health, Health::Unhealthy);
    }

    #[test]
    fn a_subject_is_that_of_all_troubles() {
        for (ids, expected) in [
            (&[][..], None),
            (&["a"], Some(disk("a"))),
            (&["a", "a"], Some(disk("a"))),
            (&["a", "b"], None),
        ] {
            let mut verdict = Verdict::default();
            verdict.add(Health::Degraded, "x", RepairAction::RebootSystem, &REBOOT);
            for id in ids {
                verdict.about(*id, disk(id));
            }
            let state = verdict.state(&test_context("x", 1), "ok");
            assert_eq!(state.subject, expected, "{ids:?}");
        }
    }

    #[test]
    fn evidence_is_bounded() {
        let events: Vec<StoredEvent> = (0..6)
            .map(|number| {
                let mut event = Event::new(1, "x", EventType::Fatal, "x");
                event.evidence.push(Evidence::Kmsg(number));
                StoredEvent {
                    event,
                    count: 1,
                    last_time: 1,
                }
            })
            .collect();
        let mut verdict = Verdict::default();
        verdict.add(Health::Degraded, "x", RepairAction::RebootSystem, &REBOOT);
        verdict.point_to(&events);
        verdict.point_to(&events);
        let state = verdict.state(&test_context("x", 1), "ok");
        let numbers = [0, 1, 2, 3, 4, 5, 0, 1].map(Evidence::Kmsg);
        assert_eq!(state.evidence, numbers);
    }

    #[test]
    fn lists_say_how_many_they_leave_out() {
        assert_eq!(list(Vec::<String>::new(), 2), "");
        assert_eq!(list(["a", "b"], 2), "a, b");
        assert_eq!(list([1, 2, 3, 4], 2), "1, 2 and 2 more");
    }
}
