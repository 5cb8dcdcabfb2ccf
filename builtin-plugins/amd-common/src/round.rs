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
mod tests;
