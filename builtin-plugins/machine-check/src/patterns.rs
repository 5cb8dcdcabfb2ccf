//! The catalogue as constants. Made by `builtin-plugins/shared/patterns.py` from `catalog/patterns.json`; do not edit.

use gpud_sdk::catalog::Action::{Inspect, Reboot};
use gpud_sdk::catalog::Severity::{Critical, Fatal, Info, Warning};
use gpud_sdk::catalog::{Catalog, Entry, EventVerdict};

/// Version of the catalogue.
pub const VERSION: u32 = 2;

/// The patterns of the lines that the host delivers: no narrower than the parser.
pub const PATTERNS: [&str; 6] = [
    r"^(mce: )?\[Hardware Error\]: (CPU|Machine check: )",
    "^(mce: )?(CPU[0-9]+ BANK[0-9]+ )?CMCI storm (detected|subsided)",
    "^Memory failure: 0x[0-9a-f]+: (recovery action for |already hardware poisoned)",
    "^RAS: Soft-offlining pfn: 0x",
    r"^(\{[0-9]+\})?\[Hardware Error\]: +(event severity|Error [0-9]+, type|fru_text|section.type|error_type|DIMM location|device_id): ?",
    r"^\{[0-9]+\}\[Hardware Error\]: Hardware error from APEI",
];

/// The hardware corrected an error; only many of one place matter.
pub const MACHINE_CHECK_CORRECTED: Entry = Entry {
    name: "machine_check_corrected",
    severity: Info,
    otherwise: None,
    message: "corrected machine check on CPU {cpu}, bank {bank}: {kind}, status 0x{status}",
    other_message: "",
    actions: &[Inspect],
    advice: "",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 100, window_seconds: 86_400, reboot_clears: false, ended_by: &[] }),
};

/// AMD: data is bad and marked so, but was not used yet.
pub const MACHINE_CHECK_DEFERRED: Entry = Entry {
    name: "machine_check_deferred",
    severity: Warning,
    otherwise: None,
    message: "deferred machine check on CPU {cpu}, bank {bank}: {kind}, status 0x{status}",
    other_message: "",
    actions: &[Reboot],
    advice: "",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &[] }),
};

/// Data is lost; the processor itself can go on.
pub const MACHINE_CHECK_UNCORRECTED: Entry = Entry {
    name: "machine_check_uncorrected",
    severity: Critical,
    otherwise: None,
    message: "uncorrected machine check on CPU {cpu}, bank {bank}: {kind}, status 0x{status}",
    other_message: "",
    actions: &[Reboot, Inspect],
    advice: "",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &[] }),
};

/// The processor's own state is corrupt.
pub const MACHINE_CHECK_FATAL: Entry = Entry {
    name: "machine_check_fatal",
    severity: Fatal,
    otherwise: None,
    message: "fatal machine check on CPU {cpu}, bank {bank}: {kind}, status 0x{status}",
    other_message: "",
    actions: &[Reboot, Inspect],
    advice: "",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &[] }),
};

/// Why the kernel stops after a machine check.
pub const MACHINE_CHECK_PANIC: Entry = Entry {
    name: "machine_check_panic",
    severity: Fatal,
    otherwise: None,
    message: "the kernel stops after a machine check: {why}",
    other_message: "",
    actions: &[Reboot, Inspect],
    advice: "",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &[] }),
};

/// The firmware reports an event that is no error.
pub const FIRMWARE_ERROR_INFO: Entry = Entry {
    name: "firmware_error_info",
    severity: Info,
    otherwise: None,
    message: "info hardware error{before} reported by the firmware: {place}",
    other_message: "",
    actions: &[],
    advice: "",
    verdict: None,
};

/// The firmware reports an error that the hardware corrected.
pub const FIRMWARE_ERROR_CORRECTED: Entry = Entry {
    name: "firmware_error_corrected",
    severity: Info,
    otherwise: None,
    message: "corrected hardware error{before} reported by the firmware: {place}",
    other_message: "",
    actions: &[Inspect],
    advice: "",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 100, window_seconds: 86_400, reboot_clears: false, ended_by: &[] }),
};

/// The firmware reports an error that was not corrected; the system can go on.
pub const FIRMWARE_ERROR_RECOVERABLE: Entry = Entry {
    name: "firmware_error_recoverable",
    severity: Critical,
    otherwise: Some(Warning),
    message: "recoverable hardware error{before} reported by the firmware: {place}",
    other_message: "",
    actions: &[Reboot, Inspect],
    advice: "",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &[] }),
};

/// The firmware reports an error after which the system cannot go on; mostly of the previous boot.
pub const FIRMWARE_ERROR_FATAL: Entry = Entry {
    name: "firmware_error_fatal",
    severity: Fatal,
    otherwise: None,
    message: "fatal hardware error{before} reported by the firmware: {place}",
    other_message: "",
    actions: &[Reboot, Inspect],
    advice: "",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &[] }),
};

/// Corrected errors come so fast that the kernel polls for them.
pub const CMCI_STORM: Entry = Entry {
    name: "cmci_storm",
    severity: Warning,
    otherwise: None,
    message: "storm of corrected machine checks {what} ({place})",
    other_message: "",
    actions: &[Inspect],
    advice: "",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 1, window_seconds: 86_400, reboot_clears: false, ended_by: &["cmci_storm_subsided"] }),
};

/// A storm of corrected errors is over.
pub const CMCI_STORM_SUBSIDED: Entry = Entry {
    name: "cmci_storm_subsided",
    severity: Info,
    otherwise: None,
    message: "storm of corrected machine checks {what} ({place})",
    other_message: "",
    actions: &[],
    advice: "",
    verdict: None,
};

/// A page with lost data was taken out of use.
pub const MEMORY_FAILURE: Entry = Entry {
    name: "memory_failure",
    severity: Warning,
    otherwise: None,
    message: "memory page {frame} has lost data ({page}): {outcome}",
    other_message: "",
    actions: &[],
    advice: "",
    verdict: None,
};

/// A page with lost data could not be taken out of use; a process that reads it gets wrong data or is killed.
pub const MEMORY_FAILURE_UNHANDLED: Entry = Entry {
    name: "memory_failure_unhandled",
    severity: Warning,
    otherwise: None,
    message: "memory page {frame} has lost data ({page}): {outcome}",
    other_message: "",
    actions: &[Reboot],
    advice: "",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &[] }),
};

/// A page with many corrected errors is taken out of use before it loses data.
pub const PAGE_SOFT_OFFLINED: Entry = Entry {
    name: "page_soft_offlined",
    severity: Info,
    otherwise: None,
    message: "memory page {frame} is taken out of use after many corrected errors",
    other_message: "",
    actions: &[],
    advice: "",
    verdict: None,
};

/// All of it.
pub static CATALOG: Catalog = Catalog {
    version: VERSION,
    device: "place",
    patterns: &PATTERNS,
    entries: &[&MACHINE_CHECK_CORRECTED, &MACHINE_CHECK_DEFERRED, &MACHINE_CHECK_UNCORRECTED, &MACHINE_CHECK_FATAL, &MACHINE_CHECK_PANIC, &FIRMWARE_ERROR_INFO, &FIRMWARE_ERROR_CORRECTED, &FIRMWARE_ERROR_RECOVERABLE, &FIRMWARE_ERROR_FATAL, &CMCI_STORM, &CMCI_STORM_SUBSIDED, &MEMORY_FAILURE, &MEMORY_FAILURE_UNHANDLED, &PAGE_SOFT_OFFLINED],
};
