//! The catalogue as constants. Made by `builtin-plugins/shared/patterns.py` from `catalog/patterns.json`; do not edit.

use gpud_sdk::catalog::Action::{Inspect, Reboot};
use gpud_sdk::catalog::Severity::{Critical, Fatal, Info, Warning};
use gpud_sdk::catalog::{Catalog, Entry, EventVerdict};

/// Version of the catalogue.
pub const VERSION: u32 = 3;

/// The patterns of the lines that the host delivers: no narrower than the parser.
pub const PATTERNS: [&str; 7] = [
    r"^[A-Za-z0-9_-]+ [0-9a-f:]+\.[0-7]: (AER: )?(PCIe|CXL) Bus Error: severity=",
    r"^[A-Za-z0-9_-]+ [0-9a-f:]+\.[0-7]: (AER: )? +\[[ 0-9]?[0-9]\] [A-Z]",
    r"^[A-Za-z0-9_-]+ [0-9a-f:]+\.[0-7]: (AER: )?aer_(status: 0x|layer=|uncor_severity: 0x)",
    r"^[A-Za-z0-9_-]+ [0-9a-f:]+\.[0-7]: AER: .* error message received from .* \(no details found",
    r"^[A-Za-z0-9_-]+ [0-9a-f:]+\.[0-7]: AER: (found no error details for |can't find device of ID)",
    r"^[A-Za-z0-9_-]+ [0-9a-f:]+\.[0-7]: AER: [Dd]evice recovery (successful|failed)",
    r"^[A-Za-z0-9_-]+ [0-9a-f:]+\.[0-7]: DPC: containment event, status:",
];

/// The link corrected an error; only many of one device matter.
pub const PCIE_AER_CORRECTED: Entry = Entry {
    name: "pcie_aer_corrected",
    severity: Info,
    otherwise: None,
    message: "corrected PCIe error on {device}",
    other_message: "",
    actions: &[Inspect],
    advice: "",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 1_000, window_seconds: 86_400, reboot_clears: false, ended_by: &[] }),
};

/// A transaction is lost; the link goes on.
pub const PCIE_AER_NONFATAL: Entry = Entry {
    name: "pcie_aer_nonfatal",
    severity: Warning,
    otherwise: None,
    message: "uncorrected (non-fatal) PCIe error on {device}",
    other_message: "",
    actions: &[Inspect],
    advice: "",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 10, window_seconds: 86_400, reboot_clears: false, ended_by: &[] }),
};

/// The link cannot be trusted and is reset.
pub const PCIE_AER_FATAL: Entry = Entry {
    name: "pcie_aer_fatal",
    severity: Fatal,
    otherwise: None,
    message: "uncorrected (fatal) PCIe error on {device}",
    other_message: "",
    actions: &[Reboot, Inspect],
    advice: "",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &["pcie_aer_recovered"] }),
};

/// Kinds of an error whose first line came in an earlier batch.
pub const PCIE_AER_DETAIL: Entry = Entry {
    name: "pcie_aer_detail",
    severity: Info,
    otherwise: None,
    message: "PCIe error on {device}, more of it",
    other_message: "",
    actions: &[],
    advice: "",
    verdict: None,
};

/// A device announced an error but has none recorded.
pub const PCIE_AER_NO_DETAILS: Entry = Entry {
    name: "pcie_aer_no_details",
    severity: Info,
    otherwise: Some(Warning),
    message: "PCIe error announced, without details, by {device}",
    other_message: "{severity} PCIe error announced, without details, by {device}",
    actions: &[],
    advice: "",
    verdict: None,
};

/// What is below a port works again after an error.
pub const PCIE_AER_RECOVERED: Entry = Entry {
    name: "pcie_aer_recovered",
    severity: Info,
    otherwise: None,
    message: "recovered from a PCIe error: {device}",
    other_message: "",
    actions: &[],
    advice: "",
    verdict: None,
};

/// What is below a port does not work after an error, or its driver cannot handle errors.
pub const PCIE_AER_RECOVERY_FAILED: Entry = Entry {
    name: "pcie_aer_recovery_failed",
    severity: Critical,
    otherwise: None,
    message: "did not recover from a PCIe error: {device}",
    other_message: "",
    actions: &[Reboot],
    advice: "",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &["pcie_aer_recovered"] }),
};

/// A port switched its link off to keep an error from spreading; devices below it are gone until it is recovered.
pub const PCIE_DPC_CONTAINMENT: Entry = Entry {
    name: "pcie_dpc_containment",
    severity: Critical,
    otherwise: None,
    message: "link switched off to contain a PCIe error: {device}",
    other_message: "",
    actions: &[Reboot, Inspect],
    advice: "",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &["pcie_aer_recovered"] }),
};

/// All of it.
pub static CATALOG: Catalog = Catalog {
    version: VERSION,
    device: "device",
    patterns: &PATTERNS,
    entries: &[&PCIE_AER_CORRECTED, &PCIE_AER_NONFATAL, &PCIE_AER_FATAL, &PCIE_AER_DETAIL, &PCIE_AER_NO_DETAILS, &PCIE_AER_RECOVERED, &PCIE_AER_RECOVERY_FAILED, &PCIE_DPC_CONTAINMENT],
};
