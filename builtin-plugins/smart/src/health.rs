//! Parses the output of the programs.
//!
//! | value | source |
//! |---|---|
//! | `smart_status.passed` | smartctl(8), `-H`: the disk's own verdict |
//! | `smart_status.scsi` | `scsiprint.cpp`, `scsiGetSmartData`: the sense code of a SAS disk's informational exception; 0Bh/01h is heat, 5Dh/FFh a test of the reporting (SCSI Primary Commands, "ASC and ASCQ assignments") |
//! | `smartctl.messages[].string` | why the disk could not be asked |
//! | `smart_support` | smartctl(8), `-i`: whether it has SMART at all, and whether that is switched on |
//! | critical warning, bits 0 to 5 | NVM Express Base Specification, SMART / Health Information log: spare below threshold, temperature, reliability degraded, read-only, volatile memory backup failed, persistent memory region |
//! | percentage used | same: 100 means that the endurance the maker estimated is used up |
//! | attributes 197, 198 | sectors that cannot be read and wait to be replaced, unless smartctl's drive database (`drivedb.h`) has another name for them: some makers count requests there, and one calls its own `Bogus_Current_Pend_Sect` |
//! | attribute 187 | sectors that the disk could not correct and reported to the host (`Reported_Uncorrect` in `drivedb.h`) |
//! | `scsi_error_counter_log` | smartctl(8), `-l error`: errors that were not corrected, of reads, writes and verifications |
//! | `ata_pending_defects_log.count`, `scsi_pending_defects.count` | smartctl(8), `-l defects` |
//! | `ata_smart_attributes.table[].when_failed` | smartctl(8), `-A`: `now` for an attribute that is below its threshold |

use gpud_sdk::files::gauge;
use gpud_sdk::program;
use serde_json::Value;

/// The bit of the critical warning that heat sets: it goes when the disk cools down.
pub const HEAT: u64 = 1 << 1;
/// The bit that says that the disk is not reliable any more.
const UNRELIABLE: u64 = 1 << 2;
/// Names that are taken of what fails, and characters of one.
const MAX_FAILING: usize = 8;
const MAX_NAME: usize = 64;

/// The known facts about a disk.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Health {
    /// Maker's name for it.
    pub model: String,
    /// Serial number.
    pub serial: String,
    /// Where it is put in the machine, in words; empty if that is not known. It is not the disk that says it.
    pub bay: String,
    /// Its own verdict, if it has one.
    pub passed: Option<bool>,
    /// NVMe critical warning bits.
    pub warning: u64,
    /// Degrees Celsius.
    pub celsius: Option<f64>,
    /// Used endurance, percent.
    pub used: Option<f64>,
    /// Spare blocks left, percent.
    pub spare: Option<f64>,
    /// Spare blocks, percent, below which the disk calls itself failing; NVMe.
    pub spare_threshold: Option<u64>,
    /// Errors of the medium in its life: reads and writes that were not corrected.
    pub errors: Option<u64>,
    /// Sectors that wait to be replaced.
    pub pending: Option<u64>,
    /// What the disk names as failing, if it does: attributes, or the words of a SAS disk.
    pub failing: Vec<String>,
}

/// Why a disk did not report its health.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoHealthReason {
    /// It sleeps, and was not woken up.
    Asleep,
    /// It has none to tell, or hides it: a virtual disk, a USB bridge, a RAID controller.
    Nothing,
    /// It could not be asked.
    Unread,
}

/// The words of the critical warning bits that are set.
pub fn warnings(bits: u64) -> Vec<&'static str> {
    [
        "spare blocks below threshold",
        "temperature beyond threshold",
        "reliability degraded",
        "medium is read-only",
        "volatile memory backup failed",
        "persistent memory region unreliable",
    ]
    .into_iter()
    .enumerate()
    .filter(|(bit, _)| bits & (1 << bit) != 0)
    .map(|(_, words)| words)
    .collect()
}

impl Health {
    /// The disk in words: the person who replaces it needs more than a name that changes.
    pub fn who(&self, name: &str) -> String {
        let parts = [
            (self.model.as_str(), ""),
            (self.serial.as_str(), "serial "),
            (self.bay.as_str(), ""),
        ];
        let parts: Vec<String> = parts
            .into_iter()
            .filter(|(text, _)| !text.is_empty())
            .map(|(text, label)| format!("{label}{text}"))
            .collect();
        if parts.is_empty() {
            return name.to_owned();
        }
        format!("{name} ({})", parts.join(", "))
    }

