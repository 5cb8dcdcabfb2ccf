//! Returns 10 MB of states, each within its own bounds.

use gpud_sdk::{CheckContext, Checker, Descriptor, Error, HealthState, Report};

struct HugeReport;

impl Checker for HugeReport {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let state =
            HealthState::healthy(context, "x".repeat(4000)).info("data", "y".repeat(60_000));
        let mut report = Report::of(state.clone());
        report.states = vec![state; 160];
        Ok(report)
    }
}

gpud_sdk::export!(HugeReport: Descriptor::new("huge-report", "Returns 10 MB of states"));
