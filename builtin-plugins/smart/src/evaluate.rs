//! The verdict.

use std::collections::{BTreeMap, BTreeSet};

use gpud_sdk::files::gauge;
use gpud_sdk::findings::{self, Finding, Memory};
use gpud_sdk::samples::Samples;
use gpud_sdk::settings::Settings;
use gpud_sdk::{CheckContext, Event, EventType, RepairAction, Report};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::health::{HEAT, Health, NoHealthReason};

/// Gauge: own verdict.
pub const PASSED: &str = "disk_smart_passed";
/// Gauge: temperature.
pub const TEMPERATURE: &str = "disk_smart_temperature_celsius";
/// Gauge: used endurance.
pub const USED: &str = "disk_smart_used_percent";
/// Gauge: spare blocks.
pub const SPARE: &str = "disk_smart_spare_percent";
/// Gauge: errors of the medium.
pub const ERRORS: &str = "disk_smart_media_errors";
/// Gauge: sectors that wait.
pub const PENDING: &str = "disk_smart_pending_sectors";

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "max_used_percent": {
      "description": "Used endurance from which the state is Degraded; 0: not judged.",
      "type": "integer", "minimum": 0, "maximum": 255, "default": 100
    },
    "max_pending_sectors": {
      "description": "Sectors waiting to be replaced that are put up with (SATA).",
      "type": "integer", "minimum": 0, "default": 0
    },
    "ignored_devices": {
      "description": "Devices that are not judged, without /dev/.",
      "type": "array", "maxItems": 64, "items": { "type": "string" }
    }
  }
}"#;

const FAILING: &str = "disk_smart_failing";
const WORN: &str = "disk_smart_worn";
const NEW_ERRORS: &str = "disk_smart_media_errors";
const DAY: u64 = 24 * 3_600;
const SECTORS: &str = "disk_smart_pending_sectors";
const REPLACE: &str = "Save the data and have the disk replaced.";

/// The configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    max_used: u64,
    max_pending: u64,
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
            max_used: settings.number("max_used_percent", 100, 0..=255),
            max_pending: settings.number("max_pending_sectors", 0, 0..=u64::MAX),
            ignored: settings.words("ignored_devices").unwrap_or_default(),
        })
    }
}

/// The answer of one device.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Name below `/dev`.
    pub name: String,
    /// Its health, or why it is not known.
    pub health: Result<Health, UnknownHealth>,
}

/// Why a health is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownHealth {
    /// The meaning of the silence.
    pub silence: NoHealthReason,
    /// In words.
    pub why: String,
}

/// The state that is retained from check to check.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counters {
    /// Errors of the medium at the last check, by device and serial number.
    errors: BTreeMap<String, u64>,
    /// The same over the last day.
    #[serde(default)]
    day: BTreeMap<String, Samples>,
    /// Devices that reported their health before.
    #[serde(alias = "told")]
    answered: BTreeSet<String>,
}

impl Counters {
    /// From what [`Counters::save`] gave.
    pub fn restore(saved: Option<&str>) -> Self {
        saved
            .and_then(|saved| serde_json::from_str(saved).ok())
            .unwrap_or_default()
    }

    /// As text.
    pub fn save(&self) -> String {
        json!(self).to_string()
    }
}

