//! The verdict that follows from a history of errors and reboots.
//!
//! Walked from the oldest to the newest: an error at least as serious as the verdict so far becomes the verdict; a
//! reboot clears a verdict that asks for one, and is counted for every code seen so far; a code that comes back after
//! enough reboots asks for an inspection instead of another reboot.

use std::borrow::Cow;
use std::collections::BTreeMap;

use gpud_sdk::Health;

use crate::catalog::{Action, Severity};
use crate::config::Config;
use crate::row::Row;

/// What the history comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict<'a> {
    /// How healthy.
    pub health: Health,
    /// The error that made it so, if any. A healthy verdict has one, too, after errors that harm nothing.
    pub current: Option<Row<'a>>,
    /// The action to take, as the wire's word.
    pub action: Option<Cow<'a, str>>,
}

impl Verdict<'_> {
    /// True when a reboot would clear it.
    pub fn clears_by_reboot(&self) -> bool {
        [Action::Reboot, Action::CheckApp]
            .iter()
            .any(|action| self.action.as_deref() == Some(action.word()))
    }
}

/// How much an error's severity weighs.
fn level(severity: Severity) -> u8 {
    match severity {
        Severity::Fatal => 2,
        Severity::Critical => 1,
        Severity::Unknown | Severity::Info | Severity::Warning => 0,
    }
}

/// Judges. `errors` and `reboots` (unix seconds) are oldest first; within one second errors come before the reboot.
pub fn judge<'a>(
    errors: impl IntoIterator<Item = Row<'a>>,
    reboots: impl IntoIterator<Item = u64>,
    config: &Config,
) -> Verdict<'a> {
    let mut state = State::default();
    let mut reboots = reboots.into_iter().peekable();
    for row in errors {
        while reboots.next_if(|reboot| *reboot < row.second).is_some() {
            state.reboot();
        }
        state.error(row, config);
    }
    for _ in reboots {
        state.reboot();
    }
    let health = match state.level {
        0 => Health::Healthy,
        1 => Health::Degraded,
        _ => Health::Unhealthy,
    };
    Verdict {
        health,
        current: state.current,
        action: state.action,
    }
}

#[derive(Default)]
struct State<'a> {
    level: u8,
    current: Option<Row<'a>>,
    action: Option<Cow<'a, str>>,
    /// Reboots since a code that asks for one was first seen.
    reboots: BTreeMap<u32, u32>,
}

impl<'a> State<'a> {
    fn error(&mut self, row: Row<'a>, config: &Config) {
        let level = level(row.severity);
        if level < self.level {
            return;
        }
        self.level = level;
        if let Some(first) = row.actions.first() {
            let mut action = first.clone();
            if first == Action::Reboot.word() {
                let reboots = *self.reboots.entry(row.code).or_insert(0);
                // Thresholds are at least 1, so a code seen for the first time never gets here.
                if reboots >= config.threshold(row.code) {
                    action = Action::Inspect.word().into();
                }
            }
            self.action = Some(action);
        }
        self.current = Some(row);
    }

    fn reboot(&mut self) {
        let cleared = [Action::Reboot, Action::CheckApp];
        if cleared
            .iter()
            .any(|action| self.action.as_deref() == Some(action.word()))
        {
            (self.level, self.current, self.action) = (0, None, None);
        }
        for count in self.reboots.values_mut() {
            *count = count.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests;
