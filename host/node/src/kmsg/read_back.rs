//! Looks through everything that the kernel log holds right now, on a descriptor of its own, beside the reader.

use std::{
    collections::VecDeque,
    ops::ControlFlow,
    path::Path,
    time::{Duration, Instant},
};

use regex::RegexSet;
use rustix::io::Errno;

use super::{
    clock::BootClock,
    record::{KernelMessage, RawRecord},
    source::{Source, Step},
    text::without_layout,
};
use crate::error::SourceError;

/// How many reads in a row may fail before a scan gives up. A record that the kernel will not hand out fails alone.
const MAX_FAILURES: u32 = 8;

/// The result of reading through the log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadBack {
    /// The newest matching messages, in the order of the log.
    pub messages: Vec<KernelMessage>,
    /// How many records were looked at, unparsable ones included.
    pub scanned: u64,
    /// How many of them could not be taken apart; they are skipped.
    pub unparsable: u64,
}

/// Reads the whole log once and keeps the newest `max_messages` messages whose text matches a pattern of `filter` (every
/// message when the set is empty); later pieces of lines are left out. Holds at most `max_messages` messages of up to
/// [`MAX_RECORD`](super::record::MAX_RECORD) bytes.
///
/// # Errors
/// The log cannot be opened or read, or reading it took longer than `deadline`.
pub fn read_back(
    path: &Path,
    filter: &RegexSet,
    max_messages: usize,
    deadline: Duration,
    clock: BootClock,
) -> Result<ReadBack, SourceError> {
    let mut found = ReadBack::default();
    let mut newest = VecDeque::new();
    scan(path, deadline, |raw| {
        found.scanned += 1;
        let Ok(record) = RawRecord::split(raw) else {
            found.unparsable += 1;
            return ControlFlow::Continue(());
        };
        if max_messages > 0
            && !record.is_fragment()
            && (filter.is_empty() || filter.is_match(without_layout(&record.text())))
        {
            if newest.len() >= max_messages {
                newest.pop_front();
            }
            newest.push_back(record.to_message(clock));
        }
        ControlFlow::Continue(())
    })?;
    found.messages = newest.into();
    Ok(found)
}

/// Returns the time of the oldest message that the log holds, Unix milliseconds; `None` for an empty log.
///
/// # Errors
/// As [`read_back`].
pub fn oldest(
    path: &Path,
    deadline: Duration,
    clock: BootClock,
) -> Result<Option<u64>, SourceError> {
    let mut found = None;
    scan(path, deadline, |raw| match RawRecord::split(raw) {
        Ok(record) => {
            found = Some(record.to_message(clock).time);
            ControlFlow::Break(())
        }
        Err(_) => ControlFlow::Continue(()),
    })?;
    Ok(found)
}

/// Opens the log and reads one record, to see whether that works.
///
/// # Errors
/// The log cannot be opened or read.
pub fn probe(path: &Path, deadline: Duration) -> Result<(), SourceError> {
    scan(path, deadline, |_| ControlFlow::Break(()))
}

/// Hands every record that the log holds to `visit`, oldest first, until that breaks off.
///
/// # Errors
/// As [`read_back`].
pub(super) fn scan(
    path: &Path,
    deadline: Duration,
    mut visit: impl FnMut(&[u8]) -> ControlFlow<()>,
) -> Result<(), SourceError> {
    let start = Instant::now();
    let mut source = Source::open(path)?;
    let mut record = Vec::new();
    let (mut idle, mut failures) = (false, 0);
    loop {
        if start.elapsed() >= deadline {
            return Err(SourceError::TimedOut {
                what: format!("{}: reading it from the beginning", path.display()),
                after: deadline,
                last_good: None,
            });
        }
        record.clear();
        match source.next(&mut record) {
            Ok(Step::Record) => {
                (idle, failures) = (false, 0);
                if visit(&record).is_break() {
                    return Ok(());
                }
            }
            // A file gives out an unfinished last line when it is asked again.
            Ok(Step::Idle) if !idle => idle = true,
            Ok(Step::Idle | Step::End) => return Ok(()),
            Ok(Step::Overrun | Step::Restarted) => {}
            Err(Errno::INVAL) if failures < MAX_FAILURES => failures += 1,
            Err(errno) => {
                return Err(SourceError::from_io(
                    path.display().to_string(),
                    &errno.into(),
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests;
