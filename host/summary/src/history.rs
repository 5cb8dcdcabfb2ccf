//! Events and changes of health together, as `/v1/history` serves them.

use serde::{Deserialize, Serialize};

use super::{Gpus, SubjectView, meaning};
use crate::{
    store::{Entry, EntryContent, Page},
    wire::MetaTime,
};

/// A part of the history.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct History {
    /// Newest first, by `last_time`.
    pub entries: Vec<HistoryEntry>,
    /// Where the next part begins: the parameter `before`. `null` at the end.
    pub next: Option<String>,
}

/// An event or a change of health.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HistoryEntry {
    /// Unique while it is stored: `e12` of an event, `c7` of a change.
    pub id: String,
    /// When it happened; of a repeated event, the first time.
    pub time: MetaTime,
    /// `event` or `health`.
    pub kind: String,
    /// Whose it is.
    pub component: String,
    /// Name of the event or state.
    pub name: String,
    /// Of an event: `Unknown`, `Info`, `Warning`, `Critical` or `Fatal`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<String>,
    /// Of a change: the health before; `null` where there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Option<String>>,
    /// Of a change: the health.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// What happened, as the component says it.
    pub message: String,
    /// The same in words for a person, where the component's are not.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub means: String,
    /// What it is about, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<SubjectView>,
    /// Whether `/v1/history/event` has more of it: a kernel line or facts.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub explained: bool,
    /// How often it was seen.
    pub count: u64,
    /// When it was last seen.
    pub last_time: MetaTime,
}

impl History {
    /// The wire form of a page. Subjects are named as the GPUs of the machine are.
    pub fn of(page: Page, gpus: &Gpus) -> Self {
        let next = page.next.map(|next| next.to_string());
        let entries = page.entries.into_iter();
        Self {
            entries: entries.map(|entry| HistoryEntry::of(entry, gpus)).collect(),
            next,
        }
    }
}

impl HistoryEntry {
    /// The wire form of an entry. Its subject is named as the GPUs of the machine are.
    pub fn of(entry: Entry, gpus: &Gpus) -> Self {
        let id = entry.id.to_string();
        let component = entry.component;
        let means = |message: &str| match gpus.shortened(&meaning(&component, message)) {
            means if means == message => String::new(),
            means => means,
        };
        match entry.content {
            EntryContent::Event(stored) => {
                let event = stored.event;
                let subject = gpus.subject_of(event.subject.as_ref(), &event.message);
                Self {
                    id,
                    time: MetaTime(Some(event.time)),
                    kind: "event".to_owned(),
                    severity: Some(event.event_type.as_str().to_owned()),
                    from: None,
                    to: None,
                    means: means(&event.message),
                    subject,
                    explained: event.kernel_line.is_some() || !event.extra_info.is_empty(),
                    message: event.message,
                    name: event.name,
                    count: stored.count,
                    last_time: MetaTime(Some(stored.last_time)),
                    component,
                }
            }
            EntryContent::Change {
                time,
                name,
                from,
                to,
                reason,
                subject,
            } => Self {
                id,
                time: MetaTime(Some(time)),
                kind: "health".to_owned(),
                severity: None,
                from: Some(from.map(|from| from.as_str().to_owned())),
                to: Some(to.as_str().to_owned()),
                means: means(&reason),
                subject: gpus.subject_of(subject.as_ref(), &reason),
                explained: false,
                message: reason,
                name,
                count: 1,
                last_time: MetaTime(Some(time)),
                component,
            },
        }
    }
}