/// Judges one reading. `left_out`: disks that were too many to be asked.
pub fn judge(
    context: &CheckContext,
    config: &Config,
    answers: &[Answer],
    left_out: usize,
    counters: &mut Counters,
    before: &Memory,
) -> (Report, Memory) {
    let (mut found, mut events) = (Vec::new(), Vec::new());
    let (mut asleep, mut untold) = (0_u64, Vec::new());
    for Answer { name, health } in answers {
        match health {
            _ if config.ignored.contains(name) => {}
            Ok(health) => {
                found.extend(judged(config, name, health));
                let (finding, event) = new_errors(context, name, health, counters, before);
                found.extend(finding);
                events.extend(event);
                counters.answered.insert(name.clone());
            }
            Err(UnknownHealth { silence, why }) => {
                match silence {
                    NoHealthReason::Asleep => asleep += 1,
                    NoHealthReason::Nothing if !counters.answered.contains(name) => {
                        untold.push(format!("{name}: {why}"));
                    }
                    NoHealthReason::Nothing | NoHealthReason::Unread => {
                        found.push(unread(name, why))
                    }
                }
                found.extend(held(name, before));
            }
        }
    }
    // Others are no longer there.
    let is_there = |name: &str| answers.iter().any(|one| one.name == name);
    counters.answered.retain(|name| is_there(name));
    let is_of_these = |key: &str| key.split_once(' ').is_some_and(|(name, _)| is_there(name));
    counters.errors.retain(|key, _| is_of_these(key));
    counters.day.retain(|key, _| is_of_these(key));

    let known = answers.iter().filter(|one| one.health.is_ok()).count();
    if known == 0
        && asleep == 0
        && found.is_empty()
        && let Some(first) = untold.first()
    {
        let reason = format!(
            "no disk reports its health here ({})",
            gpud_sdk::incidents::clip(first)
        );
        return (findings::unsupported(context, reason), Memory::default());
    }
    let healthy = healthy(answers.len(), known, asleep, &untold, left_out);
    let (mut report, after) = findings::judge(context, &healthy, &found, before);
    report.events.extend(events);
    (with_readings(report, answers), after)
}

/// The reason of a state without findings.
fn healthy(disks: usize, known: usize, asleep: u64, untold: &[String], left_out: usize) -> String {
    let mut healthy = format!("{known} of {disks} disks are in good health");
    if asleep > 0 {
        healthy.push_str(&format!("; {asleep} asleep and not asked"));
    }
    if let Some(first) = untold.first() {
        healthy.push_str(&format!(
            "; {} without a report ({})",
            untold.len(),
            gpud_sdk::incidents::clip(first)
        ));
    }
    if left_out > 0 {
        healthy.push_str(&format!("; {left_out} more were not asked"));
    }
    healthy
}

/// Adds what the disks answered: metrics, and the document under `data`.
fn with_readings(mut report: Report, answers: &[Answer]) -> Report {
    let mut shown = Vec::new();
    for Answer { name, health } in answers {
        let Ok(health) = health else { continue };
        let labels = [("device", name.as_str())];
        for (metric, value) in [
            (
                PASSED,
                health.passed.map(|passed| f64::from(u8::from(passed))),
            ),
            (TEMPERATURE, health.celsius),
            (USED, health.used),
            (SPARE, health.spare),
            (ERRORS, health.errors.map(gauge)),
            (PENDING, health.pending.map(gauge)),
        ] {
            if let Some(value) = value {
                report.add_gauge(metric, &labels, value);
            }
        }
        shown.push(json!({
            "device": name, "model": health.model, "serial": health.serial,
            "passed": health.passed, "used_percent": health.used, "media_errors": health.errors,
        }));
    }
    findings::with_data(report, &json!({ "disks": shown }))
}

/// A disk that has a health to tell, and did not.
fn unread(name: &str, why: &str) -> Finding {
    let text = format!("{name} cannot be asked for its health ({why})");
    let advice = if why.contains("denied") || why.contains("not permitted") {
        "gpud has to run as root for it."
    } else {
        "See what smartctl -a says of it."
    };
    Finding::degraded(format!("{name} unread"), "disk_smart_unreadable", text)
        .advice(advice)
        .about("disk", name)
}

