//! The verdict that follows from a history of errors and reboots, by the rules of the Xids.
//!
//! Walked from the oldest to the newest: an error at least as serious as the verdict so far becomes the verdict; a
//! reboot clears a verdict that asks for one, and is counted for every code seen so far; a code that comes back after
//! enough reboots asks for an inspection instead of another reboot.

use std::borrow::Cow;
use std::collections::BTreeMap;

use gpud_sdk::{EventType, Health};

use crate::catalog::Action;
use crate::config::Config;
use crate::row::Row;

/// Clears with a reboot as well; in the catalogue of Xids only, but an event of another version may say it.
const CHECK_APP: &str = "CHECK_USER_APP_AND_GPU";

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
        clears_by_reboot(self.action.as_deref())
    }
}

fn clears_by_reboot(action: Option<&str>) -> bool {
    action.is_some_and(|action| action == Action::Reboot.word() || action == CHECK_APP)
}

/// How much an error's severity weighs.
fn level(severity: &EventType) -> u8 {
    match severity {
        EventType::Fatal => 2,
        EventType::Critical => 1,
        _ => 0,
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
        let level = level(&row.event_type);
        if level < self.level {
            return;
        }
        self.level = level;
        if let Some(first) = &row.action {
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
        if clears_by_reboot(self.action.as_deref()) {
            (self.level, self.current, self.action) = (0, None, None);
        }
        for count in self.reboots.values_mut() {
            *count = count.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests;
