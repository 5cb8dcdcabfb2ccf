//! Waits a minute inside the host. The component `sleep-in-host-call/marked` runs a script that says which process it
//! is.

use gpud_sdk::{CheckContext, Checker, Descriptor, Error, HealthState, Report, config, exec};

struct SleepInHostCall;

impl Checker for SleepInHostCall {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let script = match context.component.as_str() {
            // The configuration is the file to write to, as a JSON string.
            "sleep-in-host-call/marked" => format!("echo $$ > {}; sleep 60", config::document()),
            _ => "sleep 60".to_owned(),
        };
        let options = exec::Options {
            timeout_ms: 60_000,
            max_output_bytes: 1024,
            environment: Vec::new(),
        };
        exec::run_bash(&script, &options)?;
        Ok(Report::of(HealthState::healthy(context, "slept well")))
    }
}

gpud_sdk::export!(SleepInHostCall: Descriptor::new("sleep-in-host-call", "Waits a minute inside the host")
    .and(Descriptor::new("sleep-in-host-call/marked", "Waits a minute inside the host and says where")));