    /// Whether it warns of its reliability only because its endurance is used up, as some makers' disks do: nothing is
    /// wrong with spare blocks or medium.
    pub fn is_only_worn(&self) -> bool {
        let spared = match (self.spare, self.spare_threshold) {
            (Some(spare), Some(threshold)) => spare > gauge(threshold),
            (spare, _) => spare.is_none_or(|spare| spare > 10.0),
        };
        self.warning & !HEAT == UNRELIABLE
            && self.used.is_some_and(|used| used >= 100.0)
            && spared
            && self.errors.unwrap_or(0) == 0
    }

    /// What it says of its failing, heat aside; nothing where it does not find itself failing.
    pub fn failure(&self) -> Option<String> {
        let said = warnings(self.warning & !HEAT);
        // Heat alone makes an NVMe disk fail its own test, too.
        let failed = self.passed == Some(false) && self.warning != HEAT;
        if self.is_only_worn() || !failed && said.is_empty() {
            return None;
        }
        let said = said
            .into_iter()
            .chain(self.failing.iter().map(String::as_str));
        Some(said.collect::<Vec<_>>().join(", "))
    }
}

/// The document that a program printed, among warnings that it may have printed as well.
pub fn document(text: &str) -> Option<Value> {
    program::json_object(text)
}

/// Returns the value at a path; null where there is none.
fn at<'a>(json: &'a Value, path: &str) -> &'a Value {
    json.pointer(path).unwrap_or(&Value::Null)
}

