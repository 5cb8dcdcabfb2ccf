//! The verdict.

use gpud_builtin_smart::health::{HEAT, Health};
use gpud_pack_common::{hold, names};
use gpud_sdk::files::gauge;
use gpud_sdk::findings::{self, Finding, Memory};
use gpud_sdk::incidents::clip;
use gpud_sdk::settings::Settings;
use gpud_sdk::{CheckContext, RepairAction, Report, Trigger};
use serde_json::json;

use crate::counters::{Counters, Growth};
use crate::wear::Wear;

/// Gauge: own verdict.
pub const PASSED: &str = "storage_disk_passed";
/// Gauge: temperature.
pub const TEMPERATURE: &str = "storage_disk_temperature_celsius";
/// Gauge: used endurance.
pub const USED: &str = "storage_disk_used_percent";
/// Gauge: spare blocks.
pub const SPARE: &str = "storage_disk_spare_percent";
/// Gauge: errors of the medium.
pub const ERRORS: &str = "storage_disk_media_errors";
/// Gauge: sectors that were replaced.
pub const REPLACED: &str = "storage_disk_replaced_sectors";
/// Gauge: failed transfers.
pub const CABLE: &str = "storage_disk_failed_transfers";

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "max_used_percent": {
      "description": "Used endurance from which the state is Degraded; 0: not judged.",
      "type": "integer", "minimum": 0, "maximum": 255, "default": 90
    },
    "spare_margin_percent": {
      "description": "How close spare blocks may get to the disk's own threshold (NVMe).",
      "type": "integer", "minimum": 0, "maximum": 100, "default": 5
    },
    "max_replaced_sectors": {
      "description": "Replaced sectors (SATA) or grown defects (SAS) that are put up with.",
      "type": "integer", "minimum": 0, "default": 50
    },
    "max_pending_sectors": {
      "description": "Sectors waiting to be replaced that are put up with (SATA).",
      "type": "integer", "minimum": 0, "default": 0
    },
    "window_hours": {
      "description": "The window in which new errors are counted.",
      "type": "integer", "minimum": 1, "maximum": 720, "default": 24
    },
    "max_new_media_errors": {
      "description": "New errors of the medium within the window that are put up with.",
      "type": "integer", "minimum": 0, "default": 0
    },
    "max_new_failed_transfers": {
      "description": "New failed transfers between disk and controller within the window that are put up with (SATA).",
      "type": "integer", "minimum": 0, "default": 10
    },
    "expected_disks": {
      "description": "Disks that have to report their health; fewer are Degraded. 0: not judged.",
      "type": "integer", "minimum": 0, "maximum": 256, "default": 0
    },
    "ignored_disks": {
      "description": "Disks that are not judged, without /dev/; * stands for any text.",
      "type": "array", "maxItems": 64, "items": { "type": "string" }, "default": []
    }
  }
}"#;

const REPLACE: &str = "Save the data and have the disk replaced.";
const PLAN: &str = "Plan to have the disk replaced.";
const CABLES: &str = "Check the disk's cable, backplane and slot.";
const GONE: &str = "Check the disk's cable, backplane and slot. If it was taken out on purpose, set the \
    component healthy.";
/// The configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    max_used: u64,
    spare_margin: u64,
    max_replaced: u64,
    max_pending: u64,
    window_seconds: u64,
    max_new_errors: u64,
    max_new_cable: u64,
    /// Disks that have to report their health.
    pub expected: u64,
    ignored: Vec<String>,
}

impl Config {
    /// Reads the document.
    ///
    /// # Errors
    /// In words, when it is not JSON.
    pub fn parse(document: &str) -> Result<Self, String> {
        let settings = Settings::parse(document)?;
        let any = 0..=u64::MAX;
        Ok(Self {
            max_used: settings.number("max_used_percent", 90, 0..=255),
            spare_margin: settings.number("spare_margin_percent", 5, 0..=100),
            max_replaced: settings.number("max_replaced_sectors", 50, any.clone()),
            max_pending: settings.number("max_pending_sectors", 0, any.clone()),
            window_seconds: settings.number("window_hours", 24, 1..=720) * 3_600,
            max_new_errors: settings.number("max_new_media_errors", 0, any.clone()),
            max_new_cable: settings.number("max_new_failed_transfers", 10, any),
            expected: settings.number("expected_disks", 0, 0..=256),
            ignored: settings.words("ignored_disks").unwrap_or_default(),
        })
    }

    fn ignores(&self, name: &str) -> bool {
        names::any_fits(&self.ignored, name)
    }
}

