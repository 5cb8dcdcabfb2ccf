//! Records as CloudEvents 1.0 in JSON.

use serde_json::{Value, json};

use crate::{Finding, Record};

/// Content type of one event.
pub const STRUCTURED: &str = "application/cloudevents+json; charset=UTF-8";
/// Content type of a list of events.
pub const BATCH: &str = "application/cloudevents-batch+json; charset=UTF-8";
/// Type of a change of health.
pub const HEALTH_CHANGED: &str = "dev.gpud.health.changed.v1";
/// Type of an event.
pub const EVENT: &str = "dev.gpud.event.v1";

/// Returns the event of a record. Its `data` is the record itself.
///
/// `component`, `severity` and `sample` are extension attributes, so that a broker can route by them: the severity of a
/// change of health is the new health in small letters.
pub fn event(record: &Record) -> Value {
    let (kind, severity) = match &record.finding {
        Finding::Health(change) => (HEALTH_CHANGED, change.to.as_str()),
        Finding::Event(event) => (EVENT, event.severity.as_str()),
    };
    let mut event = json!({
        "specversion": "1.0",
        "id": record.id.to_string(),
        "source": format!("/gpud/nodes/{}", path_segment(&record.node.hostname)),
        "type": kind,
        "time": record.time_text(),
        "subject": subject(record),
        "datacontenttype": "application/json",
        "component": record.component(),
        "severity": severity.to_ascii_lowercase(),
        "data": record,
    });
    if record.sample
        && let Some(event) = event.as_object_mut()
    {
        event.insert("sample".to_owned(), Value::Bool(true));
    }
    event
}

/// Returns what the record is about, the component if it names nothing.
pub fn subject(record: &Record) -> String {
    match &record.subject {
        Some(subject) => subject.to_string(),
        None => format!("component/{}", record.component()),
    }
}

/// Makes a host name fit into a URI, whatever it is.
fn path_segment(name: &str) -> String {
    let mut segment = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                segment.push(char::from(byte));
            }
            other => segment.push_str(&format!("%{other:02X}")),
        }
    }
    match segment.as_str() {
        "" => "unknown".to_owned(),
        _ => segment,
    }
}
