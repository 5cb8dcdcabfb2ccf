//! What the same documents say besides the disk's own verdict.
//!
//! | value | source |
//! |---|---|
//! | spare threshold, critical temperature time | NVM Express Base Specification, SMART / Health Information log (percent, minutes) |
//! | attributes 5, 199 | sectors that were replaced; transfers that failed on the cable (names in smartctl's drive database) |
//! | grown defects, uncorrected errors | SCSI defect list and error counter log pages, as smartctl(8) shows them |

use serde_json::Value;

/// What is known; nothing where the disk does not tell.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wear {
    /// Spare blocks (percent) from which on the disk calls itself failing; NVMe.
    pub spare_threshold: Option<u64>,
    /// Minutes above the critical temperature, in its life; NVMe.
    pub critical_minutes: Option<u64>,
    /// Sectors that were replaced; SATA, and the grown defects of SAS.
    pub replaced: Option<u64>,
    /// Transfers that failed between disk and controller; SATA.
    pub cable: Option<u64>,
    /// Errors that were not corrected; SAS.
    pub uncorrected: Option<u64>,
}

fn number(json: &Value, path: &str) -> Option<u64> {
    json.pointer(path)?.as_u64()
}

/// Reads `smartctl --json`; of anything else, nothing is known.
pub fn smartctl(text: &str) -> Wear {
    let json: Value = serde_json::from_str(text).unwrap_or_default();
    let log = |key: &str| number(&json, &format!("/nvme_smart_health_information_log/{key}"));
    let attribute = |id: u64| {
        let table = json.pointer("/ata_smart_attributes/table")?.as_array()?;
        let row = table.iter().find(|row| number(row, "/id") == Some(id))?;
        // The raw value has 48 bits, of which makers use the upper ones for other counts.
        number(row, "/raw/value").map(|raw| raw & 0xffff_ffff)
    };
    let uncorrected: Vec<u64> = ["read", "write", "verify"]
        .iter()
        .filter_map(|kind| {
            let path = format!("/scsi_error_counter_log/{kind}/total_uncorrected_errors");
            number(&json, &path)
        })
        .collect();
    Wear {
        spare_threshold: log("available_spare_threshold"),
        critical_minutes: log("critical_comp_time"),
        replaced: attribute(5).or_else(|| number(&json, "/scsi_grown_defect_list")),
        cable: attribute(199),
        uncorrected: match uncorrected.as_slice() {
            [] => None,
            counts => Some(
                counts
                    .iter()
                    .fold(0, |sum, count| sum.saturating_add(*count)),
            ),
        },
    }
}

/// Reads `nvme smart-log --output-format=json`.
pub fn nvme_cli(text: &str) -> Wear {
    let json: Value = serde_json::from_str(text).unwrap_or_default();
    Wear {
        spare_threshold: number(&json, "/spare_thresh"),
        critical_minutes: number(&json, "/critical_comp_time"),
        ..Wear::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn answers() {
        let nvme = r#"{"nvme_smart_health_information_log":{"available_spare_threshold":10,"critical_comp_time":3}}"#;
        let sata = r#"{"ata_smart_attributes":{"table":[{"id":5,"raw":{"value":4294967300}},{"id":199,"raw":{"value":7}}]}}"#;
        let sas = r#"{"scsi_grown_defect_list":12,"scsi_error_counter_log":{"read":{"total_uncorrected_errors":2},"write":{"total_uncorrected_errors":1}}}"#;
        assert_eq!(
            smartctl(nvme),
            Wear {
                spare_threshold: Some(10),
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
                replaced: Some(12),
                uncorrected: Some(3),
                ..Wear::default()
            }
        );
        assert_eq!(
            nvme_cli(r#"{"spare_thresh":5,"critical_comp_time":0}"#).spare_threshold,
            Some(5)
        );
        assert_eq!(smartctl("x"), Wear::default());
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in any::<String>(), count in any::<u64>()) {
            let _ = (smartctl(&text), nvme_cli(&text));
            let text = format!(r#"{{"scsi_error_counter_log":{{"read":{{"total_uncorrected_errors":{count}}},"write":{{"total_uncorrected_errors":{count}}}}}}}"#);
            prop_assert_eq!(smartctl(&text).uncorrected, Some(count.saturating_add(count)));
        }
    }
}
