//! Changes as the stream sends them, each encoded once for all readers.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use bytes::Bytes;
use serde::Serialize;

use gpud_summary::SubjectView;

use crate::{
    component::feed::{Change, ChangeId, ChangeKind},
    model::{Event, HealthState, Subject},
    wire::{MetaTime, to_json},
};

/// Most encoded changes that are held; a reader that is further behind has its own made.
const HELD: usize = 1024;

/// Encodes changes and holds the newest.
#[derive(Debug, Default)]
pub(super) struct Encoder(Mutex<VecDeque<(ChangeId, Bytes)>>);

impl Encoder {
    /// Returns a change as a server-sent event. The first reader that needs it does the work; others share the bytes.
    pub(super) fn encode(&self, change: &Change) -> Bytes {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(at) = held.binary_search_by_key(&change.id, |(id, _)| *id)
            && let Some((_, bytes)) = held.get(at)
        {
            return bytes.clone();
        }
        let bytes = to_event(change);
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
    fn of(change: &'a Change) -> Self {
        match &change.kind {
            ChangeKind::Health { was, state } => {
                Self::verdict(change, was.as_str(), Some(state.health.as_str()), state)
            }
            ChangeKind::Withdrawn { state } => {
                Self::verdict(change, state.health.as_str(), None, state)
            }
            ChangeKind::Event(event) => Self::event(change, event),
        }
    }

    fn verdict(
        change: &'a Change,
        from: &'a str,
        to: Option<&'a str>,
        state: &'a HealthState,
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
            subject: state.subject.as_ref().map(named),
        }
    }

    fn event(change: &'a Change, event: &'a Event) -> Self {
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
            subject: event.subject.as_ref().map(named),
        }
    }
}

/// A subject with a name for people. The number of a GPU is not known here: asking for it takes an inventory.
fn named(subject: &Subject) -> SubjectView {
    match subject {
        Subject::Gpu {
            uuid,
            serial,
            pci_id,
        } => {
            let known = pci_id.as_ref().or(uuid.as_ref()).or(serial.as_ref());
            SubjectView {
                kind: "gpu".to_owned(),
                label: known.map_or_else(|| "a GPU".to_owned(), |id| format!("GPU {id}")),
                uuid: uuid.clone(),
                serial: serial.clone(),
                pci: pci_id.clone(),
                ..SubjectView::default()
            }
        }
        other => SubjectView::of(other),
    }
}

/// JSON has no line ends of its own, so that one `data` line holds it.
fn to_event(change: &Change) -> Bytes {
    let line = Line::of(change);
    let json = to_json(&line).unwrap_or_default();
    let mut text = format!("id: {}\nevent: {}\ndata: ", change.id, line.kind).into_bytes();
    text.extend_from_slice(&json);
    text.extend_from_slice(b"\n\n");
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{EventType, Health, Subject};

    fn change(number: u64, kind: ChangeKind) -> Change {
        Change {
            id: ChangeId { started: 7, number },
            time: 1_741_064_767_000,
            component: "disk".to_owned(),
            kind,
        }
    }

    fn event(message: &str) -> ChangeKind {
        ChangeKind::Event(Event {
            time: 1_741_064_767_999,
            name: "read_only".to_owned(),
            event_type: EventType::Warning,
            message: message.to_owned(),
            ..Event::default()
        })
    }

    fn text(number: u64, kind: ChangeKind) -> String {
        String::from_utf8(to_event(&change(number, kind)).to_vec()).unwrap()
    }

    #[test]
    fn every_kind_of_change() {
        let state = HealthState {
            name: Some("disk".to_owned()),
            health: Health::Unhealthy,
            reason: "it does not answer".to_owned(),
            subject: Some(Subject::Mount("/scratch".to_owned())),
            ..HealthState::default()
        };
        let was = Health::Healthy;
        let shown = [
            text(1, event("Remounting filesystem read-only")),
            text(
                2,
                ChangeKind::Health {
                    was,
                    state: state.clone(),
                },
            ),
            text(3, ChangeKind::Withdrawn { state }),
        ];
        let time = "\"time\":\"2025-03-04T05:06:07Z\"";
        let expected = [
            format!(
                "id: 7-1\nevent: event\ndata: {{\"id\":\"7-1\",{time},\"kind\":\"event\",\"component\":\"disk\",\"name\":\"read_only\",\"severity\":\"Warning\",\"message\":\"Remounting filesystem read-only\"}}\n\n"
            ),
            format!(
                "id: 7-2\nevent: health\ndata: {{\"id\":\"7-2\",{time},\"kind\":\"health\",\"component\":\"disk\",\"name\":\"disk\",\"from\":\"Healthy\",\"to\":\"Unhealthy\",\"message\":\"it does not answer\",\"subject\":{{\"kind\":\"mount\",\"label\":\"/scratch\"}}}}\n\n"
            ),
            format!(
                "id: 7-3\nevent: health\ndata: {{\"id\":\"7-3\",{time},\"kind\":\"health\",\"component\":\"disk\",\"name\":\"disk\",\"from\":\"Unhealthy\",\"to\":null,\"message\":\"it does not answer\",\"subject\":{{\"kind\":\"mount\",\"label\":\"/scratch\"}}}}\n\n"
            ),
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn text_of_the_machine_begins_no_line_of_its_own() {
        let shown = text(4, event("a\n\ndata: b\r\nevent: c\u{2028}\0"));
        let lines: Vec<_> = shown.split(['\n', '\r']).collect();
        assert_eq!(lines.len(), 5, "{shown:?}");
        assert!(lines.ends_with(&["", ""]), "{shown:?}");
    }

    #[test]
    fn a_change_is_encoded_once() {
        let encoder = Encoder::default();
        let first = encoder.encode(&change(5, event("a")));
        // Another text under the same number shows that nothing was encoded.
        let second = encoder.encode(&change(5, event("b")));
        assert_eq!(first.as_ptr(), second.as_ptr());
        for number in 6..3000 {
            encoder.encode(&change(number, event("c")));
        }
        assert_eq!(encoder.0.lock().unwrap().len(), HELD);
        let old = encoder.encode(&change(5, event("d")));
        assert!(String::from_utf8_lossy(&old).contains("\"d\""));
        assert_eq!(encoder.0.lock().unwrap().front().unwrap().0.number, 1976);
    }
}
