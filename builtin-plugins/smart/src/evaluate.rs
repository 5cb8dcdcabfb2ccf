//! The verdict.

use std::collections::BTreeMap;

use gpud_builtin_shared::files::gauge;
use gpud_builtin_shared::findings::{self, Finding, Memory};
use gpud_builtin_shared::settings::Settings;
use gpud_sdk::{CheckContext, Event, EventType, RepairAction, Report};
use serde_json::json;

use crate::health::{self, Health};

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

const REPLACE: &str = "Save the data and have the disk replaced.";
/// The bit of the critical warning that heat sets: it goes when the disk cools down.
const HEAT: u64 = 1 << 1;

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

/// What one device said.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Name below `/dev`.
    pub name: String,
    /// Its health, or why it is not known.
    pub health: Result<Health, String>,
}

/// Errors of the medium at the last check, by device and serial number.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counters(BTreeMap<String, u64>);

impl Counters {
    /// From what [`Counters::save`] gave.
    pub fn restore(saved: Option<&str>) -> Self {
        Self(
            saved
                .and_then(|saved| serde_json::from_str(saved).ok())
                .unwrap_or_default(),
        )
    }

    /// As text.
    pub fn save(&self) -> String {
        json!(self.0).to_string()
    }
}

/// Judges one reading.
pub fn judge(
    context: &CheckContext,
    config: &Config,
    answers: &[Answer],
    counters: &mut Counters,
    before: &Memory,
) -> (Report, Memory) {
    let (mut found, mut events, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    for Answer { name, health } in answers {
        match health {
            _ if config.ignored.contains(name) => {}
            Err(why) => unknown.push(format!("{name}: {why}")),
            Ok(health) => {
                found.extend(judged(config, name, health));
                events.extend(new_errors(context, name, health, counters));
            }
        }
    }
    let (known, asked) = (
        answers.iter().filter(|one| one.health.is_ok()).count(),
        answers.len(),
    );
    let mut healthy = format!("{known} of {asked} disks find themselves healthy");
    if known == 0 {
        "no disk tells its health".clone_into(&mut healthy);
    }
    if let Some(first) = unknown.first() {
        healthy.push_str(&format!(
            "; {} cannot be told ({})",
            unknown.len(),
            gpud_sdk::incidents::clip(first)
        ));
    }
    let (mut report, after) = findings::judge(context, &healthy, &found, before);
    report.events.extend(events);
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
                report = report.gauge_with(metric, &labels, value);
            }
        }
        shown.push(json!({
            "device": name, "model": health.model, "serial": health.serial,
            "passed": health.passed, "used_percent": health.used, "media_errors": health.errors,
        }));
    }
    (
        findings::with_data(report, &json!({ "disks": shown })),
        after,
    )
}

fn judged(config: &Config, name: &str, health: &Health) -> Vec<Finding> {
    let mut found = Vec::new();
    let said = health::warnings(health.warning & !HEAT);
    if health.warning & HEAT != 0 {
        let text = format!("{name} is too hot by its own measure");
        found.push(
            Finding::degraded(format!("{name} heat"), "disk_smart_temperature", text)
                .action(RepairAction::HardwareInspection, "Check fans and air flow."),
        );
    }
    // Heat alone makes an NVMe disk fail its own test, too.
    let failed = health.passed == Some(false) && health.warning != HEAT;
    if failed || !said.is_empty() {
        let mut text = format!("{name} finds itself failing");
        if !said.is_empty() {
            text.push_str(&format!(": {}", said.join(", ")));
        }
        found.push(
            Finding::unhealthy(format!("{name} failing"), "disk_smart_failing", text)
                .action(RepairAction::HardwareInspection, REPLACE),
        );
    }
    if let Some(used) = health.used
        && config.max_used > 0
        && used >= gauge(config.max_used)
    {
        let text = format!("{name} has used {used} % of its endurance");
        found.push(
            Finding::degraded(format!("{name} endurance"), "disk_smart_worn", text).action(
                RepairAction::HardwareInspection,
                "Plan to have the disk replaced.",
            ),
        );
    }
    if let Some(pending) = health
        .pending
        .filter(|pending| *pending > config.max_pending)
    {
        let text = format!("{name}: {pending} sectors cannot be read");
        found.push(
            Finding::degraded(
                format!("{name} sectors"),
                "disk_smart_pending_sectors",
                text,
            )
            .action(RepairAction::HardwareInspection, REPLACE),
        );
    }
    found
        .into_iter()
        .map(|one| one.about("disk", name))
        .collect()
}

fn new_errors(
    context: &CheckContext,
    name: &str,
    health: &Health,
    counters: &mut Counters,
) -> Option<Event> {
    let now = health.errors?;
    let before = counters
        .0
        .insert(format!("{name} {}", health.serial), now)?;
    let new = now.checked_sub(before).filter(|new| *new > 0)?;
    let text = format!("{name}: {new} new errors of the medium, {now} in its life");
    Some(Event::new(
        context.now,
        "disk_smart_media_errors",
        EventType::Warning,
        text,
    ))
}

#[cfg(test)]
mod tests;
