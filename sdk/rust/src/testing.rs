//! Values for the tests of a checker.

use crate::{CheckContext, Trigger};

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
