//! The verdict.

use std::collections::BTreeMap;

use gpud_sdk::files::gauge;
use gpud_sdk::findings::{self, Finding, Memory};
use gpud_sdk::settings::Settings;
use gpud_sdk::{CheckContext, Event, Evidence, RepairAction, Report};
use serde_json::json;

use crate::elist;
use crate::log::Entry;
use crate::log_memory::LogMemory;
use crate::sensors::{self, Sensor, Status};

/// Gauge: a reading.
pub const READING: &str = "ipmi_sensor_reading";
/// Gauge: sensors by status.
pub const STATUS: &str = "ipmi_sensors";

const CRITICAL: &str = "ipmi_sensor_critical";
const NON_RECOVERABLE: &str = "ipmi_sensor_non_recoverable";
const SENSOR_ADVICE: &str = "Check fans, power and air flow; the controller's own pages tell more.";

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "ignored_sensors": {
      "description": "Names of sensors that are not judged; of several of one name, all.",
      "type": "array", "maxItems": 256, "items": { "type": "string" }
    },
    "keep_hours": {
      "description": "How long a trouble of a power supply counts whose end the controller does not log.",
      "type": "integer", "minimum": 1, "maximum": 8784, "default": 168
    }
  }
}"#;

const HOUR_MS: u64 = 3_600_000;

/// The configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    ignored: Vec<String>,
    keep_ms: u64,
}

impl Config {
    /// Reads the document.
    ///
    /// # Errors
    /// In words, when it is not JSON.
    pub fn parse(document: &str) -> Result<Self, String> {
        let settings = Settings::parse(document)?;
        Ok(Self {
            ignored: settings.words("ignored_sensors").unwrap_or_default(),
            keep_ms: settings.number("keep_hours", 168, 1..=8_784) * HOUR_MS,
        })
    }

    /// A name stands for all sensors of it.
    fn ignores(&self, name: &str) -> bool {
        let base = name.split_once(" #").map_or(name, |(base, _)| base);
        let mut ignored = self.ignored.iter();
        ignored.any(|ignored| ignored == name || ignored == base)
    }
}

/// All that is judged; or why it is not known.
#[derive(Debug, Clone, PartialEq)]
pub struct Inputs {
    /// The event log.
    pub log: Result<Vec<Entry>, String>,
    /// The sensors.
    pub sensors: Result<Vec<Sensor>, String>,
    /// The states of the power supplies, where they were asked for.
    pub supplies: Vec<elist::ListedSensor>,
}

/// Judges one reading.
pub fn judge(
    context: &CheckContext,
    config: &Config,
    inputs: &Inputs,
    log_memory: &mut LogMemory,
    before: &Memory,
) -> (Report, Memory) {
    let mut events = Vec::new();
    if let Ok(entries) = &inputs.log {
        let new = log_memory.take(context.now, config.keep_ms, entries);
        events.extend(new.into_iter().map(|entry| event(context, entry)));
    }
    log_memory.open.compare(&inputs.supplies);
    let none = Vec::new();
    let sensors = inputs.sensors.as_ref().unwrap_or(&none);
    let mut found: Vec<Finding> = sensors::judged(sensors)
        .filter(|sensor| !config.ignores(&sensor.name))
        .filter_map(beyond)
        .collect();
    found.extend(log_memory.open.power().map(|(key, trouble)| {
        Finding::degraded(
            key.clone(),
            "ipmi_power_supply",
            format!("{key} (since {})", trouble.when),
        )
        .action(
            RepairAction::HardwareInspection,
            "Check the power supply, its cable and the feed.",
        )
    }));
    let last = inputs.log.as_ref().ok().and_then(|entries| entries.last());
    if last.is_some_and(Entry::is_full_log) {
        let text = "the controller's event log is full, and new entries are lost";
        found.push(
            Finding::degraded("event log", "ipmi_event_log_full", text).advice(
                "Keep what is in it (ipmitool sel save FILE), and clear it (ipmitool sel clear).",
            ),
        );
    }
    let mut words = Vec::new();
    match &inputs.sensors {
        Ok(_) => words.push(format!("{} sensors, none critical", sensors.len())),
        Err(why) => {
            found.push(unread("sensors", "the controller's sensors", why));
            let held = held(before).into_iter();
            found.extend(held.filter(|finding| !config.ignores(&finding.key)));
        }
    }
    match &inputs.log {
        Ok(entries) => words.push(format!("{} entries of the event log read", entries.len())),
        Err(why) => {
            found.push(unread("log", "the controller's event log", why));
            let full = before.0.contains_key("event log");
            found.extend(full.then(|| {
                Finding::degraded(
                    "event log",
                    "ipmi_event_log_full",
                    "the controller's event log was full at the last reading",
                )
            }));
        }
    }
    let (mut report, after) = findings::judge(context, &words.join("; "), &found, before);
    report.events.extend(events);
    (with_readings(report, sensors), after)
}

