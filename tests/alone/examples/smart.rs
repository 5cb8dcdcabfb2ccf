//! The checker `disk-smart`, alone.

use gpud_builtin_smart as smart;
use gpud_sdk::{CheckContext, Checker, Error, Member, Report};

struct Alone;

impl Checker for Alone {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        smart::DiskSmart::check(context)
    }
}

gpud_sdk::export!(Alone: <smart::DiskSmart as Member>::descriptor());
