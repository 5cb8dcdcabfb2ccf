//! What the same documents say besides the disk's own verdict.
//!
//! | value | source |
//! |---|---|
//! | critical temperature time | NVM Express Base Specification, SMART / Health Information log (minutes) |
//! | attributes 5, 199 | sectors that were replaced; transfers that failed on the cable (names in smartctl's drive database) |
//! | grown defects | SCSI defect list, as smartctl(8) shows it; versions 7.0 to 7.2 write its length in bytes into JSON, eight for each defect |

use gpud_builtin_smart::health;
use serde_json::Value;

/// The known facts; nothing where the disk does not tell.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wear {
    /// Minutes above the critical temperature, in its life; NVMe.
    pub critical_minutes: Option<u64>,
    /// Sectors that were replaced; SATA, and the grown defects of SAS.
    pub replaced: Option<u64>,
    /// Transfers that failed between disk and controller; SATA.
    pub cable: Option<u64>,
}

fn number(json: &Value, path: &str) -> Option<u64> {
    json.pointer(path)?.as_u64()
}

/// Reads `smartctl --json`; of anything else, nothing is known.
pub fn smartctl(text: &str) -> Wear {
    let json = health::document(text).unwrap_or_default();
    let log = |key: &str| number(&json, &format!("/nvme_smart_health_information_log/{key}"));
    let attribute = |id: u64| {
        let table = json.pointer("/ata_smart_attributes/table")?.as_array()?;
        let row = table.iter().find(|row| number(row, "/id") == Some(id))?;
        // The raw value has 48 bits, of which makers use the upper ones for other counts.
        number(row, "/raw/value").map(|raw| raw & 0xffff_ffff)
    };
    Wear {
        critical_minutes: log("critical_comp_time"),
        replaced: attribute(5).or_else(|| grown(&json)),
        cable: attribute(199),
    }
}

/// Bytes of one defect, in which smartctl 7.0 to 7.2 counted.
const DEFECT_BYTES: u64 = 8;

fn grown(json: &Value) -> Option<u64> {
    let count = number(json, "/scsi_grown_defect_list")?;
    let version = number(json, "/smartctl/version/0").zip(number(json, "/smartctl/version/1"));
    match version {
        Some((7, 0..=2)) => Some(count / DEFECT_BYTES),
        _ => Some(count),
    }
}

/// Reads `nvme smart-log --output-format=json`.
pub fn nvme_cli(text: &str) -> Wear {
    let json = health::document(text).unwrap_or_default();
    Wear {
        critical_minutes: json.get("critical_comp_time").and_then(health::whole),
        ..Wear::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn answers() {
        let nvme = r#"{"nvme_smart_health_information_log":{"critical_comp_time":3}}"#;
        let sata = r#"{"ata_smart_attributes":{"table":[{"id":5,"raw":{"value":4294967300}},{"id":199,"raw":{"value":7}}]}}"#;
        let sas = r#"{"scsi_grown_defect_list":56,"smartctl":{"version":[7,3]}}"#;
        assert_eq!(
            smartctl(nvme),
            Wear {
                critical_minutes: Some(3),
                ..Wear::default()
            }
        );
        assert_eq!(
            smartctl(sata),
            Wear {
                replaced: Some(4),
                cable: Some(7),
                ..Wear::default()
            }
        );
        assert_eq!(
            smartctl(sas),
            Wear {
                replaced: Some(56),
                ..Wear::default()
            }
        );
        for minor in 0..3 {
            let text = sas.replace("[7,3]", &format!("[7,{minor}]"));
            assert_eq!(smartctl(&text).replaced, Some(7), "{minor}");
        }
        assert_eq!(
            nvme_cli(r#"warning {"critical_comp_time":4}"#).critical_minutes,
            Some(4)
        );
        assert_eq!(smartctl("x"), Wear::default());
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in any::<String>(), count in any::<u64>()) {
            let _ = (smartctl(&text), nvme_cli(&text));
            let text = format!(r#"{{"scsi_grown_defect_list":{count}}}"#);
            prop_assert_eq!(smartctl(&text).replaced, Some(count));
        }
    }
}
