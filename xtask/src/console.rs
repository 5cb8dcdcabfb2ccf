//! The kernel's console while tests write into the kernel log.

use std::fs;

/// The level of messages on the console, and others: proc(5).
const LEVELS: &str = "/proc/sys/kernel/printk";
/// Panics alone are printed.
const LOWEST: &str = "1";

/// Keeps the kernel from printing on its console what tests write into its log: a serial console takes a millisecond of a
/// processor for each line. What was set before is set again when this is dropped.
pub struct QuietConsole {
    /// `None` where it cannot be changed, as for ordinary users.
    before: Option<String>,
}

impl QuietConsole {
    /// Sets the lowest level.
    pub fn set() -> Self {
        let before = fs::read_to_string(LEVELS).ok();
        let before = before.filter(|_| fs::write(LEVELS, LOWEST).is_ok());
        Self { before }
    }
}

impl Drop for QuietConsole {
    fn drop(&mut self) {
        if let Some(before) = &self.before
            && let Err(error) = fs::write(LEVELS, before)
        {
            eprintln!("xtask: {LEVELS} stays at {LOWEST}: {error}");
        }
    }
}
