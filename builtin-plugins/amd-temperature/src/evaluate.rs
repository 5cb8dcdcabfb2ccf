//! The verdict.
//!
//! The files are those of `drivers/gpu/drm/amd/pm/amdgpu_pm.c` (and `Documentation/hwmon/sysfs-interface.rst`), in
//! thousandths of a degree: `temp1` is `edge`, `temp2` `junction` (the hottest spot), `temp3` `mem`. At `crit` the GPU
//! slows down, at `emergency` it is switched off. Integrated GPUs have no limits there, so they are not judged.

use gpud_builtin_amd_common::check::nothing;
use gpud_builtin_amd_common::{Card, CardFile, RetainedState, Round};
use gpud_sdk::findings::{Finding, with_data};
use gpud_sdk::{CheckContext, RepairAction, Report};
use serde_json::{Value, json};

use crate::config::Config;

/// The files.
pub const FILES: [CardFile; 4] = [
    CardFile::short("hwmon/hwmon*/temp*_input"),
    CardFile::short("hwmon/hwmon*/temp*_label"),
    CardFile::short("hwmon/hwmon*/temp*_crit"),
    CardFile::short("hwmon/hwmon*/temp*_emergency"),
];
/// Metric of temperatures.
pub const TEMPERATURE: &str = "accelerator_amd_temperature_celsius";
/// Metric of limits.
pub const CRITICAL: &str = "accelerator_amd_temperature_critical_celsius";

/// What is a temperature, °C; a register that nobody filled shows 0, 255 or 511.
const PLAUSIBLE: std::ops::Range<f64> = -50.0..200.0;
/// What can be a limit.
const PLAUSIBLE_LIMIT: std::ops::Range<f64> = 50.0..150.0;
/// Longest name of a sensor that is taken, bytes.
const MAX_NAME: usize = 32;
const COOLING: &str = "Check fans, air flow and the temperature of the room; if they are well, have the GPU looked at.";
const SITE: &str =
    "The limit is the site's own. Check fans, air flow and the temperature of the room.";

/// One sensor.
#[derive(Debug, Clone, PartialEq)]
struct Sensor<'a> {
    /// `edge`, `junction`, `mem`; without a label its file's name, `temp1`.
    name: &'a str,
    /// Degrees Celsius, as are all.
    value: f64,
    critical: Option<f64>,
    emergency: Option<f64>,
    file: String,
}

fn sensors(card: &Card) -> Vec<Sensor<'_>> {
    let inputs = card.between("hwmon/", "_input");
    let read = inputs.filter_map(|(stem, _)| {
        let degrees = |kind: &str| {
            let number: i64 = card.number(&format!("hwmon/{stem}_{kind}"))?;
            #[expect(
                clippy::cast_precision_loss,
                reason = "beyond 2^53 it is not plausible"
            )]
            Some(number as f64 / 1e3)
        };
        let limit = |kind| degrees(kind).filter(|limit| PLAUSIBLE_LIMIT.contains(limit));
        let label = card.text(&format!("hwmon/{stem}_label"));
        let label = label.filter(|label| label.len() <= MAX_NAME);
        Some(Sensor {
            name: label.or_else(|| stem.rsplit('/').next())?,
            value: degrees("input").filter(|value| PLAUSIBLE.contains(value))?,
            critical: limit("crit"),
            emergency: limit("emergency"),
            file: card.path(&format!("hwmon/{stem}_input")),
        })
    });
    read.collect()
}

/// The report, and what to keep.
pub fn evaluate(
    context: &CheckContext,
    config: &Config,
    cards: &[Card],
    before: &RetainedState,
) -> (Report, RetainedState) {
    let readings: Vec<(&Card, Vec<Sensor>)> = cards
        .iter()
        .map(|card| (card, sensors(card)))
        .filter(|(_, sensors)| !sensors.is_empty())
        .collect();
    let asleep = cards.iter().filter(|card| card.asleep).count();
    if readings.is_empty()
        && asleep == 0
        && let Some(nothing) = nothing(context, cards, "no AMD GPU with a temperature sensor")
    {
        return nothing;
    }
    let mut round = Round::begin(cards, before);
    for (card, sensors) in &readings {
        for sensor in sensors {
            if let Some(finding) = judge(config, card, sensor) {
                round.add_after(config.checks, finding);
            }
        }
    }
    let mut healthy = format!("{} GPU(s) were checked, none is too hot", readings.len());
    if asleep > 0 {
        healthy.push_str(&format!(", {asleep} asleep"));
    }
    let (report, after) = round.end(context, &healthy);
    let gpus: Vec<Value> = readings
        .iter()
        .map(|(card, sensors)| document(card, sensors))
        .collect();
    let mut report = with_data(report, &json!({ "gpus": gpus }));
    for (card, sensors) in &readings {
        for sensor in sensors {
            let labels = [("bus_id", card.id.as_str()), ("sensor", sensor.name)];
            report.add_gauge(TEMPERATURE, &labels, sensor.value);
            if let Some(critical) = sensor.critical {
                report.add_gauge(CRITICAL, &labels, critical);
            }
        }
    }
    (report, after)
}

fn judge(config: &Config, card: &Card, sensor: &Sensor) -> Option<Finding> {
    let Sensor { name, value, .. } = sensor;
    let reached = |limit: Option<f64>| limit.filter(|limit| value >= limit);
    let key = format!("{} {name}", card.id);
    let text = |limit: f64, what: &str| {
        format!(
            "GPU {}: {name} is at {value:.0} °C, {what} {limit:.0} °C",
            card.label()
        )
    };
    let finding = if let Some(limit) = reached(sensor.emergency) {
        let text = text(limit, "the GPU is switched off at");
        Finding::unhealthy(key, "amd_gpu_temperature_emergency", text)
            .action(RepairAction::HardwareInspection, COOLING)
    } else if let Some(limit) = reached(sensor.critical) {
        let text = text(limit, "the GPU slows down at");
        Finding::degraded(key, "amd_gpu_temperature_critical", text)
            .action(RepairAction::HardwareInspection, COOLING)
    } else {
        let limit = reached(config.max.get(*name).copied())?;
        let text = text(limit, "allowed are");
        Finding::degraded(key, "amd_gpu_temperature_high", text).advice(SITE)
    };
    Some(
        finding
            .subject(card.subject())
            .from_file(sensor.file.clone()),
    )
}

fn document(card: &Card, sensors: &[Sensor]) -> Value {
    let sensors: serde_json::Map<String, Value> = sensors
        .iter()
        .map(|sensor| {
            let value = json!({
                "celsius": sensor.value,
                "critical": sensor.critical,
                "emergency": sensor.emergency,
            });
            (sensor.name.to_owned(), value)
        })
        .collect();
    json!({ "bus_id": card.id, "product": card.product, "sensors": sensors })
}

#[cfg(test)]
mod tests;
