//! The catalogue as constants. Made by `builtin-plugins/shared/patterns.py` from `catalog/patterns.json`; do not edit.

use gpud_builtin_shared::coded::Action::CheckApp;
use gpud_builtin_shared::coded::Severity::Warning;
use gpud_builtin_shared::patterns::{Catalog, Entry};

/// Version of the catalogue.
pub const VERSION: u32 = 1;

/// What the host delivers: no narrower than what is read.
pub const PATTERNS: [&str; 1] = [
    "ERROR detected invalid context, skipping further processing",
];

/// A peer memory mapping (GPUDirect RDMA) was freed after the process that made it was gone.
pub const NVIDIA_PEERMEM_INVALID_CONTEXT: Entry = Entry {
    name: "nvidia_peermem_invalid_context",
    severity: Warning,
    otherwise: None,
    message: "peermem error detected (possible GPU communication issue)",
    other_message: "",
    actions: &[CheckApp],
    advice: "Look at the job that used RDMA; if it comes back, update the driver.",
    verdict: None,
};

/// All of it.
pub static CATALOG: Catalog = Catalog {
    version: VERSION,
    device: "device",
    patterns: &PATTERNS,
    entries: &[&NVIDIA_PEERMEM_INVALID_CONTEXT],
};
