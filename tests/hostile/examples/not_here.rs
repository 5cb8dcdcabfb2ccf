//! Watches something that no machine has.

use gpud_sdk::{CheckContext, Checker, Descriptor, Error, HealthState, Report};

struct NotHere;

impl Checker for NotHere {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        Ok(Report::unsupported(HealthState::healthy(
            context, "no fans",
        )))
    }
}

gpud_sdk::export!(NotHere: Descriptor::new("not-here", "Watches fans that are not there"));