/// Returns the former findings of a disk that is silent now: they have not ended. Heat may have.
fn held(name: &str, before: &Memory) -> Vec<Finding> {
    let its = before.0.iter().filter(|(key, _)| {
        key.strip_prefix(name)
            .is_some_and(|rest| rest.starts_with(' '))
    });
    let held = its.filter_map(|(key, event)| {
        let finding = match event.as_str() {
            FAILING => {
                let text = format!("{name} reported that it was failing when it last answered");
                Finding::unhealthy(key.clone(), FAILING, text)
            }
            WORN => {
                let text = format!("{name} had used its endurance when it last answered");
                Finding::degraded(key.clone(), WORN, text)
            }
            NEW_ERRORS => {
                let text = format!("{name} had new errors of the medium when it last answered");
                Finding::degraded(key.clone(), NEW_ERRORS, text)
            }
            SECTORS => {
                let text = format!("{name} had sectors that cannot be read when it last answered");
                Finding::degraded(key.clone(), SECTORS, text)
            }
            _ => return None,
        };
        let finding = finding.action(RepairAction::HardwareInspection, REPLACE);
        Some(finding.about("disk", name))
    });
    held.collect()
}

fn judged(config: &Config, name: &str, health: &Health) -> Vec<Finding> {
    let mut found = Vec::new();
    let who = health.who(name);
    if health.warning & HEAT != 0 {
        let mut text = format!("{who} is too hot by its own measure");
        if let Some(celsius) = health.celsius {
            text.push_str(&format!(" ({celsius:.0} °C)"));
        }
        found.push(
            Finding::degraded(format!("{name} heat"), "disk_smart_temperature", text)
                .action(RepairAction::HardwareInspection, "Check fans and air flow."),
        );
    }
    if let Some(said) = health.failure() {
        let mut text = format!("{who} reports that it is failing");
        if !said.is_empty() {
            text.push_str(&format!(": {said}"));
        }
        found.push(
            Finding::unhealthy(format!("{name} failing"), FAILING, text)
                .action(RepairAction::HardwareInspection, REPLACE),
        );
    }
    if let Some(used) = health.used
        && (config.max_used > 0 && used >= gauge(config.max_used) || health.is_only_worn())
    {
        let mut text = format!("{who} has used {used} % of its endurance");
        if health.is_only_worn() {
            text.push_str(", and warns of its reliability for that alone");
        }
        found.push(
            Finding::degraded(format!("{name} endurance"), WORN, text).action(
                RepairAction::HardwareInspection,
                "Plan to have the disk replaced.",
            ),
        );
    }
    if let Some(pending) = health
        .pending
        .filter(|pending| *pending > config.max_pending)
    {
        let sectors = if pending == 1 { "sector" } else { "sectors" };
        let text = format!("{who}: {pending} {sectors} cannot be read");
        found.push(
            Finding::degraded(format!("{name} sectors"), SECTORS, text)
                .action(RepairAction::HardwareInspection, REPLACE),
        );
    }
    found
        .into_iter()
        .map(|one| one.about("disk", name))
        .collect()
}

/// Errors that are new: a finding for a day, and an event each time that there are more.
fn new_errors(
    context: &CheckContext,
    name: &str,
    health: &Health,
    counters: &mut Counters,
    before: &Memory,
) -> (Option<Finding>, Option<Event>) {
    let Some(now) = health.errors else {
        return (None, None);
    };
    let key = format!("{name} {}", health.serial);
    let known = counters.errors.insert(key.clone(), now);
    let samples = counters.day.entry(key);
    let grown = samples
        // Errors that were counted before the first check may be old.
        .or_insert_with(|| Samples::starting_at(known.unwrap_or(now)))
        .add(context.now / 1000, DAY, now);
    let who = health.who(name);
    let finding = (grown > 0).then(|| {
        let text =
            format!("{who}: {grown} new errors of the medium within a day, {now} in its life");
        Finding::degraded(format!("{name} errors"), NEW_ERRORS, text)
            .action(RepairAction::HardwareInspection, REPLACE)
            .about("disk", name)
    });
    let is_open = before.0.contains_key(&format!("{name} errors"));
    let new = known.and_then(|known| now.checked_sub(known));
    let event = new.filter(|new| *new > 0 && is_open).map(|new| {
        let text = format!("{who}: {new} new errors of the medium, {now} in its life");
        Event::new(context.now, NEW_ERRORS, EventType::Warning, text)
    });
    (finding, event)
}

#[cfg(test)]
mod tests;
