//! Changes as the stream sends them, each encoded once for all readers.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use bytes::Bytes;
use serde::Serialize;

use gpud_summary::{Gpus, SubjectView};

use crate::{
    component::feed::{Change, ChangeId, ChangeKind},
    model::{Event, HealthState},
    wire::{MetaTime, to_json},
};

/// Most encoded changes that are held; a reader that is further behind has its own made.
const HELD: usize = 1024;

/// Encodes changes and holds the newest.
#[derive(Debug, Default)]
pub(super) struct Encoder {
    held: Mutex<VecDeque<(ChangeId, Bytes)>>,
    /// The machine's GPUs, after which subjects are named.
    gpus: Mutex<Gpus>,
}

impl Encoder {
    /// Takes the GPUs of a new inventory.
    pub(super) fn learn(&self, gpus: &Gpus) {
        let mut known = self.gpus.lock().unwrap_or_else(PoisonError::into_inner);
        if *known != *gpus {
            known.clone_from(gpus);
        }
    }

    /// Whether an inventory with GPUs was taken.
    pub(super) fn knows_gpus(&self) -> bool {
        let known = self.gpus.lock().unwrap_or_else(PoisonError::into_inner);
        known.count() > 0
    }

    /// Returns a change as a server-sent event. The first reader that needs it does the work; others share the bytes.
    pub(super) fn encode(&self, change: &Change) -> Bytes {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(at) = held.binary_search_by_key(&change.id, |(id, _)| *id)
            && let Some((_, bytes)) = held.get(at)
        {
            return bytes.clone();
        }
        let gpus = self.gpus.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = to_event(change, &gpus);
        drop(gpus);
        if held.back().is_none_or(|(newest, _)| *newest < change.id) {
            if held.len() == HELD {
                held.pop_front();
            }
            held.push_back((change.id, bytes.clone()));
        }
        bytes
    }
}

/// A change of a verdict, or an event; the fields are those of `/v1/history`.
#[derive(Serialize)]
struct Line<'a> {
    id: String,
    time: MetaTime,
    kind: &'static str,
    component: &'a str,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    severity: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'a str>,
    /// Null for a verdict that is no longer given.
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<Option<&'a str>>,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<SubjectView>,
}

impl<'a> Line<'a> {
    fn of(change: &'a Change, gpus: &Gpus) -> Self {
        match &change.kind {
            ChangeKind::Health { was, state } => {
                let to = Some(state.health.as_str());
                Self::verdict(change, was.as_str(), to, state, gpus)
            }
            ChangeKind::Withdrawn { state } => {
                Self::verdict(change, state.health.as_str(), None, state, gpus)
            }
            ChangeKind::Event(event) => Self::event(change, event, gpus),
        }
    }

    fn verdict(
        change: &'a Change,
        from: &'a str,
        to: Option<&'a str>,
        state: &'a HealthState,
        gpus: &Gpus,
    ) -> Self {
        Self {
            id: change.id.to_string(),
            time: MetaTime(Some(change.time)),
            kind: "health",
            component: &change.component,
            name: state.name.as_deref().unwrap_or(&change.component),
            severity: None,
            from: Some(from),
            to: Some(to),
            message: &state.reason,
            subject: gpus.subject_of(state.subject.as_ref(), &state.reason),
        }
    }

    fn event(change: &'a Change, event: &'a Event, gpus: &Gpus) -> Self {
        Self {
            id: change.id.to_string(),
            time: MetaTime(Some(event.time)),
            kind: "event",
            component: &change.component,
            name: &event.name,
            severity: Some(event.event_type.as_str()),
            from: None,
            to: None,
            message: &event.message,
            subject: gpus.subject_of(event.subject.as_ref(), &event.message),
        }
    }
}

/// JSON has no line ends of its own, so that one `data` line holds it.
fn to_event(change: &Change, gpus: &Gpus) -> Bytes {
    let line = Line::of(change, gpus);
    let json = to_json(&line).unwrap_or_default();
    let mut text = format!("id: {}\nevent: {}\ndata: ", change.id, line.kind).into_bytes();
    text.extend_from_slice(&json);
    text.extend_from_slice(b"\n\n");
    text.into()
}

#[cfg(test)]
mod tests;
