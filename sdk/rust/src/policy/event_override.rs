//! A site's settings for one event.

use serde_json::Value;

use super::words::{Weight, bare, read_actions, read_weight, shown};
use crate::Health;
use crate::catalog::{Action, Severity, WINDOW_SECONDS, repair_action};
use crate::incidents::Rule;

/// Keys of an entry.
const SEVERITY: &str = "severity";
const ACTIONS: &str = "actions";
const THRESHOLD: &str = "threshold";
const WINDOW: &str = "window_seconds";
const KEYS: [&str; 4] = [SEVERITY, ACTIONS, THRESHOLD, WINDOW];

/// A site's settings for one event. The catalogue applies where a setting is missing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct EventOverride {
    pub(super) weight: Option<Weight>,
    actions: Option<Vec<Action>>,
    pub(super) threshold: Option<u64>,
    window_seconds: Option<u64>,
}

impl EventOverride {
    /// Reads an entry. `None` where there are mistakes, which are noted.
    pub(super) fn read(place: &str, value: &Value, mistakes: &mut Vec<String>) -> Option<Self> {
        let before = mistakes.len();
        let allowed = KEYS.join(", ");
        let Some(fields) = value.as_object() else {
            mistakes.push(format!("{place} is no object; allowed in it: {allowed}"));
            return None;
        };
        let mut said = Self::default();
        for (field, value) in fields {
            let read = match field.as_str() {
                SEVERITY => read_weight(value).map(|weight| said.weight = Some(weight)),
                ACTIONS => read_actions(value).map(|actions| said.actions = Some(actions)),
                THRESHOLD => read_number(value, u64::MAX).map(|least| said.threshold = Some(least)),
                WINDOW => read_number(value, WINDOW_SECONDS)
                    .map(|seconds| said.window_seconds = Some(seconds)),
                _ => Err(format!("is not known; allowed: {allowed}")),
            };
            if let Err(why) = read {
                mistakes.push(format!("{place}.{} {why}", bare(field)));
            }
        }
        if fields.is_empty() {
            mistakes.push(format!("{place} says nothing; allowed in it: {allowed}"));
        }
        (mistakes.len() == before).then_some(said)
    }

    /// Returns a rule with what is said of its event.
    pub(super) fn over(&self, mut rule: Rule) -> Rule {
        match self.weight {
            None | Some(Weight::Ignored) => {}
            Some(Weight::Is(Severity::Fatal)) => rule.health = Health::Unhealthy,
            Some(Weight::Is(Severity::Critical)) => rule.health = Health::Degraded,
            Some(Weight::Is(Severity::Unknown | Severity::Info | Severity::Warning)) => {
                rule.health = Health::Healthy;
            }
        }
        if let Some(actions) = &self.actions {
            rule.action = actions.first().map(|action| repair_action(action.word()));
            // What the catalogue advises may be another thing.
            rule.advice = "";
        }
        rule.at_least = self.threshold.unwrap_or(rule.at_least);
        if let Some(seconds) = self.window_seconds {
            rule.remember_ms = seconds.saturating_mul(1000);
        }
        rule
    }
}

fn read_number(value: &Value, most: u64) -> Result<u64, String> {
    let number = value.as_u64().filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| {
        let most = if most == u64::MAX {
            String::new()
        } else {
            format!(" to {most}")
        };
        format!("is {}, not a number from 1{most}", shown(value))
    })
}
