//! A file from its first lines, which say what it is, to its last.

use jiff::tz::TimeZone;

use super::{
    Capture,
    error::CaptureError,
    lines::{Lines, RawLine},
    reader::Reader,
    sample,
    source::{self, Source},
};
use crate::model::UnixMillis;

/// If there are so many times more lines of no format than others, the others are taken to be chance.
const CHANCE: u64 = 20;

/// Reads a text.
pub(super) fn read(
    source: Source,
    now: UnixMillis,
    zone: &TimeZone,
) -> Result<Capture, CaptureError> {
    let Source {
        text,
        packed,
        is_binary,
    } = source;
    let mut lines = Lines::new(text);
    let mut line = RawLine::default();
    let mut first = Vec::new();
    let mut size = 0;
    let mut damaged = None;
    // Ends the text where the rest of a compressed file cannot be read.
    let mut next = |line: &mut RawLine, damaged: &mut Option<String>| match lines.next(line) {
        Ok(more) => Ok(more),
        Err(error) => match source::of_error(&error, packed) {
            CaptureError::Damaged(name, problem) => {
                *damaged = Some(format!("{name}: {problem}"));
                // What there is of the line.
                Ok(!line.text.is_empty())
            }
            other => Err(other),
        },
    };
    while first.len() < sample::LINES && size < sample::BYTES && next(&mut line, &mut damaged)? {
        size += line.text.len();
        first.push(line.clone());
        if damaged.is_some() {
            break;
        }
    }
    let mut reader = Reader::new(now, zone, is_plain(&first, now, zone)?);
    for line in &first {
        reader.take_raw(line)?;
    }
    drop(first);
    while damaged.is_none() && next(&mut line, &mut damaged)? {
        reader.take_raw(&line)?;
    }
    let capture = reader.finish(now, damaged)?;
    match (is_binary && capture.format.is_none(), capture.damaged) {
        (true, _) => Err(CaptureError::Binary),
        (false, Some(problem)) if capture.format.is_none() && capture.unparsable == 0 => {
            let name = packed.unwrap_or_default();
            let problem = problem.strip_prefix(name).unwrap_or(&problem);
            let problem = problem.trim_start_matches(": ").to_owned();
            Err(CaptureError::Damaged(name, problem))
        }
        (false, damaged) => Ok(Capture { damaged, ..capture }),
    }
}

/// Whether lines without any format are kernel messages without a stamp, judged by the first lines of a file.
fn is_plain(first: &[RawLine], now: UnixMillis, zone: &TimeZone) -> Result<bool, CaptureError> {
    let mut trial = Reader::new(now, zone, false);
    for line in first {
        trial.take_raw(line)?;
    }
    let texts = first.iter().map(|line| line.text.as_slice());
    let mostly_unknown = trial.unparsable > 0 && trial.unparsable >= CHANCE * trial.stamped();
    Ok(mostly_unknown && sample::is_plain(texts))
}
