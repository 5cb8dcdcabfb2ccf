//! One look at all GPUs: findings, some of which count only when several checks in a row made them.

use gpud_sdk::findings::{self, Finding};
use gpud_sdk::{AccessError, CheckContext, Report};

use crate::card::Card;
use crate::retained_state::{RetainedState, Streaks};

/// Event of a GPU whose files cannot be read.
pub const UNREADABLE: &str = "amd_gpu_unreadable";
/// Consecutive checks after which this is reported: a GPU that is being reset refuses all questions for a moment.
pub const UNREADABLE_CHECKS: u32 = 2;

/// A check under way.
#[derive(Debug)]
pub struct Round<'a> {
    before: &'a RetainedState,
    streaks: Streaks,
    findings: Vec<Finding>,
}

impl<'a> Round<'a> {
    /// Begins with what no checker passes over in silence: GPUs that do not answer.
    pub fn begin(cards: &[Card], before: &'a RetainedState) -> Self {
        let mut round = Self {
            before,
            streaks: Streaks::default(),
            findings: Vec::new(),
        };
        for card in cards {
            if let Some((name, error)) = card.unreadable() {
                round.add_after(UNREADABLE_CHECKS, unreadable(card, name, error));
            }
        }
        round
    }

    /// A finding that counts at once.
    pub fn add(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    /// A finding that counts when as many checks in a row made it, this one included.
    pub fn add_after(&mut self, checks: u32, finding: Finding) {
        let streak = self.before.streaks.of(&finding.key).saturating_add(1);
        // More than this is never asked for, and a number that stands still need not be written again.
        self.streaks
            .0
            .insert(finding.key.clone(), streak.min(checks));
        if streak >= checks {
            self.findings.push(finding);
        }
    }

    /// A finding that could be judged neither way this time: what was known of it stays as it was.
    pub fn keep(&mut self, checks: u32, finding: Finding) {
        let streak = self.before.streaks.of(&finding.key);
        if streak == 0 {
            return;
        }
        self.streaks.0.insert(finding.key.clone(), streak);
        if streak >= checks {
            self.findings.push(finding);
        }
    }

    /// The report, and what to keep. `healthy` is the reason when nothing is wrong.
    pub fn end(self, context: &CheckContext, healthy: &str) -> (Report, RetainedState) {
        let (report, open) = findings::judge(context, healthy, &self.findings, &self.before.open);
        let past = RetainedState {
            open,
            streaks: self.streaks,
        };
        (report, past)
    }
}

fn unreadable(card: &Card, name: &str, error: &AccessError) -> Finding {
    let key = format!("{} unreadable", card.id);
    let text = format!("GPU {} cannot be read: {}", card.label(), error.text());
    let finding = match error {
        AccessError::TimedOut(_) | AccessError::SourceLost(_) | AccessError::NeedsReset(_) => {
            Finding::unhealthy(key, UNREADABLE, text)
        }
        _ => Finding::degraded(key, UNREADABLE, text),
    };
    finding.subject(card.subject()).from_file(card.path(name))
}

#[cfg(test)]
mod tests {
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
}
