//! The catalogue as constants. Made by `builtin-plugins/shared/patterns.py` from `catalog/patterns.json`; do not edit.

use gpud_sdk::catalog::Action::Reboot;
use gpud_sdk::catalog::Severity::{Critical, Fatal, Info, Warning};
use gpud_sdk::catalog::{Catalog, Entry, EventVerdict};

/// Version of the catalogue.
pub const VERSION: u32 = 3;

/// The patterns of the lines that the host delivers: no narrower than the parser.
pub const PATTERNS: [&str; 10] = [
    "^(rcu: )?INFO: rcu[^ ]* (self-)?detected (expedited )?stalls? on ",
    r"^rcu: (\\x09)?[ \t]*[0-9]+-",
    "^(NMI )?watchdog: (CPU ?[0-9]+:? )?Watchdog detected hard LOCKUP on cpu ",
    "^watchdog: CPU [0-9]+ (self-)?detected hard LOCKUP ",
    "^BUG: workqueue lockup - pool",
    "^INFO: task .*:[0-9]+ blocked (in I/O wait )?for more than [0-9]",
    "^clocksource: timekeeping watchdog on CPU.*[Mm]arking",
    "^tsc: Marking TSC unstable due to ",
    "^(BUG: unable to handle (page fault for address|kernel )|BUG: kernel NULL pointer dereference, address: |BUG: (Kernel NULL pointer dereference |Unable to handle kernel )|kernel BUG at |Unable to handle kernel )",
    r"^(Oops|Internal error: |general protection fault|invalid opcode: |divide error: |double fault: |stack segment: |stack guard page: |kernel stack overflow).*\[#[0-9]+\]",
];

/// A processor or task has not let the kernel go on for many seconds; the lines that follow name the processors and the code.
pub const RCU_STALL: Entry = Entry {
    name: "rcu_stall",
    severity: Warning,
    otherwise: None,
    message: "RCU stall ({flavour}): processors or tasks hold up the kernel's grace period",
    other_message: "",
    actions: &[Reboot],
    advice: "If stalls go on, reboot; the kernel log shows which code holds the processor.",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 3, window_seconds: 3_600, reboot_clears: true, ended_by: &[] }),
};

/// An expedited grace period took a moment; kernels that ask for them in milliseconds print it, and it is no stall.
pub const RCU_STALL_SHORT: Entry = Entry {
    name: "rcu_stall_short",
    severity: Info,
    otherwise: None,
    message: "RCU stall ({flavour}): processors or tasks hold up the kernel's grace period",
    other_message: "",
    actions: &[],
    advice: "",
    verdict: None,
};

/// A processor has taken no interrupts for ten seconds or more.
pub const HARD_LOCKUP: Entry = Entry {
    name: "hard_lockup",
    severity: Fatal,
    otherwise: None,
    message: "Hard lockup: CPU {cpus} takes no interrupts",
    other_message: "",
    actions: &[Reboot],
    advice: "A processor that takes no interrupts does not come back by itself: reboot.",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &[] }),
};

/// A pool of the kernel's workers has made no progress for half a minute or more.
pub const WORKQUEUE_LOCKUP: Entry = Entry {
    name: "workqueue_lockup",
    severity: Warning,
    otherwise: None,
    message: "Work queue lockup: the kernel's workers of the pool ({pool}) make no progress",
    other_message: "",
    actions: &[Reboot],
    advice: "If lockups go on, reboot; the kernel log shows what the workers wait for.",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 3, window_seconds: 3_600, reboot_clears: true, ended_by: &[] }),
};

/// Tasks of one name wait without end, again and again: usually for a disk, a network mount or a driver.
pub const TASK_BLOCKED_REPEATEDLY: Entry = Entry {
    name: "task_blocked_repeatedly",
    severity: Warning,
    otherwise: None,
    message: "Task {name} blocked again and again ({count} reports within {seconds} s)",
    other_message: "",
    actions: &[],
    advice: "",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 1, window_seconds: 3_600, reboot_clears: true, ended_by: &[] }),
};

/// The kernel gave up a clock; a verdict only while it takes the time from a slow one (hpet, acpi_pm, pit, jiffies).
pub const CLOCKSOURCE_UNSTABLE: Entry = Entry {
    name: "clocksource_unstable",
    severity: Warning,
    otherwise: None,
    message: "Clocksource {name} is unstable; the kernel no longer takes the time from it",
    other_message: "",
    actions: &[Reboot],
    advice: "Asking for the time is many times slower than usual until a reboot; if it comes back, look at the firmware.",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &[] }),
};

/// The kernel's own code failed. It ended the task that it was at and went on, but locks may be held and data damaged; the lines that follow name the code.
pub const KERNEL_OOPS: Entry = Entry {
    name: "kernel_oops",
    severity: Critical,
    otherwise: None,
    message: "Kernel oops: {what}",
    other_message: "",
    actions: &[Reboot],
    advice: "The kernel cannot be trusted any more: drain the machine and reboot; if it comes back, look for the driver that the lines below it name, and test the memory.",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &[] }),
};

/// All of it.
pub static CATALOG: Catalog = Catalog {
    version: VERSION,
    device: "device",
    patterns: &PATTERNS,
    entries: &[&RCU_STALL, &RCU_STALL_SHORT, &HARD_LOCKUP, &WORKQUEUE_LOCKUP, &TASK_BLOCKED_REPEATEDLY, &CLOCKSOURCE_UNSTABLE, &KERNEL_OOPS],
};
