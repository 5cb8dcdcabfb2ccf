//! Writes to its key-value store and then panics when a person asks; on schedule it says what is there.

use gpud_sdk::{CheckContext, Checker, Descriptor, Error, HealthState, Report, Trigger, state};

struct StateThenTrap;

impl Checker for StateThenTrap {
    #[expect(clippy::panic, reason = "that is the point")]
    fn check(context: &CheckContext) -> Result<Report, Error> {
        if context.trigger == Trigger::Manual {
            state::set("half", b"done")?;
            panic!("after half of the work");
        }
        let found = state::get_string("half")?;
        Ok(Report::of(HealthState::healthy(
            context,
            format!("found {found:?}"),
        )))
    }
}

gpud_sdk::export!(StateThenTrap: Descriptor::new("state-then-trap", "Panics after half of its work"));
