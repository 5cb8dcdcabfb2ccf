//! The catalogue as constants. Made by `builtin-plugins/shared/patterns.py` from `catalog/patterns.json`; do not edit.

use gpud_sdk::catalog::Action::Reboot;
use gpud_sdk::catalog::Severity::{Critical, Info, Warning};
use gpud_sdk::catalog::{Catalog, Entry, EventVerdict};

/// Version of the catalogue.
pub const VERSION: u32 = 3;

/// The patterns of the lines that the host delivers: no narrower than the parser.
pub const PATTERNS: [&str; 1] = [
    r"^NVRM: Xid \(.*\): 154, .*GPU recovery action changed from 0x[0-9a-fA-F]+.* to 0x[0-9a-fA-F]+",
];

/// The driver requests an action for a GPU before its next use: mostly a reset or a reboot.
pub const GPU_RECOVERY_ACTION_CHANGED: Entry = Entry {
    name: "gpu_recovery_action_changed",
    severity: Critical,
    otherwise: Some(Warning),
    message: "GPU recovery action of {device} changed from {from} to {to}",
    other_message: "",
    actions: &[Reboot],
    advice: "Follow the driver's request: end the programs and reset the GPU, or reboot the machine.",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &["gpu_recovery_action_cleared"] }),
};

/// The driver no longer requests an action for a GPU.
pub const GPU_RECOVERY_ACTION_CLEARED: Entry = Entry {
    name: "gpu_recovery_action_cleared",
    severity: Info,
    otherwise: None,
    message: "GPU recovery action of {device} changed from {from} to {to}",
    other_message: "",
    actions: &[],
    advice: "",
    verdict: None,
};

/// All of it.
pub static CATALOG: Catalog = Catalog {
    version: VERSION,
    device: "device",
    patterns: &PATTERNS,
    entries: &[&GPU_RECOVERY_ACTION_CHANGED, &GPU_RECOVERY_ACTION_CLEARED],
};
