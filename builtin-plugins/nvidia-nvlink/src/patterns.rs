//! The catalogue as constants. Made by `builtin-plugins/shared/patterns.py` from `catalog/patterns.json`; do not edit.

use gpud_sdk::catalog::Action::Reboot;
use gpud_sdk::catalog::Severity::Warning;
use gpud_sdk::catalog::{Catalog, Entry, EventVerdict};

/// Version of the catalogue.
pub const VERSION: u32 = 3;

/// The patterns of the lines that the host delivers: no narrower than the parser.
pub const PATTERNS: [&str; 2] = [
    "^NVRM: .*knvlinkUpdatePostRxDetectLinkMask_[A-Za-z0-9_]+: Failed to update Rx Detect Link mask!",
    "^NVRM: .*knvlinkDiscoverPostRxDetLinks_[A-Za-z0-9_]+: Getting peer[0-9]+",
];

/// The driver could not find out which NVLinks have a partner; links may be missing.
pub const NVLINK_POST_RX_DETECT_FAILURE: Entry = Entry {
    name: "nvlink_post_rx_detect_failure",
    severity: Warning,
    otherwise: None,
    message: "NVIDIA driver failed to update an NVLink post-RX-detection link mask",
    other_message: "",
    actions: &[Reboot],
    advice: "Reboot, so that the driver looks for the links again; if the error returns, have the NVLink connections looked at.",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &[] }),
};

/// All of it.
pub static CATALOG: Catalog = Catalog {
    version: VERSION,
    device: "device",
    patterns: &PATTERNS,
    entries: &[&NVLINK_POST_RX_DETECT_FAILURE],
};
