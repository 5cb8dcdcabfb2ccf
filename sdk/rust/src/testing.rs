//! Values for the tests of a checker, and [`story`]s: what it makes of lines, reboots and time, step by step.

pub mod story;

use crate::{CheckContext, Message, Trigger};

/// Returns the context of a scheduled first check of a component, at a time in unix milliseconds.
pub fn test_context(component: &str, now: u64) -> CheckContext {
    CheckContext {
        component: component.to_owned(),
        now,
        trigger: Trigger::Scheduled,
        boot_id: "b-1".to_owned(),
        boot_time: 0,
        previous_check: None,
        extra: Vec::new(),
    }
}

/// Returns a line that the kernel wrote at a time in unix milliseconds.
pub fn kernel_message(time: u64, text: &str) -> Message {
    Message {
        sequence: time,
        time,
        level: 3,
        facility: 0,
        text: text.to_owned(),
        dictionary: None,
    }
}