/// Adds what the sensors read: metrics, and the document under `data`.
fn with_readings(mut report: Report, sensors: &[Sensor]) -> Report {
    let mut by_status: BTreeMap<Status, u64> = BTreeMap::new();
    for sensor in sensors {
        *by_status.entry(sensor.status).or_default() += 1;
        let labels = [
            ("sensor", sensor.name.as_str()),
            ("unit", sensor.unit.as_str()),
        ];
        report.add_gauge(READING, &labels, sensor.value);
    }
    for (status, count) in by_status {
        report.add_gauge(STATUS, &[("status", status.label())], gauge(count));
    }
    let shown: BTreeMap<&str, String> = sensors
        .iter()
        .map(|one| {
            (
                one.name.as_str(),
                format!("{} {} ({})", one.value, one.unit, one.status.label()),
            )
        })
        .collect();
    findings::with_data(report, &json!({ "sensors": shown }))
}

fn unread(key: &str, what: &str, why: &str) -> Finding {
    let text = format!("{what} cannot be read ({why})");
    // ipmitool tries three names, and complains of the last: without the right to open the first, that one is missing.
    let advice = if why.contains("Could not open device") {
        "gpud has to run as root for it."
    } else {
        "A controller that stays silent may want a reset (ipmitool mc reset cold)."
    };
    Finding::degraded(format!("{key} unread"), "ipmi_unreadable", text).advice(advice)
}

/// An unknown fault is not over.
fn held(before: &Memory) -> Vec<Finding> {
    let held = before.0.iter().filter_map(|(key, event)| {
        let finding = match event.as_str() {
            CRITICAL => {
                let text = format!("{key} was critical at the last reading");
                Finding::degraded(key.clone(), CRITICAL, text)
            }
            NON_RECOVERABLE => {
                let text = format!("{key} was beyond what the hardware stands at the last reading");
                Finding::unhealthy(key.clone(), NON_RECOVERABLE, text)
            }
            _ => return None,
        };
        let finding = finding.action(RepairAction::HardwareInspection, SENSOR_ADVICE);
        Some(finding.about("sensor", key))
    });
    held.collect()
}

fn beyond(sensor: &Sensor) -> Option<Finding> {
    let Sensor {
        name,
        value,
        unit,
        status,
    } = sensor;
    let key = name.clone();
    let finding = match status {
        Status::Ok | Status::NonCritical => return None,
        Status::Critical => {
            let text = format!("{name}: {value} {unit} is critical");
            Finding::degraded(key, CRITICAL, text)
        }
        Status::NonRecoverable => {
            let text = format!("{name}: {value} {unit} is beyond what the hardware stands");
            Finding::unhealthy(key, NON_RECOVERABLE, text)
        }
    };
    Some(
        finding
            .action(RepairAction::HardwareInspection, SENSOR_ADVICE)
            .about("sensor", name),
    )
}

fn event(context: &CheckContext, entry: &Entry) -> Event {
    let over = if entry.asserted { "" } else { " (over)" };
    let text = format!(
        "{}: {}{over}, {} by the controller's clock",
        entry.sensor, entry.what, entry.when
    );
    let mut event = Event::new(context.now, "ipmi_event_log", entry.event_type(), text)
        .merged_by(format!("{} {}", entry.key(), entry.asserted), 300);
    event
        .evidence
        .push(Evidence::Other(format!("SEL {}", entry.id)));
    event
}

#[cfg(test)]
mod tests;
