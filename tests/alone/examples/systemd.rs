//! The checker `systemd-units`, alone.

use gpud_builtin_systemd as systemd;
use gpud_sdk::{CheckContext, Checker, Error, Member, Report};

struct Alone;

impl Checker for Alone {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        systemd::SystemdUnits::check(context)
    }
}

gpud_sdk::export!(Alone: <systemd::SystemdUnits as Member>::descriptor());
