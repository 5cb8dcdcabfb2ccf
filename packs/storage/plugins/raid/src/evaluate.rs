//! The verdict.

use std::collections::BTreeMap;

use gpud_pack_common::hold;
use gpud_sdk::files::gauge;
use gpud_sdk::findings::{self, Finding, Memory};
use gpud_sdk::settings::Settings;
use gpud_sdk::{CheckContext, RepairAction, Report};
use serde_json::json;

use crate::storcli::{Answer, Backup, Controller, Disk, Volume};

/// Gauge: virtual drives by state.
pub const VOLUMES: &str = "storage_raid_virtual_drives";
/// Gauge: physical drives by state.
pub const DISKS: &str = "storage_raid_physical_drives";
/// Gauge: temperature of a controller.
pub const TEMPERATURE: &str = "storage_raid_controller_temperature_celsius";

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "expected_controllers": {
      "description": "Controllers that have to answer; fewer are Degraded. 0: not judged.",
      "type": "integer", "minimum": 0, "maximum": 16, "default": 0
    },
    "min_hot_spares": {
      "description": "Hot spares that a controller with virtual drives has to have; fewer are Degraded. 0: not judged.",
      "type": "integer", "minimum": 0, "maximum": 64, "default": 0
    },
    "max_controller_celsius": {
      "description": "Temperature of a controller above which the state is Degraded; 0: not judged.",
      "type": "integer", "minimum": 0, "maximum": 200, "default": 105
    },
    "ignored_slots": {
      "description": "Physical drives that are not judged, by controller, enclosure and slot: \"c0/64:3\".",
      "type": "array", "maxItems": 256, "items": { "type": "string" }, "default": []
    }
  }
}"#;

const REPLACE: &str =
    "Have the failed disk replaced; the controller rebuilds by itself or with a hot spare.";
const OFFLINE: &str = "Data may be lost. Have the controller's log looked at before a disk is pulled or a drive \
    forced online.";
const BATTERY: &str = "Have the battery or capacitor of the controller's cache replaced; until then writes are slower.";
const LEARN: &str = "During a learn cycle of the battery that is so for hours; if it stays, look into the controller's log.";
const CONTROLLER: &str =
    "Look into the controller's log (show events) and have the controller checked.";

/// The configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Controllers that have to answer.
    pub controllers: u64,
    spares: u64,
    celsius: u64,
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
            controllers: settings.number("expected_controllers", 0, 0..=16),
            spares: settings.number("min_hot_spares", 0, 0..=64),
            celsius: settings.number("max_controller_celsius", 105, 0..=200),
            ignored: settings.words("ignored_slots").unwrap_or_default(),
        })
    }
}

/// Judges what the controllers say, or why they say nothing.
pub fn judge(
    context: &CheckContext,
    config: &Config,
    answer: Result<&Answer, &str>,
    before: &Memory,
) -> (Report, Memory) {
    let Answer {
        controllers,
        unread,
    } = match answer {
        Ok(answer) => answer,
        Err(why) => {
            let open = hold::open(before, &[], |_, name| name != "storage_raid_unreadable");
            let what = "the RAID controllers";
            let found =
                hold::unreadable("controllers", "storage_raid_unreadable", what, why, &open);
            let (mut report, mut after) = findings::judge(context, "", &[found], before);
            hold::keep(&mut report, &mut after, before, &open);
            return (report, after);
        }
    };
    let mut found = Vec::new();
    let count = controllers.len() as u64;
    if count < config.controllers {
        let text = format!(
            "{count} controllers answer, expected {}",
            config.controllers
        );
        found.push(
            Finding::degraded(
                "controllers missing",
                "storage_raid_controller_missing",
                text,
            )
            .action(RepairAction::HardwareInspection, CONTROLLER),
        );
    }
    for controller in controllers {
        found.extend(judged(config, controller));
    }
    let is_unread = |key: &str| {
        let at = key.split(['/', ' ']).next().unwrap_or_default();
        unread.iter().any(|(number, _)| at == format!("c{number}"))
    };
    let open = hold::open(before, &found, |key, name| {
        name != "storage_raid_unreadable" && is_unread(key)
    });
    for (number, why) in unread {
        let at = format!("c{number}");
        let own: Vec<&str> = open
            .iter()
            .filter(|key| key.split(['/', ' ']).next() == Some(at.as_str()))
            .copied()
            .collect();
        let key = format!("{at} unread");
        let what = format!("controller {at}");
        found.push(hold::unreadable(
            &key,
            "storage_raid_unreadable",
            &what,
            why,
            &own,
        ));
    }
    let volumes: usize = controllers.iter().map(|one| one.volumes.len()).sum();
    let disks: usize = controllers.iter().map(|one| one.disks.len()).sum();
    let healthy = format!(
        "{count} controllers with {volumes} virtual and {disks} physical drives, none failed"
    );
    let (mut report, mut after) = findings::judge(context, &healthy, &found, before);
    hold::keep(&mut report, &mut after, before, &open);
    (shown(report, controllers), after)
}

