//! The verdict.

use std::collections::BTreeMap;

use gpud_builtin_shared::files::gauge;
use gpud_builtin_shared::findings::{self, Finding, Memory};
use gpud_builtin_shared::settings::Settings;
use gpud_sdk::{CheckContext, Event, Evidence, RepairAction, Report};
use serde_json::json;

use crate::log::{Entry, Seen};
use crate::sensors::{Sensor, Status};

/// Gauge: a reading.
pub const READING: &str = "ipmi_sensor_reading";
/// Gauge: sensors by status.
pub const STATUS: &str = "ipmi_sensors";

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "ignored_sensors": {
      "description": "Names of sensors that are not judged.",
      "type": "array", "maxItems": 256, "items": { "type": "string" }
    }
  }
}"#;

/// The configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Config {
    ignored: Vec<String>,
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
        })
    }
}

/// All that is judged; or why it is not known.
#[derive(Debug, Clone, PartialEq)]
pub struct Inputs {
    /// The event log.
    pub log: Result<Vec<Entry>, String>,
    /// The sensors.
    pub sensors: Result<Vec<Sensor>, String>,
}

/// Judges one reading.
pub fn judge(
    context: &CheckContext,
    config: &Config,
    inputs: &Inputs,
    seen: &mut Seen,
    before: &Memory,
) -> (Report, Memory) {
    let mut events = Vec::new();
    if let Ok(entries) = &inputs.log {
        events.extend(
            seen.take(entries)
                .into_iter()
                .map(|entry| event(context, entry)),
        );
    }
    let none = Vec::new();
    let sensors = inputs.sensors.as_ref().unwrap_or(&none);
    let mut found: Vec<Finding> = sensors
        .iter()
        .filter(|sensor| !config.ignored.contains(&sensor.name))
        .filter_map(beyond)
        .collect();
    found.extend(seen.power.iter().map(|(key, (_, when))| {
        Finding::degraded(
            key.clone(),
            "ipmi_power_supply",
            format!("{key} (since {when})"),
        )
        .action(
            RepairAction::HardwareInspection,
            "Check the power supply, its cable and the feed.",
        )
    }));
    let mut words = vec![match inputs.sensors {
        Ok(_) => format!("{} sensors, none critical", sensors.len()),
        Err(ref why) => format!("sensors cannot be read ({why})"),
    }];
    match &inputs.log {
        Ok(entries) => words.push(format!("{} entries of the event log read", entries.len())),
        Err(why) => words.push(format!("the event log cannot be read ({why})")),
    }
    let (mut report, mut after) = findings::judge(context, &words.join("; "), &found, before);
    if inputs.sensors.is_err() {
        // What is not known is not over.
        report
            .events
            .retain(|event| !event.name.ends_with("_cleared"));
        let open = before
            .0
            .iter()
            .filter(|(_, name)| *name == "ipmi_sensor_critical");
        after
            .0
            .extend(open.map(|(key, name)| (key.clone(), name.clone())));
    }
    report.events.extend(events);
    let mut by_status: BTreeMap<Status, u64> = BTreeMap::new();
    for sensor in sensors {
        *by_status.entry(sensor.status).or_default() += 1;
        let labels = [
            ("sensor", sensor.name.as_str()),
            ("unit", sensor.unit.as_str()),
        ];
        report = report.gauge_with(READING, &labels, sensor.value);
    }
    for (status, count) in by_status {
        report = report.gauge_with(STATUS, &[("status", status.label())], gauge(count));
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
            Finding::degraded(key, "ipmi_sensor_critical", text)
        }
        Status::NonRecoverable => {
            let text = format!("{name}: {value} {unit} is beyond what the hardware stands");
            Finding::unhealthy(key, "ipmi_sensor_non_recoverable", text)
        }
    };
    let advice = "Check fans, power and air flow; the controller's own pages tell more.";
    Some(
        finding
            .action(RepairAction::HardwareInspection, advice)
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
    use crate::{log, sensors};
    use gpud_builtin_shared::findings::test_context;
    use gpud_sdk::Health;

    type Answer = Result<&'static str, &'static str>;

    /// Checks, each with what the log and the sensors said.
    fn run(config: &str, checks: &[(Answer, Answer)]) -> (Health, String, Vec<String>) {
        let context = test_context("ipmi", 1_000);
        let config = Config::parse(config).unwrap();
        let (mut seen, mut memory) = (Seen::default(), Memory::default());
        let mut answer = (Health::Healthy, String::new(), Vec::new());
        for (log, sensors) in checks {
            let inputs = Inputs {
                log: log.map(log::parse).map_err(str::to_owned),
                sensors: sensors.map(sensors::parse).map_err(str::to_owned),
            };
            let (report, after) = judge(&context, &config, &inputs, &mut seen, &memory);
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
                "{}",
                Err("timeout"),
                Health::Healthy,
                "sensors cannot be read (timeout); 0 entries of the event log read",
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
    fn what_is_not_known_is_not_over() {
        let hot: Answer = Ok("T,95,degrees C,cr\n");
        let (.., events) = run("{}", &[(Ok(""), hot), (Ok(""), Err("busy")), (Ok(""), hot)]);
        assert_eq!(events, ["ipmi_sensor_critical"]);
        serde_json::from_str::<serde_json::Value>(SCHEMA).unwrap();
    }
}
