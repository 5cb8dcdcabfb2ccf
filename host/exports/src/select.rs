//! Which records an export wants.

use serde::Deserialize;

use crate::{Finding, Record, Severity};

/// Which records an export wants; all without any key.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Select {
    /// Changes of health, events, or both.
    pub records: Records,
    /// The least severity of events.
    pub min_severity: MinSeverity,
    /// Components: names, `prefix*`; `-name` leaves one out. Empty is all.
    pub components: Vec<String>,
}

/// Which kinds of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Records {
    /// Both.
    #[default]
    All,
    /// Changes of health.
    Health,
    /// Events.
    Events,
}

/// The least severity of events, as the file has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MinSeverity {
    /// All events.
    #[default]
    Unknown,
    /// For the record.
    Info,
    /// Worth a look.
    Warning,
    /// Harms work.
    Critical,
    /// The device or the machine cannot go on.
    Fatal,
}

impl From<MinSeverity> for Severity {
    fn from(least: MinSeverity) -> Self {
        match least {
            MinSeverity::Unknown => Self::Unknown,
            MinSeverity::Info => Self::Info,
            MinSeverity::Warning => Self::Warning,
            MinSeverity::Critical => Self::Critical,
            MinSeverity::Fatal => Self::Fatal,
        }
    }
}

impl Select {
    /// Returns true if the export wants the record.
    pub fn wants(&self, record: &Record) -> bool {
        let wanted = match &record.finding {
            Finding::Health(_) => self.records != Records::Events,
            Finding::Event(event) => {
                self.records != Records::Health && event.severity >= self.min_severity.into()
            }
        };
        wanted && self.wants_component(record.component())
    }

    /// Returns true if the export wants to hear of the component.
    pub fn wants_component(&self, component: &str) -> bool {
        lists(&self.components, component)
    }
}

/// Returns true if a list of components contains one: names, `prefix*`, and `-name` for one that it leaves out. A list
/// that names none contains all.
pub(crate) fn lists(patterns: &[String], component: &str) -> bool {
    let (mut is_named, mut names_any) = (false, false);
    for pattern in patterns {
        match pattern.strip_prefix('-') {
            Some(pattern) if matches(pattern, component) => return false,
            Some(_) => {}
            None => {
                names_any = true;
                is_named |= matches(pattern, component);
            }
        }
    }
    is_named || !names_any
}

fn matches(pattern: &str, component: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => component.starts_with(prefix),
        None => pattern == component,
    }
}

#[cfg(test)]
mod tests;
