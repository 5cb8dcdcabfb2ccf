//! Runs the steps of a script plugin: one bash after another, one deadline over all of them.

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::judge::Execution;
use crate::{
    base64,
    node::{
        error::SourceError,
        process::{self, Command, Env, Output, Program, Streams},
    },
    wire::{GoDuration, RunBashScript, Step},
};

/// Bytes of output that all steps of one check may leave; the rest is read and thrown away.
pub const MAX_OUTPUT: usize = 1 << 20;

const TIME_UP: &str = "context deadline exceeded";

/// The decoded script of a step, or why there is none.
pub(super) type DecodedScript = Result<Vec<u8>, String>;

/// Decodes the steps once, so that a check only runs them.
pub(super) fn prepare(steps: &[Step]) -> Vec<DecodedScript> {
    let empty = RunBashScript::default();
    let script = |step: &Step| decoded(step.run_bash_script.as_ref().unwrap_or(&empty));
    steps.iter().map(script).collect()
}

fn decoded(script: &RunBashScript) -> DecodedScript {
    let bytes = match script.content_type.as_str() {
        "base64" => base64::decode(&script.script).map_err(|error| error.to_string())?,
        _ => script.script.clone().into_bytes(),
    };
    if bytes.is_empty() {
        return Err("no command(s) or bash script contents provided".to_owned());
    }
    Ok(bytes)
}

/// Runs the steps up to the first that does not end well. What a step printed counts unless it ran out of time or was
/// cancelled; `stop` ends a step at once. `as_root`: gpud's root helper runs them.
pub(super) async fn steps(
    steps: &[DecodedScript],
    timeout: GoDuration,
    stop: &CancellationToken,
    as_root: bool,
) -> Execution {
    let started = Instant::now();
    let timeout = Duration::from_nanos(u64::try_from(timeout.0).unwrap_or(0));
    let mut done = Execution::default();
    for step in steps {
        let left = timeout.saturating_sub(started.elapsed());
        if left.is_zero() {
            done.error = Some(format!("failed to start command: {TIME_UP}"));
            return done;
        }
        let script = match step {
            Ok(script) => script.clone(),
            Err(problem) => {
                done.error = Some(problem.clone());
                return done;
            }
        };
        let run = process::run(Command {
            env: Env::WithoutSecrets,
            max_output_bytes: MAX_OUTPUT.saturating_sub(done.output.len()),
            streams: Streams::Combined,
            contained: true,
            as_root,
            ..Command::new(Program::BashFile(script), left)
        });
        let ended = tokio::select! {
            ended = run => ended,
            () = stop.cancelled() => {
                done.error = Some("context canceled".to_owned());
                return done;
            }
        };
        match ended {
            Ok(output) => {
                (done.exit_code, done.error) = verdict(&output);
                done.truncated |= output.stdout_truncated;
                done.output.extend(output.stdout);
            }
            Err(SourceError::TimedOut { .. }) => done.error = Some(TIME_UP.to_owned()),
            Err(error) => {
                done.error = Some(error.to_string());
                done.not_run = true;
            }
        }
        if done.error.is_some() {
            return done;
        }
    }
    done
}

/// Exit code and error text as Go's `os/exec` gives them.
fn verdict(output: &Output) -> (i32, Option<String>) {
    match (output.exit_code, output.signal) {
        (Some(0), _) => (0, None),
        (Some(code), _) => (code, Some(format!("exit status {code}"))),
        (None, signal) => {
            let core = if output.core_dumped {
                " (core dumped)"
            } else {
                ""
            };
            let name = signal_name(signal.unwrap_or(0));
            (-1, Some(format!("signal: {name}{core}")))
        }
    }
}

/// Go's words for the signals of Linux.
fn signal_name(signal: i32) -> String {
    const NAMES: [&str; 31] = [
        "hangup",
        "interrupt",
        "quit",
        "illegal instruction",
        "trace/breakpoint trap",
        "aborted",
        "bus error",
        "floating point exception",
        "killed",
        "user defined signal 1",
        "segmentation fault",
        "user defined signal 2",
        "broken pipe",
        "alarm clock",
        "terminated",
        "stack fault",
        "child exited",
        "continued",
        "stopped (signal)",
        "stopped",
        "stopped (tty input)",
        "stopped (tty output)",
        "urgent I/O condition",
        "CPU time limit exceeded",
        "file size limit exceeded",
        "virtual timer expired",
        "profiling timer expired",
        "window changed",
        "I/O possible",
        "power failure",
        "bad system call",
    ];
    let index = usize::try_from(signal).ok().and_then(|n| n.checked_sub(1));
    match index.and_then(|index| NAMES.get(index)) {
        Some(name) => (*name).to_owned(),
        None => format!("signal {signal}"),
    }
}

#[cfg(test)]
mod tests;