/// Adds the drives of the controllers.
fn shown(mut report: Report, controllers: &[Controller]) -> Report {
    let mut shown = Vec::new();
    for one in controllers {
        let number = format!("c{}", one.number);
        for (metric, states) in [
            (
                VOLUMES,
                one.volumes
                    .iter()
                    .map(|one| one.state.as_str())
                    .collect::<Vec<_>>(),
            ),
            (DISKS, one.disks.iter().map(Disk::condition).collect()),
        ] {
            let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
            for state in states {
                *counts.entry(state).or_default() += 1;
            }
            for (state, count) in counts {
                let labels = [("controller", number.as_str()), ("state", state)];
                report = report.gauge_with(metric, &labels, gauge(count));
            }
        }
        if let Some(celsius) = one.celsius {
            report = report.gauge_with(TEMPERATURE, &[("controller", &number)], gauge(celsius));
        }
        let volumes: Vec<String> = one
            .volumes
            .iter()
            .map(|one| format!("{} {} {}", one.id, one.level, one.state))
            .collect();
        shown.push(json!({
            "controller": number, "model": one.model, "serial": one.serial, "status": one.status,
            "virtual_drives": volumes, "physical_drives": one.disks.len(),
        }));
    }
    findings::with_data(report, &json!({ "controllers": shown }))
}

fn judged(config: &Config, controller: &Controller) -> Vec<Finding> {
    let at = format!("c{}", controller.number);
    let mut found: Vec<Finding> = Vec::new();
    found.extend(controller.volumes.iter().filter_map(|one| volume(&at, one)));
    let disks = controller
        .disks
        .iter()
        .filter(|disk| !config.ignored.contains(&format!("{at}/{}", disk.slot)));
    found.extend(disks.filter_map(|one| disk(&at, one)));
    let backups = controller.backups.iter();
    found.extend(backups.filter_map(|one| backup(controller, one)));
    if controller.predicted > 0 {
        let text = format!(
            "{at} counts {} disks that are about to fail",
            controller.predicted
        );
        let key = format!("{at} predicted");
        found.push(
            Finding::degraded(key, "storage_raid_disk_failing", text)
                .action(RepairAction::HardwareInspection, REPLACE),
        );
    }
    let spares = controller
        .disks
        .iter()
        .filter(|disk| matches!(disk.condition(), "GHS" | "DHS"))
        .count() as u64;
    if spares < config.spares && !controller.volumes.is_empty() {
        let text = format!("{at} has {spares} hot spares, expected {}", config.spares);
        found.push(
            Finding::degraded(format!("{at} spares"), "storage_raid_hot_spares", text)
                .action(RepairAction::HardwareInspection, REPLACE),
        );
    }
    if let Some(celsius) = controller.celsius
        && config.celsius > 0
        && celsius > config.celsius
    {
        let text = format!("{at} has {celsius} °C, more than {} °C", config.celsius);
        found.push(
            Finding::degraded(format!("{at} heat"), "storage_raid_temperature", text)
                .action(RepairAction::HardwareInspection, "Check fans and air flow."),
        );
    }
    if controller.memory_errors > 0 {
        let text = format!(
            "{at}: {} uncorrectable errors of the controller's memory",
            controller.memory_errors
        );
        found.push(
            Finding::degraded(format!("{at} memory"), "storage_raid_memory_errors", text)
                .action(RepairAction::HardwareInspection, CONTROLLER),
        );
    }
    let explained = found.iter().any(|one| !one.event.ends_with("_note"));
    found.extend(status(&at, &controller.status, explained));
    found
        .into_iter()
        .map(|finding| match finding.subject {
            Some(_) => finding,
            None => finding.about("controller", &at),
        })
        .collect()
}

/// Judges what a controller says of itself. `explained` says that its drives say what the trouble is.
fn status(at: &str, status: &str, explained: bool) -> Option<Finding> {
    let key = format!("{at} status");
    let finding = match status {
        "" | "Optimal" | "OK" | "Ok" => return None,
        "Failed" => Finding::unhealthy(
            key,
            "storage_raid_controller_failed",
            format!("{at} has failed"),
        ),
        // A controller whose firmware has stopped fails every access.
        status if status.to_lowercase().contains("lock") => Finding::unhealthy(
            key,
            "storage_raid_controller_failed",
            format!("{at} says {status}: it answers no access to its drives"),
        ),
        _ if explained => return None,
        status => Finding::degraded(
            key,
            "storage_raid_controller",
            format!("{at} says {status}"),
        ),
    };
    Some(finding.action(RepairAction::HardwareInspection, CONTROLLER))
}

