//! The verdict.

use std::collections::BTreeMap;

use gpud_builtin_shared::files::gauge;
use gpud_builtin_shared::findings::{self, Finding, Memory};
use gpud_builtin_shared::settings::Settings;
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
    pub supplies: Vec<elist::Sensor>,
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
    (
        findings::with_data(report, &json!({ "sensors": shown })),
        after,
    )
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

/// What is not known is not over.
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
mod tests {
    use super::*;
    use crate::log;
    use gpud_builtin_shared::findings::test_context;
    use gpud_sdk::Health;

    type Answer = Result<&'static str, &'static str>;

    /// Checks, each with what the log and the sensors said.
    fn run(config: &str, checks: &[(Answer, Answer)]) -> (Health, String, Vec<String>) {
        let context = test_context("ipmi", 1_000);
        let config = Config::parse(config).unwrap();
        let (mut log_memory, mut memory) = (LogMemory::default(), Memory::default());
        let mut answer = (Health::Healthy, String::new(), Vec::new());
        for (log, sensors) in checks {
            let inputs = Inputs {
                log: log.map(log::parse).map_err(str::to_owned),
                sensors: sensors.map(sensors::parse).map_err(str::to_owned),
                supplies: Vec::new(),
            };
            let (report, after) = judge(&context, &config, &inputs, &mut log_memory, &memory);
            memory = after;
            answer.0 = report.states[0].health.clone();
            answer.1.clone_from(&report.states[0].reason);
            answer
                .2
                .extend(report.events.iter().map(|event| event.name.clone()));
        }
        answer
    }

    const LOST: &str = "1,04/12/2024,10:20:30,Power Supply #0x51,Power Supply AC lost,Asserted\n";
    const BACK: &str = "1,04/12/2024,10:20:30,Power Supply #0x51,Power Supply AC lost,Asserted\n2,04/12/2024,10:25:30,Power Supply #0x51,Power Supply AC lost,Deasserted\n";

    #[test]
    fn sensors_are_judged() {
        for (config, sensors, health, reason) in [
            (
                "{}",
                Ok("T,45,degrees C,ok\nF,1,RPM,nc\n"),
                Health::Healthy,
                "2 sensors, none critical; 0 entries of the event log read",
            ),
            (
                "{}",
                Ok("T,95,degrees C,cr\n"),
                Health::Degraded,
                "T: 95 degrees C is critical",
            ),
            (
                "{}",
                // iLO 2: sensors without thresholds that claim to have crossed one.
                Ok("T,45,degrees C,ok\nVRM 1,0,unspecified,cr\nPower Meter,236,Watts,cr\n"),
                Health::Healthy,
                "3 sensors, none critical; 0 entries of the event log read",
            ),
            (
                "{}",
                Ok("VRM 1,0,unspecified,cr\nT,95,degrees C,cr\n"),
                Health::Degraded,
                "T: 95 degrees C is critical",
            ),
            (
                "{}",
                Ok("T,120,degrees C,nr\n"),
                Health::Unhealthy,
                "T: 120 degrees C is beyond what the hardware stands",
            ),
            (
                r#"{"ignored_sensors":["T"]}"#,
                Ok("T,95,degrees C,cr\n"),
                Health::Healthy,
                "1 sensors, none critical; 0 entries of the event log read",
            ),
            (
                r#"{"ignored_sensors":["T"]}"#,
                Ok("T,95,degrees C,cr\nT,95,degrees C,cr\n"),
                Health::Healthy,
                "2 sensors, none critical; 0 entries of the event log read",
            ),
            (
                r#"{"ignored_sensors":["T #2"]}"#,
                Ok("T,95,degrees C,cr\nT,95,degrees C,cr\n"),
                Health::Degraded,
                "T: 95 degrees C is critical",
            ),
            (
                "{}",
                Err("timeout"),
                Health::Degraded,
                "the controller's sensors cannot be read (timeout). A controller that stays silent may want a reset (ipmitool mc reset cold).",
            ),
            (
                "{}",
                // ipmitool 1.8.19 of Debian 12, without root, where /dev/ipmi0 is there.
                Err(
                    "Could not open device at /dev/ipmi0 or /dev/ipmi/0 or /dev/ipmidev/0: No such file or directory",
                ),
                Health::Degraded,
                "the controller's sensors cannot be read (Could not open device at /dev/ipmi0 or /dev/ipmi/0 or /dev/ipmidev/0: No such file or directory). gpud has to run as root for it.",
            ),
        ] {
            let (found, said, _) = run(config, &[(Ok(""), sensors)]);
            assert_eq!((found, said.as_str()), (health, reason));
        }
    }

    #[test]
    fn news_of_the_log() {
        let fine: Answer = Ok("T,45,degrees C,ok\n");
        // An old entry is no news.
        assert_eq!(run("{}", &[(Ok(LOST), fine), (Ok(LOST), fine)]).2.len(), 0);
        let (health, reason, events) = run("{}", &[(Ok(""), fine), (Ok(LOST), fine)]);
        assert_eq!(health, Health::Degraded);
        assert_eq!(
            reason,
            "Power Supply #0x51 Power Supply AC lost (since 04/12/2024 10:20:30)"
        );
        assert_eq!(events, ["ipmi_power_supply", "ipmi_event_log"]);
        let (health, _, events) = run("{}", &[(Ok(""), fine), (Ok(LOST), fine), (Ok(BACK), fine)]);
        assert_eq!((health, events.len()), (Health::Healthy, 4));
        // A controller that does not answer once.
        let (health, ..) = run(
            "{}",
            &[(Ok(""), fine), (Ok(LOST), fine), (Err("busy"), fine)],
        );
        assert_eq!(health, Health::Degraded);
    }

    #[test]
    fn a_full_log() {
        let fine: Answer = Ok("T,45,degrees C,ok\n");
        let full = "1,04/12/24,10:20:30 UTC,Event Logging Disabled #0x72,Log full,Asserted\n";
        let (health, reason, events) = run("{}", &[(Ok(full), fine), (Err("busy"), fine)]);
        assert_eq!(health, Health::Degraded);
        assert!(reason.contains("was full"), "{reason}");
        assert_eq!(events, ["ipmi_event_log_full", "ipmi_unreadable"]);
        let later = "1,04/12/24,10:20:30 UTC,Event Logging Disabled #0x72,Log full,Asserted\n\
            2,04/12/24,10:25:30 UTC,Fan #0x30,Lower Non-critical going low ,Asserted\n";
        assert_eq!(run("{}", &[(Ok(later), fine)]).0, Health::Healthy);
    }

    #[test]
    fn what_is_not_known_is_not_over() {
        for (sensors, event, health) in [
            (
                "T,95,degrees C,cr\n",
                "ipmi_sensor_critical",
                Health::Degraded,
            ),
            (
                "T,120,degrees C,nr\n",
                "ipmi_sensor_non_recoverable",
                Health::Unhealthy,
            ),
        ] {
            let (hot, lost): (Answer, Answer) = (Ok(sensors), Err("busy"));
            let (found, reason, _) = run("{}", &[(Ok(""), hot), (Ok(""), lost)]);
            assert_eq!(found, health, "{reason}");
            let (.., events) = run("{}", &[(Ok(""), hot), (Ok(""), lost), (Ok(""), hot)]);
            assert_eq!(
                events,
                [event, "ipmi_unreadable", "ipmi_unreadable_cleared"]
            );
        }
        serde_json::from_str::<serde_json::Value>(SCHEMA).unwrap();
    }
}