/// The answer of a disk.
#[derive(Debug, Clone, PartialEq)]
pub enum DiskAnswer {
    /// This.
    Health(Box<(Health, Wear)>),
    /// Nothing, since it sleeps and was not woken up.
    Asleep,
    /// Nothing, for this reason.
    Nothing(String),
}

/// One disk.
#[derive(Debug, Clone, PartialEq)]
pub struct Disk {
    /// Below `/dev`, or a controller's device and a number.
    pub name: String,
    /// What it said.
    pub said: DiskAnswer,
}

/// Judges one reading.
pub fn judge(
    context: &CheckContext,
    config: &Config,
    disks: &[Disk],
    counters: &mut Counters,
    before: &Memory,
) -> (Report, Memory) {
    if context.trigger == Trigger::SetHealthy {
        let answered = |disk: &Disk| !matches!(disk.said, DiskAnswer::Nothing(_));
        counters
            .forget_all_but(|name| disks.iter().any(|disk| disk.name == name && answered(disk)));
    }
    let mut found = Vec::new();
    let mut silent: Vec<&str> = Vec::new();
    let mut unknown = Vec::new();
    let (mut known, mut asleep) = (0_u64, 0_u64);
    for Disk { name, said } in disks {
        match said {
            _ if config.ignores(name) => {}
            DiskAnswer::Health(answer) => {
                known += 1;
                let (health, wear) = answer.as_ref();
                let growth = counters.take(
                    context.now / 1000,
                    config.window_seconds,
                    name,
                    &health.serial,
                    health.errors,
                    wear.cable,
                );
                found.extend(judged(config, name, health, wear, growth));
            }
            DiskAnswer::Asleep => {
                asleep += 1;
                silent.push(name);
            }
            DiskAnswer::Nothing(why) if counters.knows(name) => {
                silent.push(name);
                found.push(not_reported(counters, name, clip(why)));
            }
            DiskAnswer::Nothing(why) => unknown.push(format!("{name}: {why}")),
        }
    }
    let gone: Vec<String> = counters
        .names()
        .filter(|name| !config.ignores(name) && !disks.iter().any(|disk| disk.name == **name))
        .map(str::to_owned)
        .collect();
    for name in &gone {
        silent.push(name);
        found.push(not_reported(counters, name, "the disk is gone"));
    }
    let there = known + asleep;
    if there < config.expected {
        let text = format!(
            "{there} disks report their health, expected {}",
            config.expected
        );
        found.push(
            Finding::degraded("disks", "storage_disk_missing", text)
                .action(RepairAction::HardwareInspection, CABLES),
        );
    }
    // What a disk that says nothing had is not over.
    let is_its = |key: &str, _: &str| {
        silent
            .iter()
            .any(|name| key.split('|').next() == Some(*name))
    };
    let open = hold::open(before, &found, is_its);
    let healthy = healthy_reason(known, asleep, &unknown);
    let (mut report, mut after) = findings::judge(context, &healthy, &found, before);
    hold::keep(&mut report, &mut after, before, &open);
    (shown(report, disks), after)
}

/// Returns the reason of a report in which nothing is wrong.
fn healthy_reason(known: u64, asleep: u64, unknown: &[String]) -> String {
    let mut reason = format!("disks in good health: {known}");
    if asleep > 0 {
        reason.push_str(&format!("; {asleep} asleep"));
    }
    if let Some(first) = unknown.first() {
        reason.push_str(&format!(
            "; {} do not report it ({})",
            unknown.len(),
            clip(first)
        ));
    }
    reason
}

fn not_reported(counters: &Counters, name: &str, why: &str) -> Finding {
    let who = match counters.serial(name) {
        Some(serial) => format!("{name} (serial {serial})"),
        None => name.to_owned(),
    };
    let text = format!("{who} does not report its health any more ({why})");
    Finding::degraded(format!("{name}|silent"), "storage_disk_silent", text)
        .action(RepairAction::HardwareInspection, GONE)
        .about("disk", name)
}

fn judged(
    config: &Config,
    name: &str,
    health: &Health,
    wear: &Wear,
    growth: Growth,
) -> Vec<Finding> {
    let who = health.who(name);
    let mut found = own_verdict(config, name, &who, health);
    found.extend(counted(config, name, &who, health, wear, growth));
    found
        .into_iter()
        .map(|finding| finding.about("disk", name))
        .collect()
}

