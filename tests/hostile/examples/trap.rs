//! Panics when a person asks, and is fine on schedule.

use gpud_sdk::{CheckContext, Checker, Descriptor, Error, HealthState, Report, Trigger};

struct Trap;

impl Checker for Trap {
    #[expect(clippy::panic, reason = "that is the point")]
    fn check(context: &CheckContext) -> Result<Report, Error> {
        if context.trigger == Trigger::Manual {
            panic!("the fan\nof {} fell off", context.component);
        }
        Ok(Report::of(HealthState::healthy(context, "all well")))
    }
}

gpud_sdk::export!(Trap: Descriptor::new("trap", "Panics when a person asks"));
