//! The catalogue as constants. Made by `builtin-plugins/shared/patterns.py` from `catalog/patterns.json`; do not edit.

use gpud_sdk::catalog::Action::CheckApp;
use gpud_sdk::catalog::Severity::Warning;
use gpud_sdk::catalog::{Catalog, Entry};

/// Version of the catalogue.
pub const VERSION: u32 = 2;

/// The patterns of the lines that the host delivers: no narrower than the parser.
pub const PATTERNS: [&str; 3] = [
    r"^(.{1,60}\[[0-9]+\]: )?segfault at .*in libnccl\.so",
    r"^traps: .*\] general protection.* in libnccl\.so",
    r"^.{1,60}\[[0-9]+\]: unhandled exception: .* fault in libnccl\.so",
];

/// A process crashed inside the NCCL library: usually the program's or the library's fault, or a peer that is gone.
pub const NVIDIA_NCCL_SEGFAULT_IN_LIBNCCL: Entry = Entry {
    name: "nvidia_nccl_segfault_in_libnccl",
    severity: Warning,
    otherwise: None,
    message: "NCCL communication error (segfault in libnccl.so)",
    other_message: "",
    actions: &[CheckApp],
    advice: "Look at the job and its version of NCCL.",
    verdict: None,
};

/// All of it.
pub static CATALOG: Catalog = Catalog {
    version: VERSION,
    device: "device",
    patterns: &PATTERNS,
    entries: &[&NVIDIA_NCCL_SEGFAULT_IN_LIBNCCL],
};
