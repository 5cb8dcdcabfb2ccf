//! Something that happened at a time.

use super::{Evidence, Pairs, Subject, UnixMillis};

/// How serious an event is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum EventType {
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
    /// A word of a later contract version.
    Other(String),
}

impl EventType {
    /// The wire's word; an unknown word is served as `Unknown`.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Unknown | Self::Other(_) => "Unknown",
            Self::Info => "Info",
            Self::Warning => "Warning",
            Self::Critical => "Critical",
            Self::Fatal => "Fatal",
        }
    }
}

impl From<&str> for EventType {
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

/// Counts repeats instead of storing them.
///
/// Events of one component with the same name and key whose times fall into the same window (aligned to the epoch:
/// `time / window`) are one row with a count and a last time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merge {
    /// What makes two events the same, for example the raw kernel text.
    pub key: String,
    /// Window length in seconds, at least 1.
    pub window_seconds: u32,
}

/// One event.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Event {
    /// When it happened (kernel time for kernel messages).
    pub time: UnixMillis,
    /// For example `error_xid`, `OOM`.
    pub name: String,
    /// Severity.
    pub event_type: EventType,
    /// For a person; may be empty.
    pub message: String,
    /// What it is about.
    pub subject: Option<Subject>,
    /// What it was drawn from.
    pub evidence: Vec<Evidence>,
    /// Facts kept with it, not shown by the HTTP API.
    pub extra_info: Pairs,
    /// How repeats are counted; without it, equal events of one second are one.
    pub merge: Option<Merge>,
}