fn degraded(name: &str, key: &str, event: &'static str, text: String) -> Finding {
    Finding::degraded(format!("{name}|{key}"), event, text)
}

/// What the disk says of its heat, its health and its wear.
fn own_verdict(config: &Config, name: &str, who: &str, health: &Health) -> Vec<Finding> {
    let degraded = |key: &str, event, text| degraded(name, key, event, text);
    let inspect = RepairAction::HardwareInspection;
    let mut found = Vec::new();
    if health.warning & HEAT != 0 {
        let text = format!("{who} is too hot by its own measure");
        let finding = degraded("heat", "storage_disk_heat", text);
        found.push(finding.action(inspect.clone(), "Check fans and air flow."));
    }
    if let Some(said) = health.failure() {
        let mut text = format!("{who} reports that it is failing");
        if !said.is_empty() {
            text.push_str(&format!(": {said}"));
        }
        let finding = Finding::unhealthy(format!("{name}|failing"), "storage_disk_failing", text);
        found.push(finding.action(inspect.clone(), REPLACE));
    } else if let (Some(spare), Some(threshold)) = (health.spare, health.spare_threshold)
        && spare <= gauge(threshold.saturating_add(config.spare_margin))
    {
        let text =
            format!("{who} has {spare} % of its spare blocks left, and fails below {threshold} %");
        found.push(degraded("spare", "storage_disk_spare", text).action(inspect.clone(), PLAN));
    }
    if let Some(used) = health.used
        && (config.max_used > 0 && used >= gauge(config.max_used) || health.is_only_worn())
    {
        let mut text = format!("{who} has used {used} % of its endurance");
        if health.is_only_worn() {
            text.push_str(", and warns of its reliability for that alone");
        }
        found.push(degraded("endurance", "storage_disk_worn", text).action(inspect.clone(), PLAN));
    }
    found
}

/// What the disk counts: sectors, and errors that are new.
fn counted(
    config: &Config,
    name: &str,
    who: &str,
    health: &Health,
    wear: &Wear,
    growth: Growth,
) -> Vec<Finding> {
    let degraded = |key: &str, event, text| degraded(name, key, event, text);
    let inspect = RepairAction::HardwareInspection;
    let mut found = Vec::new();
    for (count, limit, key, event, words, advice) in [
        (
            health.pending,
            config.max_pending,
            "pending",
            "storage_disk_pending",
            "sectors cannot be read",
            REPLACE,
        ),
        (
            wear.replaced,
            config.max_replaced,
            "replaced",
            "storage_disk_replaced",
            "sectors were replaced",
            PLAN,
        ),
    ] {
        if let Some(count) = count.filter(|count| *count > limit) {
            let text = format!("{who}: {count} {words}");
            found.push(degraded(key, event, text).action(inspect.clone(), advice));
        }
    }
    let hours = config.window_seconds / 3_600;
    for (count, limit, key, event, words, advice) in [
        (
            growth.errors,
            config.max_new_errors,
            "errors",
            "storage_disk_media_errors",
            "new errors of the medium",
            REPLACE,
        ),
        (
            growth.cable,
            config.max_new_cable,
            "cable",
            "storage_disk_cable",
            "transfers failed between disk and controller",
            CABLES,
        ),
    ] {
        if count > limit {
            let text = format!("{who}: {count} {words} within {hours} h");
            found.push(degraded(key, event, text).action(inspect.clone(), advice));
        }
    }
    found
}

fn shown(mut report: Report, disks: &[Disk]) -> Report {
    let mut shown = Vec::new();
    for Disk { name, said } in disks {
        let DiskAnswer::Health(answer) = said else {
            continue;
        };
        let (health, wear) = answer.as_ref();
        let passed = health.passed.map(|passed| f64::from(u8::from(passed)));
        for (metric, value) in [
            (PASSED, passed),
            (TEMPERATURE, health.celsius),
            (USED, health.used),
            (SPARE, health.spare),
            (ERRORS, health.errors.map(gauge)),
            (REPLACED, wear.replaced.map(gauge)),
            (CABLE, wear.cable.map(gauge)),
        ] {
            if let Some(value) = value {
                report = report.gauge_with(metric, &[("disk", name.as_str())], value);
            }
        }
        shown.push(json!({
            "disk": name, "model": health.model, "serial": health.serial, "passed": health.passed,
            "used_percent": health.used, "spare_percent": health.spare,
            "minutes_above_critical_temperature": wear.critical_minutes,
        }));
    }
    findings::with_data(report, &json!({ "disks": shown }))
}

#[cfg(test)]
mod tests;