/// Reads `smartctl --json`. Nothing known of the disk's health is an error in words.
///
/// # Errors
/// Why the disk could not be asked.
pub fn smartctl(text: &str) -> Result<Health, String> {
    let json = document(text).ok_or("smartctl gave no JSON (it needs 7.0 or later)")?;
    let log = at(&json, "/nvme_smart_health_information_log");
    let text_of = |key: &str| {
        json.get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let mut health = Health {
        model: first(["model_name", "scsi_model_name", "scsi_product"].map(text_of)),
        serial: text_of("serial_number"),
        bay: String::new(),
        passed: at(&json, "/smart_status/passed").as_bool(),
        warning: at(log, "/critical_warning").as_u64().unwrap_or(0),
        celsius: at(&json, "/temperature/current").as_f64(),
        used: at(log, "/percentage_used")
            .as_f64()
            .or_else(|| at(&json, "/scsi_percentage_used_endurance_indicator").as_f64())
            .or_else(|| at(&json, "/endurance_used/current_percent").as_f64())
            .filter(is_used),
        spare: at(log, "/available_spare").as_f64(),
        spare_threshold: at(log, "/available_spare_threshold").as_u64(),
        errors: at(log, "/media_errors")
            .as_u64()
            .or_else(|| uncorrected(at(&json, "/scsi_error_counter_log")))
            .or_else(|| reported(at(&json, "/ata_smart_attributes/table"))),
        pending: at(&json, "/ata_pending_defects_log/count")
            .as_u64()
            .filter(|count| *count > 0)
            .or_else(|| pending(at(&json, "/ata_smart_attributes/table")))
            .or_else(|| at(&json, "/scsi_pending_defects/count").as_u64()),
        failing: failing(at(&json, "/ata_smart_attributes/table")),
    };
    let sense = |key| at(&json, "/smart_status/scsi").get(key);
    match (
        sense("asc").and_then(Value::as_u64),
        sense("ascq").and_then(Value::as_u64),
    ) {
        (Some(0x0b), Some(0x01)) => health.warning |= HEAT,
        (Some(0x5d), Some(0xff)) => health.passed = Some(true),
        _ => health
            .failing
            .extend(sense("ie_string").and_then(Value::as_str).map(short)),
    }
    if health.passed.is_none() && at(log, "/critical_warning").as_u64().is_none() {
        let messages = at(&json, "/smartctl/messages").as_array();
        let first = messages.and_then(|all| at(all.first()?, "/string").as_str());
        return Err(first.unwrap_or("it does not report its health").to_owned());
    }
    Ok(health)
}

/// What the silence of a disk means, of which [`smartctl`] made an error. What it does not tell counts as nothing to
/// tell: smartctl has a message of its own for each kind of bridge and controller.
pub fn silence(text: &str) -> NoHealthReason {
    let Some(json) = document(text) else {
        return NoHealthReason::Unread;
    };
    let support = |key: &str| at(&json, "/smart_support").get(key)?.as_bool();
    let messages = at(&json, "/smartctl/messages").as_array();
    let says = |words: &[&str]| {
        let mut texts = messages.into_iter().flatten();
        texts.any(|one| {
            let text = at(one, "/string").as_str().unwrap_or_default();
            words.iter().any(|words| text.contains(words))
        })
    };
    if says(&["Device is in "]) {
        NoHealthReason::Asleep
    } else if support("available") == Some(false) || support("enabled") == Some(false) {
        NoHealthReason::Nothing
    } else if support("available") == Some(true)
        || says(&["Permission denied", "Operation not permitted"])
    {
        NoHealthReason::Unread
    } else {
        NoHealthReason::Nothing
    }
}

/// A byte in the log: what is beyond one was not read right, and no disk is to be replaced for it.
fn is_used(percent: &f64) -> bool {
    (0.0..=255.0).contains(percent)
}

fn short(text: &str) -> String {
    text.chars().take(MAX_NAME).collect()
}

/// Attributes that are below their threshold.
fn failing(table: &Value) -> Vec<String> {
    let rows = table.as_array().into_iter().flatten();
    let now = rows.filter(|row| at(row, "/when_failed").as_str() == Some("now"));
    now.filter_map(|row| at(row, "/name").as_str().map(short))
        .take(MAX_FAILING)
        .collect()
}

/// The first that is not empty.
fn first<const N: usize>(texts: [String; N]) -> String {
    let mut texts = texts.into_iter();
    texts.find(|text| !text.is_empty()).unwrap_or_default()
}

/// Errors of a SAS disk that were not corrected.
fn uncorrected(log: &Value) -> Option<u64> {
    let of = |kind: &str| at(log, &format!("/{kind}/total_uncorrected_errors")).as_u64();
    let counts = ["read", "write", "verify"].into_iter().filter_map(of);
    counts.reduce(u64::saturating_add)
}

/// Errors of a SATA disk that it reported to the host, unless smartctl's drive database has another name for the count.
fn reported(table: &Value) -> Option<u64> {
    let mut rows = table.as_array()?.iter();
    let row = rows.find(|row| {
        let name = at(row, "/name").as_str();
        let named = name.is_none_or(|name| name.contains("Uncorrect") || name.contains("Unknown"));
        named && at(row, "/id").as_u64() == Some(187)
    })?;
    // The raw value has 48 bits, of which makers use the upper ones for other counts.
    Some(at(row, "/raw/value").as_u64()? & 0xffff_ffff)
}

fn pending(table: &Value) -> Option<u64> {
    let rows = table.as_array()?.iter();
    let raw = rows.filter(|row| {
        let name = at(row, "/name").as_str();
        let sectors = name.is_none_or(|name| {
            name.contains("Pending") || name.contains("Offl") && name.contains("Unc")
        });
        sectors && matches!(at(row, "/id").as_u64(), Some(197 | 198))
    });
    // The raw value has 48 bits, of which makers use the upper ones for other counts.
    raw.filter_map(|row| at(row, "/raw/value").as_u64())
        .map(|raw| raw & 0xffff_ffff)
        .max()
}

/// Reads `nvme smart-log --output-format=json` (nvme-cli; temperatures in kelvins; names differ between versions).
///
/// # Errors
/// In words, when it is not JSON of that kind.
pub fn nvme_cli(text: &str) -> Result<Health, String> {
    let json = document(text).ok_or("nvme gave no JSON")?;
    let number = |keys: &[&str]| keys.iter().find_map(|key| decimal(json.get(*key)?));
    // An object with the bits by name in version 2, a number before.
    let warning = at(&json, "/critical_warning");
    let Some(warning) = whole(warning).or_else(|| whole(at(warning, "/value"))) else {
        return Err("nvme gave no critical warning".to_owned());
    };
    Ok(Health {
        passed: Some(warning == 0),
        warning,
        celsius: number(&["temperature"]).map(|kelvins| kelvins - 273.0),
        used: number(&["percent_used", "percentage_used"]).filter(is_used),
        spare: number(&["avail_spare", "available_spare"]),
        spare_threshold: whole(at(&json, "/spare_thresh")),
        errors: whole(at(&json, "/media_errors")),
        ..Health::default()
    })
}

/// A number, which some versions write as text.
fn decimal(value: &Value) -> Option<f64> {
    let text = || value.as_str()?.trim().parse().ok();
    value
        .as_f64()
        .or_else(text)
        .filter(|number: &f64| number.is_finite())
}

/// A whole number, which some versions write as text: those of 128 bits.
pub fn whole(value: &Value) -> Option<u64> {
    value
        .as_u64()
        .or_else(|| value.as_str()?.trim().parse().ok())
}

#[cfg(test)]
mod tests;
