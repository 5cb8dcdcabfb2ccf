//! Does nothing wrong: the neighbour that must not notice the others.

use gpud_sdk::{CheckContext, Checker, Descriptor, Error, HealthState, Report};

struct WellBehaved;

impl Checker for WellBehaved {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        Ok(Report::of(HealthState::healthy(context, "all well")).gauge("well_behaved", 1.0))
    }
}

gpud_sdk::export!(WellBehaved: Descriptor::new("well-behaved", "Does nothing wrong"));
