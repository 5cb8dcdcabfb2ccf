//! The catalogue as constants. Made by `builtin-plugins/shared/patterns.py` from `catalog/patterns.json`; do not edit.

use gpud_sdk::catalog::Action::{CheckApp, Reboot};
use gpud_sdk::catalog::Severity::Warning;
use gpud_sdk::catalog::{Catalog, Entry};

/// Version of the catalogue.
pub const VERSION: u32 = 3;

/// The patterns of the lines that the host delivers: no narrower than the parser.
pub const PATTERNS: [&str; 3] = [
    r"^(---\[ end )?Kernel [Pp]anic",
    "^CPU: [0-9]+ (UID: [0-9]+ )?PID: [0-9]+ Comm: ",
    "^VFS: file-max limit [0-9]",
];

/// The kernel found itself beyond repair and stopped. The line is found in a saved log, or in the records of a crash; the machine booted since.
pub const KERNEL_PANIC: Entry = Entry {
    name: "kernel_panic",
    severity: Warning,
    otherwise: None,
    message: "Kernel panic detected - CPU: {cpu}, PID: {pid}, Process: {comm}",
    other_message: "Kernel panic detected (no CPU/PID info found)",
    actions: &[Reboot],
    advice: "Keep the crash dump; if it comes back, have the hardware looked at.",
    verdict: None,
};

/// All file handles that the kernel may have (fs.file-max) are in use; opening files fails.
pub const VFS_FILE_MAX_LIMIT_REACHED: Entry = Entry {
    name: "vfs_file_max_limit_reached",
    severity: Warning,
    otherwise: None,
    message: "VFS file-max limit reached",
    other_message: "",
    actions: &[CheckApp],
    advice: "Look for applications that leak file descriptors, or raise fs.file-max.",
    verdict: None,
};

/// All of it.
pub static CATALOG: Catalog = Catalog {
    version: VERSION,
    device: "device",
    patterns: &PATTERNS,
    entries: &[&KERNEL_PANIC, &VFS_FILE_MAX_LIMIT_REACHED],
};
