//! Events as clients read them.

use serde::Serialize;

use super::{GoTime, MetaTime, is_zero};
use crate::model;

/// The events of one component in the window that was asked for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComponentEvents {
    /// The component's name.
    pub component: String,
    /// The window's start, as asked for; events are later than it.
    #[serde(rename = "startTime")]
    pub start_time: GoTime,
    /// The window's end, as asked for; echoed only.
    #[serde(rename = "endTime")]
    pub end_time: GoTime,
    /// Newest first; `null` when there are none.
    pub events: Option<Vec<Event>>,
}

/// One event. It does not name its component: the list around it does.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Event {
    /// When it happened.
    pub time: MetaTime,
    /// For example `error_xid`.
    #[serde(skip_serializing_if = "is_zero")]
    pub name: String,
    /// `Unknown`, `Info`, `Warning`, `Critical` or `Fatal`.
    #[serde(rename = "type", skip_serializing_if = "is_zero")]
    pub event_type: String,
    /// For a person.
    #[serde(skip_serializing_if = "is_zero")]
    pub message: String,
}

impl From<model::Event> for Event {
    fn from(event: model::Event) -> Self {
        Self {
            time: MetaTime(Some(event.time)),
            name: event.name,
            event_type: event.event_type.as_str().to_owned(),
            message: event.message,
        }
    }
}
