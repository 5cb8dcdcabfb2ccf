//! Describes two components of one name.

use gpud_sdk::{CheckContext, Checker, Descriptor, Error, HealthState, Report};

struct DuplicateNames;

impl Checker for DuplicateNames {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        Ok(Report::of(HealthState::healthy(context, "never asked")))
    }
}

gpud_sdk::export!(DuplicateNames: Descriptor::new("twin", "One").and(Descriptor::new("twin", "Two")));
