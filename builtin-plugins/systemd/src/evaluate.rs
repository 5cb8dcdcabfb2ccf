//! The verdict.

use std::collections::BTreeMap;

use gpud_sdk::files::gauge;
use gpud_sdk::findings::{self, Finding, Memory};
use gpud_sdk::samples::Samples;
use gpud_sdk::{CheckContext, EventType, Report, Subject};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::config::Config;
use crate::units::Unit;

/// Gauge: failed units.
pub const FAILED: &str = "systemd_failed_units";
/// Gauge: a watched unit is active.
pub const ACTIVE: &str = "systemd_unit_active";
/// Gauge: restarts of a watched unit.
pub const RESTARTS: &str = "systemd_unit_restarts";

const HOUR: u64 = 3_600;
const ADVICE: &str = "See systemctl status and journalctl -u of the unit.";
/// Failed units that the reason names.
const MAX_NAMED: usize = 5;

/// Restarts of the watched units, of one boot.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Restarts {
    boot_id: String,
    units: BTreeMap<String, Samples>,
}

impl Restarts {
    /// From what [`Restarts::save`] gave in this boot.
    pub fn restore(saved: Option<&str>, boot_id: &str) -> Self {
        let saved: Option<Self> = saved.and_then(|saved| serde_json::from_str(saved).ok());
        saved
            .filter(|saved| saved.boot_id == boot_id)
            .unwrap_or_else(|| Self {
                boot_id: boot_id.to_owned(),
                units: BTreeMap::new(),
            })
    }

    /// As text.
    pub fn save(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// All that is judged.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inputs {
    /// Names of all failed units.
    pub failed: Vec<String>,
    /// The units that were asked for by name.
    pub watched: Vec<Unit>,
}

/// Judges one reading.
pub fn judge(
    context: &CheckContext,
    config: &Config,
    inputs: &Inputs,
    restarts: &mut Restarts,
    before: &Memory,
) -> (Report, Memory) {
    let mut found = Vec::new();
    for name in &config.required {
        let unit = installed(inputs).find(|unit| unit.name == *name);
        found.extend(required(name, unit));
    }
    found.extend(failed(config, inputs));
    found.extend(looping(config, inputs));
    found.extend(restarting(config, inputs, restarts, context.now / 1000));
    restarts
        .units
        .retain(|name, _| inputs.watched.iter().any(|unit| unit.name == *name));
    for finding in &mut found {
        let unit = finding.key.split(' ').next().unwrap_or_default();
        finding.subject = Some(Subject::Unit(unit.to_owned()));
    }

    let (report, after) = findings::judge(context, &healthy(inputs), &found, before);
    (with_readings(report, inputs), after)
}

fn installed(inputs: &Inputs) -> impl Iterator<Item = &Unit> {
    inputs.watched.iter().filter(|unit| unit.installed)
}

/// Units that have failed, without those that are required.
fn failed(config: &Config, inputs: &Inputs) -> Vec<Finding> {
    let others = inputs
        .failed
        .iter()
        .filter(|name| !config.required.contains(name));
    let finding = |name: &String| {
        let result = installed(inputs)
            .find(|unit| unit.name == *name)
            .map(|unit| unit.result.as_str());
        let text = match result.filter(|result| !matches!(*result, "" | "success")) {
            Some(result) => format!("{name} has failed ({result})"),
            None => format!("{name} has failed"),
        };
        if config.any || config.important.contains(name) {
            Finding::degraded(name.clone(), "systemd_unit_failed", text).advice(ADVICE)
        } else {
            // Most machines have one that nobody misses.
            Finding {
                event_type: EventType::Warning,
                ..Finding::note(name.clone(), "systemd_unit_failed", text)
            }
        }
    };
    others.map(finding).collect()
}

/// Units in a crash loop, without those that are required.
fn looping(config: &Config, inputs: &Inputs) -> Vec<Finding> {
    let loops = |unit: &&Unit| unit.is_in_crash_loop() && !config.required.contains(&unit.name);
    let finding = |unit: &Unit| {
        let mut text = format!(
            "{} is being restarted over and over: {} ({}), last result {}",
            unit.name, unit.active, unit.sub, unit.result
        );
        if let Some(count) = unit.restarts {
            text.push_str(&format!("; {count} restarts"));
        }
        Finding::degraded(unit.name.clone(), "systemd_unit_restarting", text).advice(ADVICE)
    };
    installed(inputs).filter(loops).map(finding).collect()
}

/// Units that were restarted too often within an hour.
fn restarting(config: &Config, inputs: &Inputs, restarts: &mut Restarts, now: u64) -> Vec<Finding> {
    let mut found = Vec::new();
    for unit in installed(inputs) {
        let Some(count) = unit.restarts else { continue };
        let kept = restarts.units.entry(unit.name.clone());
        let within = kept
            .or_insert_with(|| Samples::starting_at(count))
            .add(now, HOUR, count);
        if within >= config.max_restarts && !unit.is_in_crash_loop() {
            let text = format!("{} was restarted {within} times within an hour", unit.name);
            let key = format!("{} restarts", unit.name);
            found.push(Finding::degraded(key, "systemd_unit_restarting", text).advice(ADVICE));
        }
    }
    found
}

/// Adds what the units are: metrics, and the document under `data`.
fn with_readings(report: Report, inputs: &Inputs) -> Report {
    let mut report = report.gauge(FAILED, gauge(inputs.failed.len() as u64));
    for unit in installed(inputs) {
        let labels = [("unit", unit.name.as_str())];
        let active = u8::from(unit.active == "active");
        report.add_gauge(ACTIVE, &labels, f64::from(active));
        if let Some(count) = unit.restarts {
            report.add_gauge(RESTARTS, &labels, gauge(count));
        }
    }
    let watched: BTreeMap<&str, String> = installed(inputs)
        .map(|unit| {
            (
                unit.name.as_str(),
                format!("{} ({})", unit.active, unit.sub),
            )
        })
        .collect();
    let data = json!({ "failed": inputs.failed, "watched": watched });
    findings::with_data(report, &data)
}

fn required(name: &str, unit: Option<&Unit>) -> Option<Finding> {
    let text = match unit {
        None => format!("{name} is not installed"),
        // What reloads, runs.
        Some(unit) if matches!(unit.active.as_str(), "active" | "reloading" | "refreshing") => {
            return None;
        }
        // Right after boot, for example; a start that takes too long ends as a failure. One that is tried again is one.
        Some(unit) if unit.active == "activating" && !unit.sub.starts_with("auto-restart") => {
            let text = format!("{name} must run and is still being started ({})", unit.sub);
            return Some(Finding::degraded(name, "systemd_unit_starting", text).advice(ADVICE));
        }
        Some(unit) => format!("{name} must run and is {} ({})", unit.active, unit.sub),
    };
    Some(Finding::unhealthy(name, "systemd_unit_not_running", text).advice(ADVICE))
}

fn healthy(inputs: &Inputs) -> String {
    let count = inputs.failed.len();
    if count == 0 {
        return "no failed units".to_owned();
    }
    let mut names: Vec<&str> = inputs
        .failed
        .iter()
        .take(MAX_NAMED)
        .map(String::as_str)
        .collect();
    if count > MAX_NAMED {
        names.push("…");
    }
    format!(
        "no trouble with watched units; {count} other failed: {}",
        names.join(", ")
    )
}

#[cfg(test)]
mod tests;
