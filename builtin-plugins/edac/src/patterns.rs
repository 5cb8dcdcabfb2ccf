//! The catalogue as constants. Made by `builtin-plugins/shared/patterns.py` from `catalog/patterns.json`; do not edit.

use gpud_sdk::catalog::Action::{Inspect, Reboot};
use gpud_sdk::catalog::Severity::{Critical, Info};
use gpud_sdk::catalog::{Catalog, Entry, EventVerdict};

/// Version of the catalogue.
pub const VERSION: u32 = 2;

/// The patterns of the lines that the host delivers: no narrower than the parser.
pub const PATTERNS: [&str; 1] = [
    "^EDAC MC[0-9]+: [0-9]+ (CE|UE) ",
];

/// The memory's code corrected an error; only many on one DIMM matter.
pub const MEMORY_CORRECTED_ERROR: Entry = Entry {
    name: "memory_corrected_error",
    severity: Info,
    otherwise: None,
    message: "{errors} corrected memory error(s) on {dimm} ({place})",
    other_message: "",
    actions: &[Inspect],
    advice: "",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 100, window_seconds: 86_400, reboot_clears: false, ended_by: &[] }),
};

/// Data in memory is lost.
pub const MEMORY_UNCORRECTED_ERROR: Entry = Entry {
    name: "memory_uncorrected_error",
    severity: Critical,
    otherwise: None,
    message: "{errors} uncorrected memory error(s) on {dimm} ({place})",
    other_message: "{errors} uncorrected memory error(s) on {dimm} ({place}), reported by the kernel's counter alone",
    actions: &[Reboot, Inspect],
    advice: "",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &[] }),
};

/// All of it.
pub static CATALOG: Catalog = Catalog {
    version: VERSION,
    device: "dimm",
    patterns: &PATTERNS,
    entries: &[&MEMORY_CORRECTED_ERROR, &MEMORY_UNCORRECTED_ERROR],
};
