//! Bodies for chat tools: a text in which `{{ field }}` is replaced by a field of the record.

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, Unexpected},
};

use super::cloudevent;
use crate::{Finding, Health, HealthChange, NodeIdentity, Record};

/// The names of all fields.
pub const FIELDS: [&str; 13] = [
    "id",
    "time",
    "node",
    "machine_id",
    "kind",
    "component",
    "name",
    "subject",
    "severity",
    "from",
    "message",
    "actions",
    "summary",
];
/// Largest template, bytes.
const MAX_BYTES: usize = 16 << 10;

/// A template that is known to be good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(Vec<TemplatePart>);

/// Why a text is no template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// A field that does not exist.
    #[error("there is no field {{{{ {0} }}}}; the fields are {known}", known = FIELDS.join(", "))]
    NoField(String),
    /// A field whose end is missing.
    #[error("a {{{{ is not closed by }}}}")]
    Open,
    /// It is too large.
    #[error("it is longer than {MAX_BYTES} bytes")]
    TooLarge,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePart {
    Text(String),
    Field(&'static str),
}

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// [`TemplateError`].
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        if text.len() > MAX_BYTES {
            return Err(TemplateError::TooLarge);
        }
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once("{{") {
            let (name, after) = behind.split_once("}}").ok_or(TemplateError::Open)?;
            let name = name.trim();
            let field = FIELDS.into_iter().find(|field| *field == name);
            parts.push(TemplatePart::Text(before.to_owned()));
            let field = field.ok_or_else(|| TemplateError::NoField(name.to_owned()))?;
            parts.push(TemplatePart::Field(field));
            rest = after;
        }
        parts.push(TemplatePart::Text(rest.to_owned()));
        Ok(Self(parts))
    }

    /// Returns the body for a record. Values of fields cannot change the body's structure: they are escaped as in a JSON string where the content type is JSON, percent-encoded in a form, and as it is in other texts.
    pub fn fill(&self, record: &Record, content_type: &str) -> String {
        let parts = self.0.iter().map(|part| match part {
            TemplatePart::Text(text) => text.clone(),
            TemplatePart::Field(name) => escaped(&field(name, record), content_type),
        });
        parts.collect()
    }

    /// Checks that the body is what its content type says, with a record that has everything in it.
    pub(super) fn check(&self, content_type: &str) -> Result<(), String> {
        if !is_json(content_type) {
            return Ok(());
        }
        let change = HealthChange {
            component: "a\"b".to_owned(),
            name: "c\nd".to_owned(),
            from: Health::Healthy,
            to: Health::Unhealthy,
            reason: "\\\u{1}".to_owned(),
            suggested_actions: vec!["REBOOT_SYSTEM".to_owned()],
        };
        let record = Record::new(0, NodeIdentity::default(), Finding::Health(change));
        let body = self.fill(&record, content_type);
        match serde_json::from_str::<serde::de::IgnoredAny>(&body) {
            Ok(_) => Ok(()),
            Err(error) => Err(format!(
                "template: the body is no JSON: {error}; put fields between quotation marks, or set content_type"
            )),
        }
    }
}

fn is_json(content_type: &str) -> bool {
    content_type.to_ascii_lowercase().contains("json")
}

fn escaped(text: &str, content_type: &str) -> String {
    if is_json(content_type) {
        let quoted = serde_json::Value::from(text).to_string();
        let inner = quoted
            .strip_prefix('"')
            .and_then(|text| text.strip_suffix('"'));
        return inner.unwrap_or_default().to_owned();
    }
    if content_type
        .to_ascii_lowercase()
        .contains("form-urlencoded")
    {
        let byte = |byte: u8| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                char::from(byte).to_string()
            }
            other => format!("%{other:02X}"),
        };
        return text.bytes().map(byte).collect();
    }
    text.to_owned()
}

fn field(name: &str, record: &Record) -> String {
    match (name, &record.finding) {
        ("id", _) => record.id.to_string(),
        ("time", _) => record.time_text(),
        ("node", _) => record.node.hostname.clone(),
        ("machine_id", _) => record.node.machine_id.clone(),
        ("kind", Finding::Health(_)) => "health".to_owned(),
        ("kind", Finding::Event(_)) => "event".to_owned(),
        ("component", _) => record.component().to_owned(),
        ("name", Finding::Health(change)) => change.name.clone(),
        ("name", Finding::Event(event)) => event.name.clone(),
        ("subject", _) => cloudevent::subject(record),
        ("severity", Finding::Health(change)) => change.to.as_str().to_owned(),
        ("severity", Finding::Event(event)) => event.severity.as_str().to_owned(),
        ("from", Finding::Health(change)) => change.from.as_str().to_owned(),
        ("message", Finding::Health(change)) => change.reason.clone(),
        ("message", Finding::Event(event)) => event.message.clone(),
        ("actions", Finding::Health(change)) => change.suggested_actions.join(", "),
        ("summary", _) => summary(record),
        _ => String::new(),
    }
}

/// Returns the record as one line: node, component, finding, actions.
fn summary(record: &Record) -> String {
    let node = &record.node.hostname;
    let about = match &record.subject {
        Some(subject) => format!(" ({subject})"),
        None => String::new(),
    };
    let component = record.component();
    let sample = if record.sample { "[sample] " } else { "" };
    match &record.finding {
        Finding::Health(change) => {
            let actions = match change.suggested_actions.is_empty() {
                true => String::new(),
                false => format!("; do: {}", change.suggested_actions.join(", ")),
            };
            let (to, reason) = (change.to.as_str(), &change.reason);
            format!("{sample}{node}: {component}{about} is {to}: {reason}{actions}")
        }
        Finding::Event(event) => {
            let (severity, name, message) = (event.severity.as_str(), &event.name, &event.message);
            format!("{sample}{node}: {component}{about}: {severity} event {name}: {message}")
        }
    }
}

impl<'de> Deserialize<'de> for Template {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Self::parse(&text).map_err(|error| {
            let wrong = error.to_string();
            D::Error::invalid_value(Unexpected::Other(&wrong), &"a template")
        })
    }
}
