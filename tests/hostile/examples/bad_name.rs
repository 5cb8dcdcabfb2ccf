//! Describes a component whose name would be a path out of anywhere and a forged log line.

use gpud_sdk::{CheckContext, Checker, Descriptor, Error, HealthState, Report};

struct BadName;

impl Checker for BadName {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        Ok(Report::of(HealthState::healthy(context, "never asked")))
    }
}

gpud_sdk::export!(BadName: Descriptor::new("Bad Name\n/../", "Has no usable name"));
