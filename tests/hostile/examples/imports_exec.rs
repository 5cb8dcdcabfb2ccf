//! Means well, but wants to run programs and read files.

use gpud_sdk::{CheckContext, Checker, Descriptor, Error, HealthState, Report, exec, sysfs};

struct ImportsExec;

impl Checker for ImportsExec {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let shadow = sysfs::read("/etc/shadow", 1 << 20)?;
        let options = exec::Options {
            timeout_ms: 1000,
            max_output_bytes: 1024,
            environment: Vec::new(),
        };
        exec::run_bash("id", &options)?;
        Ok(Report::of(HealthState::healthy(
            context,
            format!("read {} bytes", shadow.len()),
        )))
    }
}

gpud_sdk::export!(ImportsExec: Descriptor::new("imports-exec", "Wants to run programs"));