fn volume(at: &str, volume: &Volume) -> Option<Finding> {
    let Volume {
        id,
        level,
        state,
        name,
    } = volume;
    let mut what = format!("{at}/{id} ({level}");
    if !name.is_empty() {
        what.push_str(&format!(", {name}"));
    }
    what.push(')');
    let key = format!("{at}/{id}");
    let finding = match state.as_str() {
        "" | "Optl" | "Cac" | "HD" | "TRANS" => return None,
        "OfLn" => Finding::unhealthy(key, "storage_raid_offline", format!("{what} is offline"))
            .action(RepairAction::HardwareInspection, OFFLINE),
        "Dgrd" => {
            let text = format!("{what} is degraded: another disk less may cost its data");
            Finding::degraded(key, "storage_raid_degraded", text)
                .action(RepairAction::HardwareInspection, REPLACE)
        }
        "Pdgd" => {
            let text = format!("{what} is partially degraded");
            Finding::degraded(key, "storage_raid_partially_degraded", text)
                .action(RepairAction::HardwareInspection, REPLACE)
        }
        "Rec" => Finding::degraded(
            key,
            "storage_raid_recovering",
            format!("{what} is recovering"),
        ),
        other => {
            let text = format!("{what} is in the state {other}, which gpud does not know");
            Finding::degraded(key, "storage_raid_unknown_state", text)
        }
    };
    Some(finding.about("virtual drive", &format!("{at}/{id}")))
}

fn disk(at: &str, disk: &Disk) -> Option<Finding> {
    let place = format!("{at}/{}", disk.slot);
    let about = [disk.model.as_str(), disk.serial.as_str()];
    let about = match about {
        ["", ""] => String::new(),
        [model, ""] => format!(" ({model})"),
        ["", serial] => format!(" (serial {serial})"),
        [model, serial] => format!(" ({model}, serial {serial})"),
    };
    let what = format!("disk {place}{about}");
    let failed = |text: &str| {
        let text = format!("{what} {text}");
        Finding::degraded(place.clone(), "storage_raid_disk_failed", text)
            .action(RepairAction::HardwareInspection, REPLACE)
    };
    let note = |text: &str| {
        let text = format!("{what} {text}");
        Finding::note(place.clone(), "storage_raid_disk_note", text)
    };
    let condition = disk.condition();
    let finding = match condition.to_lowercase().as_str() {
        "failed" | "f" => failed("has failed"),
        "offln" | "offline" => failed("is offline"),
        "ubad" | "bad" | "unusable" => failed("is bad, and in no group"),
        "msng" | "missing" => failed("is missing"),
        "rbld" | "rebuild" | "rebuilding" => note("is being rebuilt"),
        "cpybck" | "copyback" => note("is being copied back"),
        "ugshld" | "hspshld" | "cfshld" | "shielded" => note("is being tested by the controller"),
        "degraded" | "predictive failure" | "pred fail" => {
            let text = format!("{what} is about to fail");
            Finding::degraded(place.clone(), "storage_raid_disk_failing", text)
                .action(RepairAction::HardwareInspection, REPLACE)
        }
        _ if disk.group == "F" => note("bears the configuration of another controller (foreign)"),
        "online" | "good" | "ghs" | "dhs" | "jbod" => return None,
        _ if disk.status.is_empty() => return None,
        // A word of version 2 that is not known.
        _ => note(&format!("has the status {condition}")),
    };
    Some(finding.about("disk", &place))
}

fn backup(controller: &Controller, backup: &Backup) -> Option<Finding> {
    let at = format!("c{}", controller.number);
    let Backup { model, state } = backup;
    let fine = ["Optimal", "Opt", "Ready", "Charging", "Learning"];
    if state.is_empty() || fine.iter().any(|word| state.starts_with(word)) {
        return None;
    }
    let text = format!("{at}: the cache's backup {model} says {state}");
    if state == "Unknown" {
        // So it is during a learn cycle, which is routine: once a month, for hours.
        let key = format!("{at} backup {model}");
        return Some(match controller.status.as_str() {
            "" | "Optimal" | "OK" | "Ok" => {
                Finding::note(key, "storage_raid_cache_backup_note", text)
            }
            _ => Finding::degraded(key, "storage_raid_cache_backup", text).advice(LEARN),
        });
    }
    Some(
        Finding::degraded(
            format!("{at} backup {model}"),
            "storage_raid_cache_backup",
            text,
        )
        .action(RepairAction::HardwareInspection, BATTERY),
    )
}

#[cfg(test)]
mod tests;
