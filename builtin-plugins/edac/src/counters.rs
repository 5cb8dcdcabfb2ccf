//! The kernel's counters of memory errors, `/sys/devices/system/edac/mc/` (kernel document
//! `Documentation/ABI/testing/sysfs-devices-edac`; `drivers/edac/edac_mc_sysfs.c`). They count since the driver was
//! loaded. DIMMs are called `rank‹n›` where the controller tells ranks apart.

use std::collections::BTreeMap;

/// Files of each DIMM: `dimm_ce_count`, `dimm_label`, `dimm_location`, `dimm_ue_count`.
pub const DIMM_FILES: &str = "/sys/devices/system/edac/mc/mc[0-9]*/[dr][ai]*[0-9]/dimm_[clu]*";
/// Errors that belong to no DIMM, by controller: `ce_noinfo_count`, `ue_noinfo_count`.
pub const CONTROLLER_FILES: &str = "/sys/devices/system/edac/mc/mc[0-9]*/[cu]e_noinfo_count";

const ROOT: &str = "/sys/devices/system/edac/mc/";

/// Counters of one DIMM, or of what belongs to none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Dimm {
    /// Memory controller, `mc0`.
    pub controller: String,
    /// `dimm3` or `rank3`; empty for what belongs to none.
    pub slot: String,
    /// Its name in the driver or by the operator; may be empty.
    pub label: String,
    /// `channel 1 slot 0`; may be empty.
    pub location: String,
    /// Corrected errors.
    pub corrected: u64,
    /// Uncorrected errors.
    pub uncorrected: u64,
}

impl Dimm {
    /// A name for people: the label, or the place.
    pub fn name(&self) -> &str {
        [&self.label, &self.slot]
            .into_iter()
            .find(|name| !name.is_empty())
            .map_or("unknown memory", String::as_str)
    }

    /// A key for the retained state: labels can be given twice, or changed.
    pub fn id(&self) -> String {
        format!("{}/{}", self.controller, self.slot)
    }
}

/// Puts counters together from files: path and content.
pub fn read<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Vec<Dimm> {
    let mut dimms: BTreeMap<(&str, &str), Dimm> = BTreeMap::new();
    for (path, content) in files {
        let Some(parts) = path.strip_prefix(ROOT).map(|rest| rest.split('/')) else {
            continue;
        };
        let parts: Vec<&str> = parts.collect();
        let (controller, slot, file) = match *parts.as_slice() {
            [controller, file] => (controller, "", file),
            [controller, slot, file] => (controller, slot, file),
            _ => continue,
        };
        let dimm = dimms.entry((controller, slot)).or_insert_with(|| Dimm {
            controller: controller.to_owned(),
            slot: slot.to_owned(),
            ..Dimm::default()
        });
        let text = String::from_utf8_lossy(content);
        let text = text.trim();
        let number = || text.parse().unwrap_or(0);
        match file {
            "dimm_label" => text.clone_into(&mut dimm.label),
            "dimm_location" => text.clone_into(&mut dimm.location),
            "dimm_ce_count" | "ce_noinfo_count" => dimm.corrected = number(),
            "dimm_ue_count" | "ue_noinfo_count" => dimm.uncorrected = number(),
            _ => {}
        }
    }
    dimms.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimms_and_errors_without_a_dimm_are_read() {
        let at = |path: &str| format!("{ROOT}{path}");
        let files = [
            (at("mc0/ce_noinfo_count"), "3\n"),
            (at("mc0/ue_noinfo_count"), "1\n"),
            (at("mc0/dimm3/dimm_ce_count"), "12\n"),
            (at("mc0/dimm3/dimm_label"), "DIMM_B1\n"),
            (at("mc0/dimm3/dimm_location"), "channel 1 slot 0 \n"),
            (at("mc0/dimm3/dimm_ue_count"), "2\n"),
            (at("mc1/rank0/dimm_ce_count"), "garbage"),
            (at("mc1/rank0/dimm_label"), "\n"),
            ("/somewhere/else".to_owned(), "1"),
            (at("mc1/rank0/deeper/still"), "1"),
        ];
        let files = files
            .iter()
            .map(|(path, content)| (path.as_str(), content.as_bytes()));
        let dimms = read(files);
        let names: Vec<_> = dimms
            .iter()
            .map(|dimm| {
                (
                    dimm.id(),
                    dimm.name().to_owned(),
                    dimm.corrected,
                    dimm.uncorrected,
                )
            })
            .collect();
        assert_eq!(
            names,
            [
                ("mc0/".to_owned(), "unknown memory".to_owned(), 3, 1),
                ("mc0/dimm3".to_owned(), "DIMM_B1".to_owned(), 12, 2),
                ("mc1/rank0".to_owned(), "rank0".to_owned(), 0, 0),
            ]
        );
        assert_eq!(dimms[1].location, "channel 1 slot 0");
    }
}
