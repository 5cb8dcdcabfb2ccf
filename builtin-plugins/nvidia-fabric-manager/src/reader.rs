//! Reading the manager's log from where the last check stopped: its file, or the journal where there is none.

use gpud_sdk::{AccessError, CheckContext, Event, exec, log, sysfs};
use serde::{Deserialize, Serialize};

use crate::log as lines;

/// The file of a manager that is configured as packages do.
pub const FILE: &str = "/var/log/fabricmanager.log";
const UNIT: &str = "nvidia-fabricmanager.service";
/// Read at the first check, and at once at most.
const FIRST_BYTES: u64 = 64 << 10;
const MOST_BYTES: u64 = 1 << 20;
const MAX_OUTPUT_BYTES: u32 = 2 << 20;
const TIMEOUT_MS: u32 = 5_000;
/// How far the first look at the journal goes back, and most lines of a look.
const FIRST_SECONDS: u64 = 300;
const MAX_LINES: &str = "2000";

/// The position from which the next check reads on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ReadPosition {
    /// Bytes of the file that were read.
    pub file: Option<u64>,
    /// The unix second up to which the journal was read.
    pub journal: Option<u64>,
}

/// Which bytes of a file of this size are news: from where, and whether the first line may be cut.
fn part(before: Option<u64>, size: u64) -> (u64, bool) {
    match before {
        None => (size.saturating_sub(FIRST_BYTES), size > FIRST_BYTES),
        // The file was started over.
        Some(read) if read > size => (size.saturating_sub(MOST_BYTES), size > MOST_BYTES),
        Some(read) if size - read > MOST_BYTES => (size - MOST_BYTES, true),
        Some(read) => (read, false),
    }
}

/// Whole lines of what was read from a place on, and the place behind them.
fn whole_lines(bytes: &[u8], from: u64, cut: bool) -> (String, u64) {
    let end = bytes
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    let whole = bytes.get(..end).unwrap_or_default();
    let start = if cut {
        whole
            .iter()
            .position(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1)
    } else {
        0
    };
    let text = String::from_utf8_lossy(whole.get(start..).unwrap_or_default()).into_owned();
    (text, from.saturating_add(end as u64))
}

fn run(program: &str, arguments: &[&str]) -> Result<Vec<u8>, AccessError> {
    let arguments: Vec<String> = arguments.iter().map(|&text| text.to_owned()).collect();
    let options = exec::Options {
        timeout_ms: TIMEOUT_MS,
        max_output_bytes: MAX_OUTPUT_BYTES,
        environment: Vec::new(),
    };
    Ok(exec::run_program(program, &arguments, &options)?.stdout)
}

/// Events of what is new, oldest first, and where to go on. What cannot be read is logged and tried again.
pub fn read(context: &CheckContext, before: &ReadPosition) -> (Vec<Event>, ReadPosition) {
    let read = match sysfs::stat(FILE) {
        Ok(stat) => read_file(context, before, stat.size),
        Err(_) => read_journal(context, before),
    };
    read.unwrap_or_else(|error| {
        log!(
            warn,
            "the fabric manager's log cannot be read: {}",
            error.text()
        );
        (Vec::new(), before.clone())
    })
}

fn read_file(
    context: &CheckContext,
    before: &ReadPosition,
    size: u64,
) -> Result<(Vec<Event>, ReadPosition), AccessError> {
    let (from, cut) = part(before.file, size);
    let place = |file| ReadPosition {
        file: Some(file),
        journal: None,
    };
    if from >= size {
        return Ok((Vec::new(), place(size)));
    }
    let bytes = run("tail", &["-c", &format!("+{}", from + 1), FILE])?;
    let (text, to) = whole_lines(&bytes, from, cut);
    let mut events = lines::of_file(context, &text, 0);
    if !events.is_empty() {
        // The manager writes local time.
        let zone = run("date", &["+%z"]).ok();
        let zone = zone.and_then(|zone| lines::zone(&String::from_utf8_lossy(&zone)));
        if let Some(ahead) = zone.filter(|ahead| *ahead != 0) {
            events = lines::of_file(context, &text, ahead);
        }
    }
    Ok((events, place(to)))
}

fn read_journal(
    context: &CheckContext,
    before: &ReadPosition,
) -> Result<(Vec<Event>, ReadPosition), AccessError> {
    let now = context.now / 1000;
    let since = before.journal.unwrap_or(now.saturating_sub(FIRST_SECONDS));
    let until = now.saturating_sub(1);
    let arguments = [
        "-u",
        UNIT,
        "--no-pager",
        "-q",
        "-o",
        "short-unix",
        "-n",
        MAX_LINES,
        "--since",
        &format!("@{since}"),
        "--until",
        &format!("@{until}"),
    ];
    let output = match run("journalctl", &arguments) {
        // A machine without systemd.
        Err(AccessError::NotFound(_)) => Vec::new(),
        output => output?,
    };
    let events = lines::of_journal(context, &String::from_utf8_lossy(&output));
    let place = ReadPosition {
        file: None,
        journal: Some(until),
    };
    Ok((events, place))
}

#[cfg(test)]
mod tests;
