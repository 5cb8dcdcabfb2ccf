//! The verdict.

use std::collections::BTreeSet;

use gpud_builtin_board_sensors::sensor::{Kind, Sensor};
use gpud_sdk::files::gauge;
use gpud_sdk::findings::{self, Finding, Memory};
use gpud_sdk::{CheckContext, RepairAction, Report, Trigger};
use serde_json::json;

use crate::config::{Config, Limits};
use crate::extra::Extra;
use crate::watch::Watch;

/// Gauge: temperatures.
pub const TEMPERATURE: &str = "server_hwmon_temperature_celsius";
/// Gauge: fans.
pub const FAN: &str = "server_hwmon_fan_rpm";
/// Gauge: voltages.
pub const VOLTAGE: &str = "server_hwmon_voltage_volts";
/// Gauge: power.
pub const POWER: &str = "server_hwmon_power_watts";

const COOLING: &str = "Check fans, filters, air flow and the temperature of the room.";
const REPLACE_FAN: &str = "Check the fan and its connector; have it replaced.";
const CHECK: &str = "Check the part and its surroundings.";
/// Metrics of a report are bounded.
const MAX_SENSORS: usize = 1_024;

/// Judges one reading. `watch` is kept from check to check.
pub fn judge(
    context: &CheckContext,
    config: &Config,
    sensors: &[Sensor],
    extra: &Extra,
    watch: &mut Watch,
    before: &Memory,
) -> (Report, Memory) {
    if context.trigger == Trigger::SetHealthy {
        // The operator who removed a fan or a probe has said so.
        watch.turned.clear();
        watch.good.clear();
        watch.suspects.clear();
    }
    let judged: Vec<&Sensor> = sensors
        .iter()
        .filter(|sensor| !config.ignores(&sensor.key()))
        .collect();
    let mut found = Vec::new();
    for sensor in &judged {
        found.extend(judge_sensor(config, sensor, &judged, extra, watch));
    }
    let fans = judged.iter().filter(|one| turns(config, one)).count() as u64;
    if fans < config.fan_count {
        let text = format!("{fans} fans turn, expected {}", config.fan_count);
        found.push(
            Finding::degraded("fans", "hwmon_fans_missing", text)
                .action(RepairAction::HardwareInspection, REPLACE_FAN),
        );
    }
    let suspects: BTreeSet<String> = found.iter().map(|finding| finding.key.clone()).collect();
    found.retain(|finding| watch.suspects.contains(&finding.key));
    watch.suspects = suspects;
    let keys: Vec<String> = sensors.iter().map(Sensor::key).collect();
    for pattern in config.without_sensor(&keys) {
        let text = format!("limits: no sensor is called {pattern}");
        found.push(Finding::degraded(
            format!("no {pattern}"),
            "hwmon_sensor_missing",
            text,
        ));
    }
    let chips: BTreeSet<&str> = sensors.iter().map(|sensor| sensor.chip.as_str()).collect();
    let healthy = format!(
        "{} sensors of {} chips, none beyond its limits; {fans} fans turn",
        sensors.len(),
        chips.len()
    );
    let (report, after) = findings::judge(context, &healthy, &found, before);
    (shown(report, sensors), after)
}

/// Returns whether it is a fan that turns.
fn turns(config: &Config, sensor: &Sensor) -> bool {
    sensor.kind == Kind::Fan && sensor.value >= gauge(config.min_rpm)
}

