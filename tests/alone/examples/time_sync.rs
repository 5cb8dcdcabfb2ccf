//! The checker `time-sync`, alone.

use gpud_builtin_time_sync as time_sync;
use gpud_sdk::{CheckContext, Checker, Error, Member, Report};

struct Alone;

impl Checker for Alone {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        time_sync::TimeSync::check(context)
    }
}

gpud_sdk::export!(Alone: <time_sync::TimeSync as Member>::descriptor());
