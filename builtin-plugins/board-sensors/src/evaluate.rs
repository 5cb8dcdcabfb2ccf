//! The verdict.

use std::collections::{BTreeMap, BTreeSet};

use gpud_sdk::findings::{self, Finding, Memory};
use gpud_sdk::settings::Settings;
use gpud_sdk::{CheckContext, RepairAction, Report};
use serde_json::json;

use crate::sensor::{Kind, Sensor};

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "max": {
      "description": "Most that a sensor may show, by chip and sensor, in °C, RPM, V or W: {\"nct6775/SYSTIN\": 60}.",
      "type": "object", "maxProperties": 256, "additionalProperties": { "type": "number" }
    },
    "min": {
      "description": "Least that a sensor may show: {\"nct6775/fan1\": 500}.",
      "type": "object", "maxProperties": 256, "additionalProperties": { "type": "number" }
    }
  }
}"#;

/// Drivers whose critical temperature is a property of the part they measure. Chips of mainboards have registers that
/// nobody set; processors run at their limit by design, and the component `cpu-thermal` tells what it costs them.
const TRUSTED: [&str; 9] = [
    "nvme",
    "drivetemp",
    "jc42",
    "spd5118",
    "mlx5",
    "bnxt_en",
    "ice",
    "i350bb",
    "ixgbe",
];
/// What is a temperature, °C; a chip that does not answer shows 0, -128, 127 or 255.
const PLAUSIBLE: std::ops::Range<f64> = -50.0..126.0;
/// What can be a critical one.
const PLAUSIBLE_CRITICAL: std::ops::Range<f64> = 40.0..126.0;
const COOLING: &str = "Check fans, air flow and the temperature of the room.";
const MISSING: &str =
    "Names are those of the metrics, ‹chip›/‹sensor›; a driver that is not loaded has none.";
/// Metrics of a report are bounded.
const MAX_SENSORS: usize = 1_024;

/// Limits of the operator.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Config {
    max: BTreeMap<String, f64>,
    min: BTreeMap<String, f64>,
}

impl Config {
    /// Reads the document.
    ///
    /// # Errors
    /// In words, when it is not JSON.
    pub fn parse(document: &str) -> Result<Self, String> {
        let settings = Settings::parse(document)?;
        Ok(Self {
            max: settings.numbers("max"),
            min: settings.numbers("min"),
        })
    }
}

/// Sensors that were critical at the last check of this boot: one reading alone may be a glitch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CriticalSensors(BTreeSet<String>);

impl CriticalSensors {
    /// From what [`CriticalSensors::save`] gave in this boot.
    pub fn restore(saved: Option<&str>, boot_id: &str) -> Self {
        let saved: Option<(String, BTreeSet<String>)> =
            saved.and_then(|saved| serde_json::from_str(saved).ok());
        Self(
            saved
                .filter(|(boot, _)| boot == boot_id)
                .map(|(_, hot)| hot)
                .unwrap_or_default(),
        )
    }

    /// As text.
    pub fn save(&self, boot_id: &str) -> String {
        json!([boot_id, self.0]).to_string()
    }
}

/// Judges one reading; the last of the answers is what is critical now. `device`: the device that a sensor measures.
pub fn judge(
    context: &CheckContext,
    config: &Config,
    sensors: &[Sensor],
    device: impl Fn(&Sensor) -> Option<String>,
    hot: &CriticalSensors,
    before: &Memory,
) -> (Report, Memory, CriticalSensors) {
    if sensors.is_empty() && *config == Config::default() {
        let reason = "no hardware monitoring chip with a reading on this machine";
        let report = findings::unsupported(context, reason);
        return (report, Memory::default(), CriticalSensors::default());
    }
    let mut found = Vec::new();
    let mut now = CriticalSensors::default();
    for sensor in sensors {
        let key = sensor.key();
        if let Some(critical) = critical(sensor) {
            now.0.insert(key.clone());
            if hot.0.contains(&key) {
                // Of several chips of a kind, the key alone does not tell which.
                let device = device(sensor).map_or_else(String::new, |name| format!(" ({name})"));
                let text = format!(
                    "{key}{device}: {:.0} °C, critical is {critical:.0} °C",
                    sensor.value
                );
                found.push(
                    Finding::unhealthy(format!("{key} critical"), "sensor_critical", text)
                        .action(RepairAction::HardwareInspection, COOLING)
                        .about("sensor", &key)
                        .from_file(sensor.path.clone()),
                );
            }
        }
    }
    found.extend(limits(&config.max, sensors, true));
    found.extend(limits(&config.min, sensors, false));
    let chips: BTreeSet<&str> = sensors.iter().map(|sensor| sensor.chip.as_str()).collect();
    let healthy = format!(
        "{} sensors of {} chips, none beyond its limits",
        sensors.len(),
        chips.len()
    );
    let (mut report, after) = findings::judge(context, &healthy, &found, before);
    for sensor in sensors.iter().take(MAX_SENSORS) {
        let labels = [
            ("chip", sensor.chip.as_str()),
            ("sensor", sensor.name.as_str()),
        ];
        report.add_gauge(sensor.kind.metric(), &labels, sensor.value);
    }
    let shown: BTreeMap<String, String> = sensors
        .iter()
        .map(|sensor| {
            (
                sensor.key(),
                format!("{} {}", sensor.value, sensor.kind.unit()),
            )
        })
        .collect();
    (
        findings::with_data(report, &json!({ "sensors": shown })),
        after,
        now,
    )
}

fn critical(sensor: &Sensor) -> Option<f64> {
    let trusted = sensor.kind == Kind::Temperature && TRUSTED.contains(&sensor.driver.as_str());
    let critical = sensor
        .critical
        .filter(|critical| PLAUSIBLE_CRITICAL.contains(critical))?;
    (trusted && PLAUSIBLE.contains(&sensor.value) && sensor.value >= critical).then_some(critical)
}

fn limits(limits: &BTreeMap<String, f64>, sensors: &[Sensor], upper: bool) -> Vec<Finding> {
    let (side, beyond) = if upper {
        ("max", "more")
    } else {
        ("min", "less")
    };
    let judged = limits.iter().filter_map(|(key, &limit)| {
        let Some(sensor) = sensors.iter().find(|sensor| sensor.key() == *key) else {
            let text = format!("{key}: no such sensor, or it gives no reading");
            let found = Finding::degraded(format!("{key} {side}"), "sensor_missing", text);
            return Some(found.advice(MISSING));
        };
        let is_beyond = if upper {
            sensor.value > limit
        } else {
            sensor.value < limit
        };
        let unit = sensor.kind.unit();
        let text = format!(
            "{key}: {} {unit}, {beyond} than {limit} {unit}",
            sensor.value
        );
        is_beyond.then(|| {
            Finding::degraded(format!("{key} {side}"), "sensor_beyond_limit", text)
                .action(
                    RepairAction::HardwareInspection,
                    "Check the part and its surroundings.",
                )
                .about("sensor", key)
                .from_file(sensor.path.clone())
        })
    });
    judged.collect()
}

#[cfg(test)]
mod tests;
