//! Returns 300 small states.

use gpud_sdk::{CheckContext, Checker, Descriptor, Error, HealthState, Report};

struct ManyStates;

impl Checker for ManyStates {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let mut report = Report::of(HealthState::healthy(context, "one of many"));
        report.states = vec![HealthState::healthy(context, "one of many"); 300];
        Ok(report)
    }
}

gpud_sdk::export!(ManyStates: Descriptor::new("many-states", "Returns 300 states"));
