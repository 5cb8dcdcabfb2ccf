use std::any::Any;

use super::*;
use crate::cli::{
    command::{Action, Task},
    run::RunOptions,
    scan::ScanOptions,
};

mod questions;
mod run_flags;
mod service_commands;

fn read(line: &str) -> Result<Invocation, Exit> {
    let words = ["gpud"].into_iter().chain(line.split('|'));
    parse(words.filter(|word| !word.is_empty()).map(OsString::from))
}

/// The values that a command line of the command with these values asks for.
pub fn values<A: Action>(line: &str) -> A {
    let task: Box<dyn Any> = read(line).unwrap().task;
    *task.downcast::<A>().unwrap()
}

/// What stands for a task in a table of expectations.
fn task(action: impl Action) -> Box<dyn Task> {
    Box::new(action)
}

#[track_caller]
fn assert_asks_for(invocation: &Invocation, expected: &dyn Task, line: &str) {
    let found = format!("{:?}", invocation.task);
    assert_eq!(found, format!("{expected:?}"), "{line}");
}

fn run(line: &str) -> RunOptions {
    values(&format!("run|--data-dir=/d|{line}"))
}

fn scan(line: &str) -> ScanOptions {
    values(&format!("scan|{line}"))
}

fn failure(line: &str) -> String {
    match read(line).unwrap_err() {
        Exit {
            code: 1,
            stderr: Stderr::Failure(message),
            ..
        } => message,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    for (line, message) in [
        ("run|--log-level=loud", "unrecognized level: \"loud\""),
        (
            "run|--gpu-count=x",
            "invalid value \"x\" for flag -gpu-count: invalid digit found in string",
        ),
        (
            "run|--events-retention-period=3",
            "invalid value \"3\" for flag -events-retention-period: time: missing unit in duration \"3\"",
        ),
        (
            "run|--data-dir=/d|--events-retention-period=59s",
            "invalid value for --events-retention-period: 59s is less than a minute",
        ),
        (
            "run|--session-protocol=v3",
            "invalid session protocol \"v3\": it is v1, v2 or auto",
        ),
        (
            "run|--data-dir=/d|--nfs-host-root=x",
            "invalid value for --nfs-host-root: x is not an absolute path",
        ),
        (
            "scan|--host-root=x",
            "invalid value for --host-root: x is not an absolute path",
        ),
        (
            "scan|--fail-on=healthy",
            "invalid value \"healthy\" for flag -fail-on: it is one of degraded, unhealthy",
        ),
        (
            "machine-info|--output-format=xml",
            "invalid output format \"xml\": it is plain or json",
        ),
        ("run|--nope", "flag provided but not defined: -nope"),
        ("up|--data-dir=/d|--token=", "token is empty"),
        (
            "up|--data-dir=/d|--session-protocol=v9",
            "invalid session protocol \"v9\": it is v1, v2 or auto",
        ),
        (
            "completion|tcsh",
            "unknown shell \"tcsh\": it is bash, zsh, fish, elvish or powershell",
        ),
        (
            "release|sign-key|--nope",
            "flag provided but not defined: -nope",
        ),
        (
            "run-plugin-group",
            "exactly one argument (tag_name) is required",
        ),
        (
            "run-plugin-group|a|b",
            "exactly one argument (tag_name) is required",
        ),
        (
            "cs|-f=maybe",
            "invalid boolean value \"maybe\" for -f: parse error",
        ),
    ] {
        assert_eq!(failure(line), message, "{line}");
    }
    for line in [
        "scan|--infiniband-expected-port-states=8",
        "scan|--nfs-checker-configs={}",
        "scan|--os-blocked-process-name-regexes=(",
        "run|--data-dir=/d|--sxid-thresholds={}x",
        "run|--tls-cert=/c",
        "run|--data-dir=/d|--root-plugins=raid",
        "root-helper",
        "compile-component|in",
    ] {
        let message = failure(line);
        assert!(
            !message.contains('\n') || line.starts_with("scan|--os"),
            "{message}"
        );
    }
}

#[test]
fn usage_goes_to_standard_output_with_the_help() {
    let exit = read("compact|--nope").unwrap_err();
    assert!(
        exit.stdout.starts_with(
            "Incorrect Usage: flag provided but not defined: -nope\n\nShrink the state file"
        ),
        "{}",
        exit.stdout
    );
    let exit = read("--nope").unwrap_err();
    assert!(
        exit.stdout.starts_with("Incorrect Usage. flag provided"),
        "{}",
        exit.stdout
    );
    assert_eq!(exit.code, 1);
}

#[test]
fn help_version_and_unknown_commands() {
    let exit = read("--version").unwrap_err();
    assert_eq!(
        (exit.code, exit.stdout),
        (0, format!("{}\n", version::line()))
    );
    let exit = read("").unwrap_err();
    assert_eq!(exit.code, 0);
    assert!(exit.stdout.contains("machine-info") && !exit.stdout.contains("compile-component"));
    let exit = read("scan|--help").unwrap_err();
    assert!(
        exit.stdout.contains("--fail-on") && !exit.stdout.contains("gpu-lost"),
        "{}",
        exit.stdout
    );
    let exit = read("release").unwrap_err();
    assert_eq!(exit.code, 0);
    assert!(
        exit.stdout.contains("verify-package-signature"),
        "{}",
        exit.stdout
    );
    let exit = read("notify|sideways").unwrap_err();
    assert_eq!(exit.code, 3);
    let exit = read("frobnicate").unwrap_err();
    assert_eq!(
        (exit.code, exit.stderr),
        (3, Stderr::Line("No help topic for 'frobnicate'".into()))
    );
}

#[test]
fn json_output_has_json_errors() {
    let exit = read("machine-info|--output-format=json|-l|loud").unwrap_err();
    assert_eq!(exit.code, 1);
    assert_eq!(
        exit.stdout,
        "{\"error\":{\"code\":\"invalid_log_level\",\"message\":\"unrecognized level: \\\"loud\\\"\"}}\n"
    );
    assert_eq!(exit.stderr, Stderr::Nothing);
}
