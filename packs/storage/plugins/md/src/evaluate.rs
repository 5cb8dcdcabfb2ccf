//! The verdict.

use std::collections::BTreeMap;

use gpud_pack_common::{hold, names};
use gpud_sdk::files::gauge;
use gpud_sdk::findings::{self, Finding, Memory};
use gpud_sdk::settings::Settings;
use gpud_sdk::{CheckContext, RepairAction, Report};
use serde_json::json;

use crate::detail::Detail;
use crate::loss;
use crate::mdstat::Array;

/// Gauge: devices that an array should have.
pub const DEVICES: &str = "storage_md_devices";
/// Gauge: devices that work.
pub const WORKING: &str = "storage_md_devices_working";
/// Gauge: progress of a rebuild.
pub const PROGRESS: &str = "storage_md_work_percent";

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "expected_arrays": {
      "description": "Arrays that have to be there, such as md0; one that is not is Unhealthy.",
      "type": "array", "maxItems": 64, "items": { "type": "string" }, "default": []
    },
    "ignored_arrays": {
      "description": "Arrays that are not judged; * stands for any text.",
      "type": "array", "maxItems": 64, "items": { "type": "string" }, "default": []
    }
  }
}"#;

const ADD: &str = "Have the failed disk replaced, then give the array the new one: mdadm --manage ARRAY --add DEVICE.";
const RESCUE: &str = "Write nothing to the disks, and look for a shared cause first (enclosure, cable, controller). Disks that \
    come back may be assembled again: mdadm --examine, --assemble. Else have them replaced, and the data brought back.";
const ASSEMBLE: &str = "See why it was not assembled: mdadm --examine of its devices, and the kernel log of the start.";

/// The configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Arrays that have to be there.
    pub expected: Vec<String>,
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
            expected: settings.words("expected_arrays").unwrap_or_default(),
            ignored: settings.words("ignored_arrays").unwrap_or_default(),
        })
    }

    /// Whether an array is judged.
    pub fn judges(&self, name: &str) -> bool {
        !names::any_fits(&self.ignored, name)
    }
}

/// Whether an array has fewer devices than it should, or one that failed.
pub fn is_ailing(array: &Array) -> bool {
    array.members.iter().any(|member| member.is_faulty)
        || array.devices.is_some_and(|(all, working)| working < all)
}

/// Judges the arrays, or that they cannot be read; `details` are those of ailing ones, as far as they are known.
pub fn judge(
    context: &CheckContext,
    config: &Config,
    arrays: Result<&[Array], &str>,
    details: &BTreeMap<String, Detail>,
    before: &Memory,
) -> (Report, Memory) {
    let arrays = match arrays {
        Ok(arrays) => arrays,
        Err(why) => {
            let open = hold::open(before, &[], |_, name| name != "storage_md_unreadable");
            let found = hold::unreadable(
                "mdstat",
                "storage_md_unreadable",
                "/proc/mdstat",
                why,
                &open,
            );
            let (mut report, mut after) = findings::judge(context, "", &[found], before);
            hold::keep(&mut report, &mut after, before, &open);
            return (report, after);
        }
    };
    let mut found = Vec::new();
    for name in &config.expected {
        if !arrays.iter().any(|array| array.name == *name) {
            let text = format!("{name} is not there");
            found.push(
                Finding::unhealthy(format!("{name} missing"), "storage_md_missing", text)
                    .advice(ASSEMBLE)
                    .about("array", name),
            );
        }
    }
    let none = Detail::default();
    for array in arrays.iter().filter(|array| config.judges(&array.name)) {
        let detail = details.get(&array.name).unwrap_or(&none);
        found.extend(judged(array, detail));
    }
    let healthy = format!("{} arrays, all with all their devices", arrays.len());
    let (mut report, after) = findings::judge(context, &healthy, &found, before);
    let mut shown = Vec::new();
    for array in arrays {
        let labels = [
            ("array", array.name.as_str()),
            ("level", array.level.as_str()),
        ];
        if let Some((all, working)) = array.devices {
            report = report.gauge_with(DEVICES, &labels, gauge(all)).gauge_with(
                WORKING,
                &labels,
                gauge(working),
            );
        }
        let percent = array.work.as_ref().and_then(|work| {
            let number = work.progress.strip_suffix('%')?.parse::<f64>().ok()?;
            number.is_finite().then_some((work, number))
        });
        if let Some((work, percent)) = percent {
            let labels = [("array", array.name.as_str()), ("work", work.kind.as_str())];
            report = report.gauge_with(PROGRESS, &labels, percent);
        }
        let members: Vec<&str> = array.members.iter().map(|one| one.name.as_str()).collect();
        shown.push(json!({
            "array": array.name, "activity": array.activity, "level": array.level, "devices": members,
            "work": array.work.as_ref().map(|work| format!("{} {}", work.kind, work.progress)),
        }));
    }
    let report = findings::with_data(report, &json!({ "arrays": shown }));
    (report, after)
}

