//! Something that happened at a time.

use super::{Evidence, Pairs, Subject, UnixMillis};

/// How serious an event is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum EventType {
    /// Not classified.
    #[default]
    Unknown,
    /// Information.
    Info,
    /// Worth a look.
    Warning,
    /// Workloads are affected.
    Critical,
    /// The device or the machine can no longer be used.
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
    /// The key by which two events count as the same, for example the raw kernel text.
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
    /// A text for people; may be empty.
    pub message: String,
    /// The subject of the event.
    pub subject: Option<Subject>,
    /// The evidence for the event.
    pub evidence: Vec<Evidence>,
    /// Facts that are stored with it, and that the HTTP API does not show.
    pub extra_info: Pairs,
    /// The kernel line that it was drawn from, of repeats the first. The host adds it; it does not make events different.
    pub kernel_line: Option<String>,
    /// How repeats are counted; without it, equal events of one second are one.
    pub merge: Option<Merge>,
}

/// Facts that one line of several has: a repeat adds its own to those of the first event, with commas.
const FACTS_OF_LINES: [&str; 9] = [
    "pid",
    "process",
    "channel",
    "link",
    "row",
    "address",
    "partition",
    "subpartition",
    "severity",
];
/// Longest list of values of one fact, bytes.
const MAX_LIST: usize = 256;

impl Event {
    /// Whether repeats of it have facts to add.
    pub fn adds_facts(&self) -> bool {
        let mut keys = self.extra_info.iter().map(|(key, _)| key.as_str());
        self.merge.is_some() && keys.any(|key| FACTS_OF_LINES.contains(&key))
    }

    /// Adds facts of a repeat that is counted with this event; true if there was any that is new. Without a merge key,
    /// repeats are equal anyway.
    pub fn add_repeat(&mut self, repeat: &Self) -> bool {
        let mut changed = false;
        if !repeat.adds_facts() {
            return changed;
        }
        let of_lines = |key: &str| FACTS_OF_LINES.contains(&key);
        for (key, value) in repeat.extra_info.iter().filter(|(key, _)| of_lines(key)) {
            let known = self.extra_info.iter_mut().find(|(known, _)| known == key);
            let Some((_, list)) = known else {
                self.extra_info.push((key.clone(), value.clone()));
                changed = true;
                continue;
            };
            for value in value.split(", ") {
                let is_there = list.split(", ").any(|known| known == value);
                if !is_there && list.len() + value.len() < MAX_LIST {
                    list.push_str(", ");
                    list.push_str(value);
                    changed = true;
                }
            }
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(facts: &[(&str, &str)]) -> Event {
        let pair = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        Event {
            extra_info: facts.iter().map(pair).collect(),
            merge: Some(Merge {
                key: "k".to_owned(),
                window_seconds: 60,
            }),
            ..Event::default()
        }
    }

    #[test]
    fn a_repeat_adds_what_is_new_of_its_line() {
        let mut first = event(&[("pid", "1, 2"), ("data", "a")]);
        assert!(!first.add_repeat(&event(&[("pid", "2"), ("data", "b"), ("other", "c")])));
        assert!(first.add_repeat(&event(&[("pid", "2, 3"), ("link", "9")])));
        assert_eq!(
            first.extra_info,
            event(&[("pid", "1, 2, 3"), ("data", "a"), ("link", "9")]).extra_info
        );
        for pid in 0..1000 {
            first.add_repeat(&event(&[("pid", &pid.to_string())]));
        }
        assert!(first.extra_info[0].1.len() <= MAX_LIST + 2);
        let mut unmerged = event(&[("pid", "4")]);
        unmerged.merge = None;
        assert!(!first.add_repeat(&unmerged));
    }
}
