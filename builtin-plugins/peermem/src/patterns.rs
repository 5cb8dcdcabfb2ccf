//! The catalogue as constants. Made by `builtin-plugins/shared/patterns.py` from `catalog/patterns.json`; do not edit.

use gpud_sdk::catalog::Action::Ignore;
use gpud_sdk::catalog::Severity::Warning;
use gpud_sdk::catalog::{Catalog, Entry};

/// Version of the catalogue.
pub const VERSION: u32 = 3;

/// The patterns of the lines that the host delivers: no narrower than the parser.
pub const PATTERNS: [&str; 1] = [
    "^(nvidia[-_]peermem [^ ]+ )?ERROR detected invalid context, skipping further processing",
];

/// The driver asked the peer memory module (GPUDirect RDMA) to free a mapping that the module no longer has. The module skips it; NVIDIA calls the line harmless.
pub const NVIDIA_PEERMEM_INVALID_CONTEXT: Entry = Entry {
    name: "nvidia_peermem_invalid_context",
    severity: Warning,
    otherwise: None,
    message: "peermem error detected (possible GPU communication issue)",
    other_message: "",
    actions: &[Ignore],
    advice: "Nothing has to be done. Drivers from 560 on do not print it. If the job that used RDMA failed, look for the reason in its own log.",
    verdict: None,
};

/// All of it.
pub static CATALOG: Catalog = Catalog {
    version: VERSION,
    device: "device",
    patterns: &PATTERNS,
    entries: &[&NVIDIA_PEERMEM_INVALID_CONTEXT],
};
