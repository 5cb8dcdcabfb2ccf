//! The catalogue as constants. Made by `builtin-plugins/shared/patterns.py` from `catalog/patterns.json`; do not edit.

use gpud_sdk::catalog::Action::CheckApp;
use gpud_sdk::catalog::Severity::Warning;
use gpud_sdk::catalog::{Catalog, Entry};

/// Version of the catalogue.
pub const VERSION: u32 = 4;

/// The patterns of the lines that the host delivers: no narrower than the parser.
pub const PATTERNS: [&str; 4] = [
    "^.{1,60} invoked oom-killer:",
    "^oom-kill:constraint=",
    "^Task in ",
    "^(Out of memory.*: |Memory cgroup out of memory: )?Killed process [0-9]",
];

/// The kernel ended a process to get memory back, of the machine as a whole (`System OOM`) or within the limit of a cgroup: the workload's doing.
pub const OOM: Entry = Entry {
    name: "OOM",
    severity: Warning,
    otherwise: None,
    message: "OOM encountered, victim process: {victim}, pid: {pid}",
    other_message: "OOM encountered",
    actions: &[CheckApp],
    advice: "Give the workload more memory or a lower use of it.",
    verdict: None,
};

/// All of it.
pub static CATALOG: Catalog = Catalog {
    version: VERSION,
    device: "device",
    patterns: &PATTERNS,
    entries: &[&OOM],
};