fn judged(array: &Array, detail: &Detail) -> Option<Finding> {
    let name = &array.name;
    let key = name.clone();
    let finding = if array.activity == "broken" {
        let text = format!(
            "{name} ({}) has lost a disk that it cannot do without",
            array.level
        );
        Finding::unhealthy(key, "storage_md_broken", text)
            .action(RepairAction::HardwareInspection, RESCUE)
    } else if array.activity == "inactive" {
        if array.is_container {
            return None;
        }
        let text = format!("{name} is not running");
        Finding::unhealthy(key, "storage_md_inactive", text).advice(ASSEMBLE)
    } else if loss::is_lost(array) || detail.is_failed {
        let text = format!(
            "{}; {} cannot do without them, and every access fails",
            words(array, detail),
            array.level
        );
        Finding::unhealthy(key, "storage_md_broken", text)
            .action(RepairAction::HardwareInspection, RESCUE)
    } else if is_ailing(array) {
        ailing(array, detail)
    } else {
        return None;
    };
    Some(finding.about("array", name).from_file("/proc/mdstat"))
}

/// Describes what an array lacks.
fn words(array: &Array, detail: &Detail) -> String {
    let Array { name, level, .. } = array;
    let faulty = faulty(array, detail);
    let mut text = match array.devices {
        Some((all, working)) if working < all => {
            format!("{name} ({level}) has {working} of {all} devices")
        }
        // A spare took its place, or the level does not tell.
        _ => format!("{name} ({level}) has a failed device"),
    };
    if !faulty.is_empty() {
        text.push_str(&format!("; failed: {}", faulty.join(", ")));
    }
    if !detail.empty.is_empty() {
        let places: Vec<String> = detail.empty.iter().map(u64::to_string).collect();
        text.push_str(&format!("; empty place {}", places.join(", ")));
    }
    text
}

/// Devices of an array that failed, by name.
fn faulty<'a>(array: &'a Array, detail: &'a Detail) -> Vec<&'a str> {
    let members = array.members.iter().filter(|member| member.is_faulty);
    let members = members.map(|member| member.name.as_str());
    let reported = detail.faulty.iter();
    let reported = reported.map(|device| device.trim_start_matches("/dev/"));
    let all: std::collections::BTreeSet<&str> = members.chain(reported).collect();
    all.into_iter().collect()
}

fn ailing(array: &Array, detail: &Detail) -> Finding {
    let mut text = words(array, detail);
    let faulty = faulty(array, detail);
    let rebuild = array
        .work
        .as_ref()
        .filter(|work| work.kind == "recovery" || work.kind == "resync");
    let key = array.name.clone();
    match rebuild {
        Some(work) if faulty.is_empty() => {
            text.push_str(&format!("; {} {}", work.kind, work.progress));
            Finding::degraded(key, "storage_md_rebuilding", text)
        }
        Some(work) => {
            text.push_str(&format!("; {} {}", work.kind, work.progress));
            Finding::degraded(key, "storage_md_degraded", text)
                .action(RepairAction::HardwareInspection, ADD)
        }
        None => Finding::degraded(key, "storage_md_degraded", text)
            .action(RepairAction::HardwareInspection, ADD),
    }
}

#[cfg(test)]
mod tests;
