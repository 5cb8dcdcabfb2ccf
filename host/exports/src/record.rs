//! Records, which exports deliver one by one: changes of health and events.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{Subject, UnixMillis};

/// How healthy something is, in the words of gpud's API.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Health {
    /// Working as it should.
    Healthy,
    /// Working, but something needs attention.
    Degraded,
    /// Not working, or not to be trusted with work.
    Unhealthy,
    /// Not judged yet.
    #[default]
    Initializing,
    /// A word that this version does not know; treated as not healthy.
    Other(String),
}

impl Health {
    /// Returns the word of the API.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Healthy => "Healthy",
            Self::Degraded => "Degraded",
            Self::Unhealthy => "Unhealthy",
            Self::Initializing => "Initializing",
            Self::Other(word) => word,
        }
    }

    /// Returns how bad it is: healthy 0, initializing 1, degraded 2, anything else 3.
    pub fn rank(&self) -> u8 {
        match self {
            Self::Healthy => 0,
            Self::Initializing => 1,
            Self::Degraded => 2,
            Self::Unhealthy | Self::Other(_) => 3,
        }
    }

    /// Returns true if something is known to be wrong.
    pub fn is_bad(&self) -> bool {
        self.rank() >= Self::Degraded.rank()
    }
}

impl From<&str> for Health {
    fn from(word: &str) -> Self {
        match word {
            "Healthy" => Self::Healthy,
            "Degraded" => Self::Degraded,
            "Unhealthy" => Self::Unhealthy,
            "Initializing" => Self::Initializing,
            other => Self::Other(other.to_owned()),
        }
    }
}

/// How serious an event is, ascending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Severity {
    /// Not classified.
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

impl Severity {
    /// Returns the word of the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "Unknown",
            Self::Info => "Info",
            Self::Warning => "Warning",
            Self::Critical => "Critical",
            Self::Fatal => "Fatal",
        }
    }
}

impl From<&str> for Severity {
    fn from(word: &str) -> Self {
        match word {
            "Info" => Self::Info,
            "Warning" => Self::Warning,
            "Critical" => Self::Critical,
            "Fatal" => Self::Fatal,
            _ => Self::Unknown,
        }
    }
}

/// Which machine a record is from.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NodeIdentity {
    /// Host name.
    pub hostname: String,
    /// Machine id of the operating system; empty if unknown.
    pub machine_id: String,
}

/// One thing to deliver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Unique, and ascending with time (UUID version 7). A record that is delivered twice has the same id both times.
    pub id: Uuid,
    /// When it happened.
    #[serde(with = "rfc3339")]
    pub time: UnixMillis,
    /// Where it happened.
    pub node: NodeIdentity,
    /// True for a sample that an operator sent to try an export.
    #[serde(default, skip_serializing_if = "is_false")]
    pub sample: bool,
    /// The part of the node that it is about, when not the whole component.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Subject>,
    /// The finding.
    #[serde(flatten)]
    pub finding: Finding,
}

/// The finding of a record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// A component's health is another one than before.
    Health(HealthChange),
    /// Something happened.
    Event(NodeEvent),
}

/// A change of health.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HealthChange {
    /// The component that judges.
    pub component: String,
    /// The name of its state.
    pub name: String,
    /// The health before.
    #[serde(with = "health_word")]
    pub from: Health,
    /// The health now.
    #[serde(with = "health_word")]
    pub to: Health,
    /// One line for a person.
    pub reason: String,
    /// Suggested actions in the API's words, such as `REBOOT_SYSTEM`, most important first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suggested_actions: Vec<String>,
}

/// An event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeEvent {
    /// The component that reports it.
    pub component: String,
    /// For example `error_xid`.
    pub name: String,
    /// How serious it is.
    #[serde(with = "severity_word")]
    pub severity: Severity,
    /// For a person; may be empty.
    pub message: String,
    /// Further facts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extra_info: BTreeMap<String, String>,
}

impl Record {
    /// Makes a record with a new id.
    pub fn new(time: UnixMillis, node: NodeIdentity, finding: Finding) -> Self {
        Self {
            id: new_id(time),
            time,
            node,
            sample: false,
            subject: None,
            finding,
        }
    }

    /// Makes the sample that `gpud exports test` sends.
    pub fn sample(time: UnixMillis, node: NodeIdentity) -> Self {
        let event = NodeEvent {
            component: "gpud-exports-test".to_owned(),
            name: "sample".to_owned(),
            severity: Severity::Info,
            message: "a sample that was sent to try this export; nothing is wrong".to_owned(),
            extra_info: BTreeMap::new(),
        };
        Self {
            sample: true,
            subject: Some(Subject::Node),
            ..Self::new(time, node, Finding::Event(event))
        }
    }

    /// Returns the component that it is from.
    pub fn component(&self) -> &str {
        match &self.finding {
            Finding::Health(change) => &change.component,
            Finding::Event(event) => &event.component,
        }
    }

    /// Returns the time as RFC 3339 in UTC.
    pub fn time_text(&self) -> String {
        rfc3339::text(self.time)
    }
}

/// Makes an id that sorts by time.
pub(crate) fn new_id(time: UnixMillis) -> Uuid {
    let nanos = u32::try_from(time % 1000).unwrap_or(0) * 1_000_000;
    Uuid::new_v7(uuid::Timestamp::from_unix(
        uuid::NoContext,
        time / 1000,
        nanos,
    ))
}
fn is_false(value: &bool) -> bool {
    !value
}

/// Times as text in files and on the wire.
pub(crate) mod rfc3339 {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    use crate::UnixMillis;

    /// Returns the text, with milliseconds. A time that no calendar has becomes the last one it has.
    pub fn text(time: UnixMillis) -> String {
        let millis = i64::try_from(time).unwrap_or(i64::MAX);
        let time = jiff::Timestamp::from_millisecond(millis).unwrap_or(jiff::Timestamp::MAX);
        format!("{time:.3}")
    }

    pub fn serialize<S: Serializer>(time: &UnixMillis, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&text(*time))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<UnixMillis, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(from)?;
        let time: jiff::Timestamp = text.parse().map_err(D::Error::custom)?;
        Ok(u64::try_from(time.as_millisecond()).unwrap_or(0))
    }
}

/// Healths as the API's words.
pub(crate) mod health_word {
    use serde::{Deserialize as _, Deserializer, Serializer};

    use super::Health;

    pub fn serialize<S: Serializer>(health: &Health, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(health.as_str())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Health, D::Error> {
        Ok(Health::from(String::deserialize(from)?.as_str()))
    }
}

/// Severities as the API's words.
mod severity_word {
    use serde::{Deserialize as _, Deserializer, Serializer};

    use super::Severity;
    pub fn serialize<S: Serializer>(word: &Severity, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(word.as_str())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Severity, D::Error> {
        Ok(Severity::from(String::deserialize(from)?.as_str()))
    }
}

#[cfg(test)]
mod tests;
