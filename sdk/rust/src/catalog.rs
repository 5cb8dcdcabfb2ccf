//! Catalogues of kernel lines: the patterns that a checker requests from the host, and the events that its lines become.
//!
//! A checker has its catalogue as constants of these types, so that no instance parses anything. An author can write them by
//! hand ([`kernel_lines`](crate::kernel_lines) has an example). What a line's facts are is left to code.
//!
//! Each built-in checker has a data file, `catalog/patterns.json` in its folder, which is the only place where its patterns,
//! names of events, types, messages, actions and advice stand. `builtin-plugins/shared/patterns.py` makes the constants of it
//! (`src/patterns.rs` of the checker), and the module `testing`, which needs the feature of that name, holds the checker
//! against the file.
//!
//! # The file
//!
//! | key | meaning |
//! |---|---|
//! | `schema` | version of this format: 1 |
//! | `version` | version of the file; raise it with every change |
//! | `sources` | where its facts are from |
//! | `device` | the fact of an event that tells devices apart, for a site's policy; `device` where it is left out |
//! | `patterns` | in the order in which the host gets them: `id` (for entries), `pattern` (a regular expression, searched in a message's first line, no narrower than the parser; it begins with `^`, as the parser reads from the beginning) |
//! | `entries` | one per event |
//!
//! | key of an entry | meaning |
//! |---|---|
//! | `name` | of the event |
//! | `type` | `Info`, `Warning`, `Critical` or `Fatal` |
//! | `otherwise` | where type or message depends on the line: the other `type` or `message`, and `when` |
//! | `message` | of the event; `{‹key›}` is filled in from the line. A checker may add to it: the device, for example |
//! | `means` | for a person: what happened (`gpud explain`) |
//! | `actions` | words of the wire, most important first; what a state asks for, should the event make one |
//! | `advice` | the same in words; may be empty |
//! | `verdict` | what the state becomes, `null` for nothing: `health` (`Degraded`, `Unhealthy`), `at_least` events of a device within `window_seconds`, `reboot_clears`, `ended_by` (names of events of the same device). Where a key of the configuration has a number, its default stands here |
//! | `patterns` | ids of the patterns that deliver its lines |
//! | `source` | what writes the line: file and function of the kernel or driver, or the document that has it |
//! | `kernels` | `first` and `last` version that write it, where known |
//! | `examples` | lines that must become this event, each a text or a list of texts (a batch); `{"lines": […], "type": …}` where the type is the other one |
//! | `lookalikes` | lines that must not |

use crate::incidents::Rule;
use crate::{EventType, Health, RepairAction};

#[cfg(feature = "testing")]
pub mod forged;
mod terms;
#[cfg(feature = "testing")]
pub mod testing;

pub use terms::{Action, Severity, repair_action};

/// The catalogue of one checker.
#[derive(Debug, Clone, Copy)]
pub struct Catalog {
    /// Its version.
    pub version: u32,
    /// The fact of an event that tells devices apart.
    pub device: &'static str,
    /// The patterns of the lines that the host delivers.
    pub patterns: &'static [&'static str],
    /// One per event.
    pub entries: &'static [&'static Entry],
}

impl Catalog {
    /// Returns the entry of an event.
    pub fn entry(&self, name: &str) -> Option<&'static Entry> {
        self.entries
            .iter()
            .copied()
            .find(|entry| entry.name == name)
    }
}

/// The catalogue's entry for one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Name of the event.
    pub name: &'static str,
    /// How serious it is by itself.
    pub severity: Severity,
    /// How serious it is in the other case, if there is one.
    pub otherwise: Option<Severity>,
    /// For a person; see [`Entry::say`].
    pub message: &'static str,
    /// The message in the other case; empty where it is the same.
    pub other_message: &'static str,
    /// What to do, most important first.
    pub actions: &'static [Action],
    /// The same in words; may be empty.
    pub advice: &'static str,
    /// The state that its events cause.
    pub verdict: Option<EventVerdict>,
}

/// The state that events of one name cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventVerdict {
    /// [`Health::Unhealthy`], else [`Health::Degraded`].
    pub unhealthy: bool,
    /// How many of one device make it.
    pub at_least: u64,
    /// Within which time, seconds.
    pub window_seconds: u64,
    /// Whether a reboot ends it.
    pub reboot_clears: bool,
    /// Names of events of the same device that end it.
    pub ended_by: &'static [&'static str],
}

/// How long an event without a verdict counts, should a policy give it one: 14 days, as long as events are kept.
pub(crate) const WINDOW_SECONDS: u64 = 1_209_600;

impl Entry {
    /// Returns the type of its events.
    pub fn event_type(&self) -> EventType {
        self.severity.event_type()
    }

    /// Returns the type in the other case.
    pub fn other_type(&self) -> EventType {
        self.otherwise.unwrap_or(self.severity).event_type()
    }

    /// Returns the first action.
    pub fn action(&self) -> Option<RepairAction> {
        self.actions
            .first()
            .map(|action| repair_action(action.word()))
    }

    /// Returns the message, with values in the place of their keys. A key that has no value stays as it is.
    pub fn say(&self, values: &[(&str, &str)]) -> String {
        fill(self.message, values)
    }

    /// Returns the message of the other case.
    pub fn say_otherwise(&self, values: &[(&str, &str)]) -> String {
        fill(self.other_message, values)
    }

    /// Returns the rule of its verdict. Without a verdict, its events leave the state Healthy for as long as events are stored.
    pub fn rule(&self) -> Rule {
        let restart = [Action::Reboot, Action::CheckApp];
        let verdict = self.verdict.unwrap_or(EventVerdict {
            unhealthy: false,
            at_least: 1,
            window_seconds: WINDOW_SECONDS,
            reboot_clears: self.actions.iter().any(|action| restart.contains(action)),
            ended_by: &[],
        });
        Rule {
            event: self.name,
            at_least: verdict.at_least,
            remember_ms: verdict.window_seconds.saturating_mul(1000),
            reboot_clears: verdict.reboot_clears,
            ended_by: verdict.ended_by,
            health: match (self.verdict.is_some(), verdict.unhealthy) {
                (true, true) => Health::Unhealthy,
                (true, false) => Health::Degraded,
                (false, _) => Health::Healthy,
            },
            action: self.action(),
            advice: self.advice,
        }
    }
}

fn fill(message: &str, values: &[(&str, &str)]) -> String {
    let mut text = String::with_capacity(message.len() + 32);
    let mut rest = message;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let value = after.split_once('}').and_then(|(key, after)| {
            let (_, value) = values.iter().find(|(name, _)| *name == key)?;
            Some((value, after))
        });
        match value {
            Some((value, after)) => {
                text.push_str(value);
                rest = after;
            }
            None => {
                text.push('{');
                rest = after;
            }
        }
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
pub(crate) mod tests;
