//! Uses its capabilities while it describes itself, and puts what it got into its description.

use gpud_sdk::{CheckContext, Checker, Descriptor, Error, HealthState, Report, exec, state, sysfs};

struct DescribeReachesOut;

impl Checker for DescribeReachesOut {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        Ok(Report::of(HealthState::healthy(context, "all well")))
    }
}

fn describe() -> Descriptor {
    let options = exec::Options {
        timeout_ms: 1000,
        max_output_bytes: 1024,
        environment: Vec::new(),
    };
    let got = [
        sysfs::read("/proc/uptime", 4096).map(drop),
        exec::run_bash("true", &options).map(drop),
        state::set("described", b"yes"),
    ];
    let got: Vec<String> = got
        .into_iter()
        .map(|answer| answer.map_or_else(|error| error.text(), |()| "reached".to_owned()))
        .collect();
    Descriptor::new("describe-reaches-out", &got.join("; "))
}

gpud_sdk::export!(DescribeReachesOut: describe());
