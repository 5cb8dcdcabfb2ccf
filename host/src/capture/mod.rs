//! A saved kernel log, from text to messages: what a colleague sent is judged without the colleague's machine.
//!
//! [`read()`] takes what `dmesg`, `journalctl -k`, a syslog daemon or `cat /dev/kmsg` wrote and gives the messages as
//! the kernel log itself would have, in the order of the file: `\xNN` escapes as in a record, lines of one message
//! joined with `\x0a`. Every line tells its own form, so forms may be mixed, and what is no log is passed over and
//! counted.
//!
//! Nothing is read here but the bytes given: no clock, no file, no time zone of this machine.

mod boots;
mod calendar;
mod chunks;
mod collected;
mod dating;
mod dmesg_json;
mod driver_lines;
mod error;
mod escape;
mod format;
mod journal_json;
mod line;
mod outline;
mod priority;
mod reader;
mod sample;
mod scan;
mod stamp;

use jiff::tz::TimeZone;

pub use self::{
    error::CaptureError,
    format::Format,
    outline::{Outline, Source, outline, replay},
};
use crate::{model::UnixMillis, node::kmsg::KernelMessage};

/// The largest capture in bytes that is read into memory.
pub const MAX_BYTES: usize = 256 << 20;
/// The most messages in a file.
pub const MAX_MESSAGES: usize = 5_000_000;
/// The longest line in bytes, and the longest text of several lines; a longer one is counted as unparsable.
pub const MAX_LINE: usize = 64 << 10;

/// What the times of a capture are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// Those of the machine's wall clock, as the file has them.
    Wall,
    /// The file has the time since boot or between messages only. The last message is dated at the `now` of [`read()`],
    /// the others before it; each boot but the last ends where the next one begins.
    SinceBoot,
    /// The file has no times; all messages are dated at `now`.
    None,
}

/// A line that fits no form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unparsable {
    /// Counted from 1.
    pub line: u64,
    /// Its first 200 bytes, escaped like a message.
    pub text: String,
}

/// What a file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture {
    /// The form that most lines have; `None` if no line has any.
    pub format: Option<Format>,
    /// The messages in the order of the file.
    ///
    /// `sequence` is the record's own in [`Format::Kmsg`] and counted from 0 in all others. Where they are not known,
    /// `monotonic_micros` is 0, `level` 6 (information) and `facility` 0 (kernel).
    pub messages: Vec<KernelMessage>,
    /// How many messages the file has.
    pub count: usize,
    /// What the messages' `time` is.
    pub clock: Clock,
    /// Where each boot of the machine begins: numbers of messages, ascending, the first one 0; empty if there is no
    /// message. A boot is told by journalctl's separators and boot ids, by the kernel's clock going back, and by what a
    /// kernel says first.
    pub boots: Vec<usize>,
    /// Lines that other programs than the kernel logged.
    pub skipped: u64,
    /// Lines that fit no form.
    pub unparsable: u64,
    /// The first of them.
    pub first_unparsable: Option<Unparsable>,
    /// Stamps had no year: each is in the latest year in which it is not in the future.
    pub years_guessed: bool,
    /// Stamps had no zone that can be told: they were read in the zone given.
    pub zone_assumed: bool,
}

/// Reads a capture. No message at all is no error: [`Capture::format`] and the counts tell what the file was.
///
/// `now`: for stamps without a year or without a date, Unix milliseconds; the time at which the file was written, if
/// that is known. `zone`: for stamps without a zone; that of the machine that logged, if it is known.
///
/// # Errors
/// The file is compressed or binary, or larger than the limits.
pub fn read(bytes: &[u8], now: UnixMillis, zone: &TimeZone) -> Result<Capture, CaptureError> {
    error::check(bytes)?;
    reader::read(without_mark(bytes), now, zone)
}

/// The text without the byte order mark of UTF-8.
fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes)
}

#[cfg(test)]
mod tests;
