//! Reads a file from its first lines, which determine its format, to its last.

use jiff::tz::TimeZone;

use super::{
    Unparsable,
    error::CaptureError,
    format::Format,
    hosts::Hosts,
    lines::{Lines, RawLine},
    reader::{Entry, Reader},
    sample,
    source::{self, Source},
};
use crate::model::UnixMillis;

/// If there are so many times more lines of no format than others, the others are taken to be chance.
const CHANCE: u64 = 20;

/// What was counted in a file, and the names of its hosts. The fields are those of [`super::Capture`].
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub format: Option<Format>,
    pub hosts: Hosts,
    pub skipped: u64,
    pub unparsable: u64,
    pub first_unparsable: Option<Unparsable>,
    pub cut: u64,
    pub damaged: Option<String>,
    pub years_guessed: bool,
    pub zone_assumed: bool,
}

/// Reads a text. `take` gets the messages in the order of the file.
///
/// # Errors
/// The file is no capture; or those of `take`.
pub(super) fn read(
    source: Source,
    now: UnixMillis,
    zone: &TimeZone,
    mut take: impl FnMut(Entry) -> Result<(), CaptureError>,
) -> Result<Counts, CaptureError> {
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
    let mut hand_on = |reader: &mut Reader, line: &RawLine| {
        reader.take_raw(line)?;
        while let Some(entry) = reader.next_complete() {
            take(entry)?;
        }
        Ok(())
    };
    for line in &first {
        hand_on(&mut reader, line)?;
    }
    drop(first);
    while damaged.is_none() && next(&mut line, &mut damaged)? {
        hand_on(&mut reader, &line)?;
    }
    let (rest, counts) = reader.finish()?;
    for entry in rest {
        take(entry)?;
    }
    match (is_binary && counts.format.is_none(), damaged) {
        (true, _) => Err(CaptureError::Binary),
        (false, Some(problem)) if counts.format.is_none() && counts.unparsable == 0 => {
            let name = packed.unwrap_or_default();
            let problem = problem.strip_prefix(name).unwrap_or(&problem);
            let problem = problem.trim_start_matches(": ").to_owned();
            Err(CaptureError::Damaged(name, problem))
        }
        (false, damaged) => Ok(Counts { damaged, ..counts }),
    }
}

/// Whether lines without any format are kernel messages without a stamp, judged by the first lines of a file.
fn is_plain(first: &[RawLine], now: UnixMillis, zone: &TimeZone) -> Result<bool, CaptureError> {
    let mut trial = Reader::new(now, zone, false);
    for line in first {
        trial.take_raw(line)?;
        while trial.next_complete().is_some() {}
    }
    let texts = first.iter().map(|line| line.text.as_slice());
    let mostly_unknown = trial.unparsable > 0 && trial.unparsable >= CHANCE * trial.stamped();
    Ok(mostly_unknown && sample::is_plain(texts))
}
