//! Never says what it is.

use gpud_sdk::{CheckContext, Checker, Descriptor, Error, HealthState, Report};

struct LoopInDescribe;

impl Checker for LoopInDescribe {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        Ok(Report::of(HealthState::healthy(context, "never asked")))
    }
}

fn describe() -> Descriptor {
    loop {
        std::hint::spin_loop();
    }
}

gpud_sdk::export!(LoopInDescribe: describe());
