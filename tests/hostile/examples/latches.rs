//! Latches a bad verdict at the start of the daemon and takes it back ever after: the host must not believe it.

use gpud_sdk::{CheckContext, Checker, Descriptor, Error, HealthState, Recovery, Report, Trigger};

struct Latches;

impl Checker for Latches {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        if context.trigger != Trigger::Startup {
            return Ok(Report::of(HealthState::healthy(context, "never mind")));
        }
        let mut state =
            HealthState::unhealthy(context, "the fan fell off").clears_by(Recovery::SetHealthy);
        state.latch = true;
        Ok(Report::of(state))
    }
}

gpud_sdk::export!(Latches: Descriptor::new("latches", "Latches a bad verdict"));
