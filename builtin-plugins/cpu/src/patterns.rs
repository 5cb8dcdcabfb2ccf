//! The catalogue as constants. Made by `builtin-plugins/shared/patterns.py` from `catalog/patterns.json`; do not edit.

use gpud_sdk::catalog::Action::{CheckApp, Reboot};
use gpud_sdk::catalog::Severity::Warning;
use gpud_sdk::catalog::{Catalog, Entry};

/// Version of the catalogue.
pub const VERSION: u32 = 3;

/// The patterns of the lines that the host delivers: no narrower than the parser.
pub const PATTERNS: [&str; 2] = [
    "^(INFO: )?task .*blocked (in I/O wait )?for more than [0-9]",
    "^((NMI )?watchdog: )?(BUG: )?soft lockup - CPU#[0-9]",
];

/// A task waits in the kernel, usually for a disk, a network mount or a driver. The kernel reports it again and again, with the time since it began to wait.
pub const CPU_BLOCKED_TOO_LONG: Entry = Entry {
    name: "cpu_blocked_too_long",
    severity: Warning,
    otherwise: None,
    message: "CPU task blocked for more than {seconds} seconds ({task})",
    other_message: "",
    actions: &[CheckApp],
    advice: "Look at what the task waits for: the lines that follow show where in the kernel it is.",
    verdict: None,
};

/// A task has held a processor in the kernel for more than 20 seconds.
pub const CPU_SOFT_LOCKUP: Entry = Entry {
    name: "cpu_soft_lockup",
    severity: Warning,
    otherwise: None,
    message: "CPU soft lockup detected, not releasing for a period of time ({task})",
    other_message: "",
    actions: &[Reboot],
    advice: "If it goes on, reboot; the lines that follow show which code holds the processor.",
    verdict: None,
};

/// All of it.
pub static CATALOG: Catalog = Catalog {
    version: VERSION,
    device: "device",
    patterns: &PATTERNS,
    entries: &[&CPU_BLOCKED_TOO_LONG, &CPU_SOFT_LOCKUP],
};
