//! What the programs say.
//!
//! | value | source |
//! |---|---|
//! | `smart_status.passed` | smartctl(8), `-H`: the disk's own verdict |
//! | `smartctl.messages[].string` | why the disk could not be asked |
//! | critical warning, bits 0 to 5 | NVM Express Base Specification, SMART / Health Information log: spare below threshold, temperature, reliability degraded, read-only, volatile memory backup failed, persistent memory region |
//! | percentage used | same: 100 means that the endurance the maker estimated is used up |
//! | attributes 197, 198 | sectors that cannot be read and wait to be replaced (names in smartctl's drive database) |

use serde_json::Value;

/// What is known of a disk.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Health {
    /// Maker's name for it.
    pub model: String,
    /// Serial number.
    pub serial: String,
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
    /// Errors of the medium in its life.
    pub errors: Option<u64>,
    /// Sectors that wait to be replaced.
    pub pending: Option<u64>,
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

/// What stands at a place; null where there is nothing.
fn at<'a>(json: &'a Value, path: &str) -> &'a Value {
    json.pointer(path).unwrap_or(&Value::Null)
}

/// Reads `smartctl --json`. Nothing known of the disk's health is an error in words.
///
/// # Errors
/// Why the disk could not be asked.
pub fn smartctl(text: &str) -> Result<Health, String> {
    let json: Value =
        serde_json::from_str(text).map_err(|_| "smartctl gave no JSON (it needs 7.0 or later)")?;
    let log = at(&json, "/nvme_smart_health_information_log");
    let text_of = |key: &str| {
        json.get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let health = Health {
        model: text_of("model_name"),
        serial: text_of("serial_number"),
        passed: at(&json, "/smart_status/passed").as_bool(),
        warning: at(log, "/critical_warning").as_u64().unwrap_or(0),
        celsius: at(&json, "/temperature/current").as_f64(),
        used: at(log, "/percentage_used")
            .as_f64()
            .or_else(|| at(&json, "/scsi_percentage_used_endurance_indicator").as_f64()),
        spare: at(log, "/available_spare").as_f64(),
        errors: at(log, "/media_errors").as_u64(),
        pending: pending(at(&json, "/ata_smart_attributes/table")),
    };
    if health.passed.is_none() && log.is_null() {
        let messages = at(&json, "/smartctl/messages").as_array();
        let first = messages.and_then(|all| at(all.first()?, "/string").as_str());
        return Err(first.unwrap_or("it does not tell its health").to_owned());
    }
    Ok(health)
}

fn pending(table: &Value) -> Option<u64> {
    let rows = table.as_array()?.iter();
    let raw = rows.filter(|row| matches!(at(row, "/id").as_u64(), Some(197 | 198)));
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
    let json: Value = serde_json::from_str(text).map_err(|_| "nvme gave no JSON")?;
    let number = |keys: &[&str]| {
        let mut values = keys
            .iter()
            .map(|key| json.get(*key).and_then(Value::as_f64));
        values.find_map(|value| value)
    };
    // An object with the bits by name in version 2, a number before.
    let warning = at(&json, "/critical_warning");
    let Some(warning) = warning.as_u64().or_else(|| at(warning, "/value").as_u64()) else {
        return Err("nvme gave no critical warning".to_owned());
    };
    Ok(Health {
        passed: Some(warning == 0),
        warning,
        celsius: number(&["temperature"]).map(|kelvins| kelvins - 273.0),
        used: number(&["percent_used", "percentage_used"]),
        spare: number(&["avail_spare", "available_spare"]),
        errors: at(&json, "/media_errors").as_u64(),
        ..Health::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NVME: &str = r#"{"smartctl":{"exit_status":0},"model_name":"X","serial_number":"S1","smart_status":{"passed":true},
        "nvme_smart_health_information_log":{"critical_warning":0,"temperature":41,"available_spare":100,"available_spare_threshold":10,"percentage_used":3,"media_errors":0},"temperature":{"current":41}}"#;
    const SATA: &str = r#"{"smart_status":{"passed":false},"ata_smart_attributes":{"table":[{"id":5,"raw":{"value":4}},{"id":197,"raw":{"value":4294967298}},{"id":198,"raw":{"value":1}}]}}"#;
    const DENIED: &str = r#"{"smartctl":{"messages":[{"string":"Smartctl open device: /dev/sda failed: Permission denied","severity":"error"}],"exit_status":2}}"#;

    #[test]
    fn answers() {
        let nvme = smartctl(NVME).unwrap();
        assert_eq!(
            (nvme.passed, nvme.used, nvme.spare),
            (Some(true), Some(3.0), Some(100.0))
        );
        let sata = smartctl(SATA).unwrap();
        assert_eq!((sata.passed, sata.pending), (Some(false), Some(2)));
        let error = smartctl(DENIED).unwrap_err();
        assert_eq!(
            error,
            "Smartctl open device: /dev/sda failed: Permission denied"
        );
        assert!(smartctl("x").is_err());
        assert_eq!(smartctl("{}").unwrap_err(), "it does not tell its health");
        for text in [
            r#"{"critical_warning":4,"temperature":300,"avail_spare":90,"percent_used":5,"media_errors":7}"#,
            r#"{"critical_warning":{"value":4,"degraded":1},"temperature":300,"avail_spare":90,"percent_used":5,"media_errors":7}"#,
        ] {
            let log = nvme_cli(text).unwrap();
            assert_eq!(
                (log.passed, log.celsius, log.errors),
                (Some(false), Some(27.0), Some(7))
            );
            assert_eq!(warnings(log.warning), ["reliability degraded"]);
        }
        assert!(nvme_cli("[]").is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "[ -~]{0,100}", number in any::<u64>()) {
            let _ = (smartctl(&text), nvme_cli(&text));
            let _ = smartctl(&SATA.replace("4294967298", &number.to_string()));
            warnings(number);
        }
    }
}
