//! Tries to make a granted program run something else by way of the environment and of arguments.

use gpud_sdk::{AccessError, CheckContext, Checker, Descriptor, Error, HealthState, Report, exec};

struct SetsEnvironment;

fn options(variables: &[(&str, &str)]) -> exec::Options {
    exec::Options {
        timeout_ms: 10_000,
        max_output_bytes: 1024,
        environment: variables
            .iter()
            .map(|&(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
    }
}

fn ran(name: &str, arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let arguments: Vec<String> = arguments.iter().map(|&word| word.to_owned()).collect();
    match exec::run_program(name, &arguments, &options(variables)) {
        Ok(output) if name.ends_with("printenv") => {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            format!("ran with {}", text.trim().replace('\n', ","))
        }
        Ok(_) => "ran".to_owned(),
        Err(AccessError::Denied(_)) => "denied".to_owned(),
        Err(error) => error.text(),
    }
}

impl Checker for SetsEnvironment {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let printenv = "/usr/bin/printenv";
        let tried = [
            ran(printenv, &[], &[("LD_PRELOAD", "/tmp/evil.so")]),
            ran(printenv, &[], &[("BASH_ENV", "/tmp/evil.sh")]),
            ran(printenv, &[], &[("BASH_FUNC_id%%", "() { evil; }")]),
            ran(printenv, &[], &[("UNLISTED", "1")]),
            ran(printenv, &[], &[("LISTED", "yes")]),
            ran("/usr/bin/id", &["-u"], &[]),
            ran("/usr/bin/id", &["-G"], &[]),
        ];
        Ok(Report::of(HealthState::healthy(context, tried.join("; "))))
    }
}

gpud_sdk::export!(SetsEnvironment: Descriptor::new("sets-environment", "Wants another program"));
