//! Programs of the machine that may not be there.

use serde_json::{Deserializer, Value};

use crate::{AccessError, exec};

/// Output that is kept.
const MAX_OUTPUT: u32 = 1 << 20;

/// Lines that programs print before what they complain of, and that say nothing about it.
///
/// ipmitool 1.8.19 without its list of enterprise numbers, as Debian and Ubuntu package it; warnings of the C library and
/// of the dynamic loader.
const HARMLESS: [&str; 5] = [
    "IANA PEN registry open failed",
    "Failed to load entries from IANA PEN Registry",
    "ERROR: ld.so: object ",
    "perl: warning:",
    "warning: setlocale",
];

/// The exit code and output of a program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProgramOutput {
    /// Exit code; nothing when a signal ended it.
    pub code: Option<i32>,
    /// Standard output; bytes that are not UTF-8 become U+FFFD.
    pub stdout: String,
    /// First line of standard error that is not empty, or of standard output where there is none.
    pub complaint: String,
}

/// Runs a program; `None` where there is no such program.
///
/// # Errors
/// As [`exec::run_program`].
pub fn run(
    program: &str,
    arguments: &[&str],
    seconds: u32,
) -> Result<Option<ProgramOutput>, AccessError> {
    let arguments: Vec<String> = arguments
        .iter()
        .map(|&argument| argument.to_owned())
        .collect();
    let options = exec::Options {
        timeout_ms: seconds.saturating_mul(1000),
        max_output_bytes: MAX_OUTPUT,
        environment: Vec::new(),
    };
    match exec::run_program(program, &arguments, &options) {
        Ok(output) => Ok(Some(ProgramOutput::new(
            output.exit_code,
            &output.stdout,
            &output.stderr,
        ))),
        Err(AccessError::NotFound(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

impl ProgramOutput {
    /// Makes it of what a program wrote.
    pub fn new(code: Option<i32>, stdout: &[u8], stderr: &[u8]) -> Self {
        let stdout = String::from_utf8_lossy(stdout).into_owned();
        let stderr = String::from_utf8_lossy(stderr);
        let mut lines = stderr.lines().chain(stdout.lines()).map(str::trim);
        let complaint = lines
            .find(|line| !line.is_empty() && !HARMLESS.iter().any(|known| line.starts_with(known)))
            .unwrap_or_default();
        Self {
            code,
            complaint: crate::incidents::clip(complaint).to_owned(),
            stdout,
        }
    }

    /// True when it ended with exit code 0.
    pub fn is_ok(&self) -> bool {
        self.code == Some(0)
    }
}

/// Places at which a JSON document is looked for.
const MAX_STARTS: usize = 8;

/// Returns the JSON object that a program printed, whatever it printed before and after it; nothing where there is none.
///
/// It begins with a line, or at the first brace. A part of a document that was cut off is none.
pub fn json_object(text: &str) -> Option<Value> {
    let lines = text.match_indices('{').map(|(at, _)| at).filter(|at| {
        let before = text.as_bytes().get(..*at).unwrap_or_default();
        before.last().is_none_or(|byte| *byte == b'\n')
    });
    let mut starts = lines.take(MAX_STARTS).chain(text.find('{'));
    starts.find_map(|at| {
        let mut values = Deserializer::from_str(text.get(at..)?).into_iter::<Value>();
        values.next()?.ok()
    })
}

#[cfg(test)]
mod tests;
