//! Records as log records.

use opentelemetry_proto::tonic::{
    collector::logs::v1::ExportLogsServiceRequest,
    common::v1::{AnyValue, KeyValue, any_value::Value},
    logs::v1::{LogRecord, ResourceLogs, ScopeLogs, SeverityNumber},
    resource::v1::Resource,
};

use super::attributes::{flag, list, number, scope, text};
use crate::{Finding, Health, NodeIdentity, Record, Severity, Subject, UnixMillis};

/// Name of the event that is a change of health.
pub const HEALTH_CHANGED: &str = "gpud.health.changed";
/// Name of the event that is an event of gpud.
pub const EVENT: &str = "gpud.event";
/// The attribute by which a receiver can recognise a repeat.
const ID: &str = "log.record.uid";

/// Makes the request for a batch. The same batch makes the same request, whenever it is sent.
pub fn request(
    batch: &[Record],
    resource: impl Fn(&NodeIdentity) -> Resource,
) -> ExportLogsServiceRequest {
    // Records of the spool may be from before the host was renamed.
    let of_one_node = batch.chunk_by(|one, next| one.node == next.node);
    let resource_logs = of_one_node.map(|records| ResourceLogs {
        resource: records.first().map(|record| resource(&record.node)),
        scope_logs: vec![ScopeLogs {
            scope: Some(scope()),
            log_records: records.iter().map(log_record).collect(),
            ..ScopeLogs::default()
        }],
        ..ResourceLogs::default()
    });
    ExportLogsServiceRequest {
        resource_logs: resource_logs.collect(),
    }
}

/// Makes the log record of a record.
fn log_record(record: &Record) -> LogRecord {
    let name = match &record.finding {
        Finding::Health(_) => HEALTH_CHANGED,
        Finding::Event(_) => EVENT,
    };
    let (severity, word) = severity(&record.finding);
    LogRecord {
        time_unix_nano: nanos(record.time),
        observed_time_unix_nano: nanos(observed(record)),
        severity_number: severity.into(),
        severity_text: word.to_owned(),
        body: Some(AnyValue {
            value: Some(Value::StringValue(sentence(record))),
        }),
        attributes: attributes(record, name),
        event_name: name.to_owned(),
        ..LogRecord::default()
    }
}

/// Returns nanoseconds since 1970; the last that fit for a time beyond them.
pub(super) fn nanos(time: UnixMillis) -> u64 {
    time.saturating_mul(1_000_000)
}

/// Returns when gpud noticed it, which its id holds.
fn observed(record: &Record) -> UnixMillis {
    record.id.get_timestamp().map_or(record.time, |time| {
        let (seconds, nanos) = time.to_unix();
        seconds
            .saturating_mul(1000)
            .saturating_add(u64::from(nanos / 1_000_000))
    })
}

/// Returns the severity, and gpud's word for it.
fn severity(finding: &Finding) -> (SeverityNumber, &str) {
    match finding {
        Finding::Event(event) => {
            let severity = match event.severity {
                Severity::Unknown => SeverityNumber::Unspecified,
                Severity::Info => SeverityNumber::Info,
                Severity::Warning => SeverityNumber::Warn,
                Severity::Critical => SeverityNumber::Error,
                Severity::Fatal => SeverityNumber::Fatal,
            };
            (severity, event.severity.as_str())
        }
        Finding::Health(change) => {
            let severity = match change.to {
                Health::Healthy | Health::Initializing => SeverityNumber::Info,
                Health::Degraded => SeverityNumber::Warn,
                Health::Unhealthy | Health::Other(_) => SeverityNumber::Error,
            };
            (severity, change.to.as_str())
        }
    }
}

/// Returns what happened, for a person.
fn sentence(record: &Record) -> String {
    let component = record.component();
    let about = match &record.subject {
        Some(subject) => format!(" ({subject})"),
        None => String::new(),
    };
    match &record.finding {
        Finding::Health(change) => {
            let to = change.to.as_str();
            match change.reason.as_str() {
                "" => format!("{component}{about} is {to}"),
                reason => format!("{component}{about} is {to}: {reason}"),
            }
        }
        Finding::Event(event) => match event.message.as_str() {
            "" => format!("{component}{about}: event {}", event.name),
            message => format!("{component}{about}: {message}"),
        },
    }
}

fn attributes(record: &Record, name: &str) -> Vec<KeyValue> {
    let mut attributes = vec![
        text(ID, record.id.to_string()),
        text("event.name", name),
        text("gpud.component", record.component()),
    ];
    match &record.finding {
        Finding::Health(change) => {
            attributes.extend([
                text("gpud.state.name", change.name.as_str()),
                text("gpud.health", change.to.as_str()),
                text("gpud.health.before", change.from.as_str()),
            ]);
            if !change.suggested_actions.is_empty() {
                attributes.push(list("gpud.suggested_actions", &change.suggested_actions));
            }
        }
        Finding::Event(event) => {
            attributes.push(text("gpud.event.name", event.name.as_str()));
            let extra = event.extra_info.iter();
            attributes.extend(extra.map(|(key, value)| {
                let key = format!("gpud.event.extra.{key}");
                text(&key, value.as_str())
            }));
        }
    }
    if let Some(subject) = &record.subject {
        attributes.push(text("gpud.subject", subject.to_string()));
        attributes.extend(parts(subject));
    }
    if record.sample {
        attributes.push(flag("gpud.sample"));
    }
    attributes
}

/// Returns the parts of a subject, with the names and ids that metrics have.
fn parts(subject: &Subject) -> Vec<KeyValue> {
    match subject {
        Subject::Node | Subject::Other { .. } => Vec::new(),
        Subject::Gpu {
            uuid,
            serial,
            pci,
            index,
        } => {
            let mut parts = vec![text("hw.type", "gpu")];
            let known = [
                ("hw.id", uuid.as_ref().or(pci.as_ref())),
                ("hw.serial_number", serial.as_ref()),
                ("gpud.gpu.pci", pci.as_ref()),
            ];
            let known = known
                .into_iter()
                .filter_map(|(key, value)| Some((key, value?)));
            parts.extend(known.map(|(key, value)| text(key, value.as_str())));
            parts.extend(index.map(|index| number("gpud.gpu.index", index)));
            parts
        }
        Subject::Port { device, port } => vec![
            text("hw.type", "network"),
            text("hw.id", format!("{device}_{port}")),
            text("hw.name", format!("{device} port {port}")),
        ],
        Subject::Disk { name } => vec![
            text("hw.type", "physical_disk"),
            text("hw.id", name.as_str()),
            text("hw.name", name.as_str()),
        ],
        Subject::Mount { path } => vec![text("system.filesystem.mountpoint", path.as_str())],
        Subject::Unit { name } => vec![text("gpud.unit", name.as_str())],
    }
}

#[cfg(test)]
mod tests;
