//! Calls the host a million times. It gives up at the first error; its component `million-host-calls/stubborn` ignores
//! errors and goes on for ever.

use gpud_sdk::{CheckContext, Checker, Descriptor, Error, HealthState, Report, sysfs};

struct MillionHostCalls;

impl Checker for MillionHostCalls {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        if context.component == "million-host-calls/stubborn" {
            loop {
                let _ = sysfs::read("/proc/uptime", 4096);
            }
        }
        for _ in 0..1_000_000 {
            sysfs::read("/proc/uptime", 4096)?;
        }
        Ok(Report::of(HealthState::healthy(
            context,
            "called a million times",
        )))
    }
}

gpud_sdk::export!(MillionHostCalls: Descriptor::new("million-host-calls", "Calls the host a million times")
    .and(Descriptor::new("million-host-calls/stubborn", "Calls the host for ever")));