/// Judges one of the judged sensors.
fn judge_sensor(
    config: &Config,
    sensor: &Sensor,
    judged: &[&Sensor],
    extra: &Extra,
    watch: &mut Watch,
) -> Vec<Finding> {
    let mut found = Vec::new();
    let key = sensor.key();
    if extra.is_faulty(sensor) == Some(true) {
        // What a broken probe shows is no reading. One that was never good is one that nothing is connected to.
        if watch.good.contains(&key) {
            let text = format!("{key}: its chip calls the sensor broken or disconnected");
            found.push(
                Finding::degraded(format!("{key} fault"), "hwmon_sensor_fault", text)
                    .action(RepairAction::HardwareInspection, CHECK)
                    .about("sensor", &key)
                    .from_file(sensor.path.clone()),
            );
        }
        return found;
    }
    if extra.is_faulty(sensor) == Some(false) {
        watch.good.insert(key.clone());
    }
    found.extend(beyond(&key, sensor, config.limits(&key)));
    let is_inlet = sensor.kind == Kind::Temperature && config.is_inlet(&key);
    if is_inlet && config.inlet_max > 0 && sensor.value > gauge(config.inlet_max) {
        let text = format!(
            "{key}: the air that comes in has {} °C, more than {} °C",
            sensor.value, config.inlet_max
        );
        found.push(
            Finding::degraded(format!("{key} inlet"), "hwmon_inlet_temperature", text)
                .action(RepairAction::HardwareInspection, COOLING)
                .about("sensor", &key)
                .from_file(sensor.path.clone()),
        );
    }
    if turns(config, sensor) {
        watch.turned.insert(key);
    } else if sensor.kind == Kind::Fan && watch.turned.contains(&key) {
        // If all fans of a chip stand still, they were set to: a laptop on a desk, a board in a quiet mode.
        let others = judged
            .iter()
            .any(|other| other.chip == sensor.chip && turns(config, other));
        if others && !config.may_stop(&key) && !extra.is_switched_off(sensor) {
            let text = format!("{key} turned before and is at {} RPM now", sensor.value);
            found.push(
                Finding::degraded(format!("{key} stopped"), "hwmon_fan_stopped", text)
                    .action(RepairAction::HardwareInspection, REPLACE_FAN)
                    .about("fan", &key)
                    .from_file(sensor.path.clone()),
            );
        }
    }
    found
}

/// Adds the readings of the sensors.
fn shown(mut report: Report, sensors: &[Sensor]) -> Report {
    for sensor in sensors.iter().take(MAX_SENSORS) {
        let labels = [
            ("chip", sensor.chip.as_str()),
            ("sensor", sensor.name.as_str()),
        ];
        report = report.gauge_with(metric(sensor.kind), &labels, sensor.value);
    }
    let shown = sensors.iter().map(|sensor| {
        let value = format!("{} {}", sensor.value, sensor.kind.unit());
        (sensor.key(), json!(value))
    });
    let shown = serde_json::Map::from_iter(shown);
    findings::with_data(report, &json!({ "sensors": shown }))
}

fn metric(kind: Kind) -> &'static str {
    match kind {
        Kind::Temperature => TEMPERATURE,
        Kind::Fan => FAN,
        Kind::Voltage => VOLTAGE,
        Kind::Power => POWER,
    }
}

fn beyond(key: &str, sensor: &Sensor, limits: Limits) -> Option<Finding> {
    let (value, unit) = (sensor.value, sensor.kind.unit());
    let over = |limit: Option<f64>| limit.filter(|limit| value > *limit);
    let under = |limit: Option<f64>| limit.filter(|limit| value < *limit);
    let advice = match sensor.kind {
        Kind::Temperature | Kind::Fan => COOLING,
        Kind::Voltage | Kind::Power => CHECK,
    };
    let critical = over(limits.critical_max)
        .map(|limit| ("more", limit))
        .or_else(|| under(limits.critical_min).map(|limit| ("less", limit)));
    let plain = over(limits.max)
        .map(|limit| ("more", limit))
        .or_else(|| under(limits.min).map(|limit| ("less", limit)));
    // Two stages of one trouble share a key.
    let name = format!("{key} limits");
    let finding = match (critical, plain) {
        (Some((beyond, limit)), _) => {
            let text = format!("{key}: {value} {unit}, {beyond} than the critical {limit} {unit}");
            Finding::unhealthy(name, "hwmon_beyond_critical_limit", text)
        }
        (None, Some((beyond, limit))) => {
            let text = format!("{key}: {value} {unit}, {beyond} than {limit} {unit}");
            Finding::degraded(name, "hwmon_beyond_limit", text)
        }
        (None, None) => return None,
    };
    Some(
        finding
            .action(RepairAction::HardwareInspection, advice)
            .about("sensor", key)
            .from_file(sensor.path.clone()),
    )
}

#[cfg(test)]
mod tests;
