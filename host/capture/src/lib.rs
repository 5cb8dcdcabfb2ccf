//! A saved kernel log, from bytes to messages: what a colleague sent is judged without the colleague's machine.
//!
//! [`read()`] takes what `dmesg`, `journalctl -k`, a syslog daemon, a log collector or `cat /dev/kmsg` wrote and gives the
//! messages as the kernel log itself would have, for each host in the order of the file; lines of one message are joined
//! with `\x0a`. [`read_selected()`] does the same for a file of any size, and retains only the messages that the caller
//! selects. The format of each line is detected separately: first the common formats (`line`), then any prefix before a
//! kernel message (`prefixed`). Lines that are no log are skipped and counted.
//!
//! A file is read as a stream; compressed files and UTF-16 are decoded on the way (`source`). Each line becomes a
//! message (`reader`), the hosts and their times are followed (`file_tracker`, `tracker`), and once the end is known
//! every message can be dated (`timeline`). Nothing is read here but the bytes given: no clock, no file, no time zone
//! of this machine.

#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests make their own machines")
)]

use gpud_model as model;
use gpud_node as node;

mod blocks;
mod boots;
mod calendar;
mod dedup;
mod dmesg_json;
mod driver_lines;
mod error;
mod escape;
mod file;
mod file_tracker;
mod format;
mod header;
mod hosts;
mod journal_json;
mod json_line;
mod kernel_text;
mod line;
mod lines;
mod months;
mod notes;
mod overview;
mod prefixed;
mod priority;
mod reader;
mod sample;
mod scan;
mod select;
mod source;
mod stamp;
mod timeline;
mod tracker;
mod utf16;

use jiff::tz::TimeZone;

use self::{calendar::Calendar, file_tracker::FileTracker, hosts::Hosts};
pub use self::{
    error::CaptureError,
    format::Format,
    overview::{LogOverview, Overview},
    select::{Select, Selected, SelectedMessages, Selection, read_selected},
};
use crate::{model::UnixMillis, node::kmsg::KernelMessage};

/// The most bytes of all messages that [`read()`] gives.
pub const MAX_TEXT: usize = 256 << 20;
/// The most bytes that a compressed file may have when decompressed.
pub const MAX_EXPANDED: u64 = 16 << 30;
/// The most messages that [`read()`] gives.
pub const MAX_MESSAGES: usize = 5_000_000;
/// The longest line in bytes, and the longest text of several lines; what is beyond is cut off.
pub const MAX_LINE: usize = 64 << 10;

/// The clock of a log's times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// The machine's wall clock, as the file states it.
    Wall,
    /// The file has the time since boot or between messages only. The last message is dated at the `now` of [`read()`],
    /// the others before it; each boot but the last ends where the next one begins.
    SinceBoot,
    /// The file has no times; all messages are dated at `now`.
    None,
}

/// A line that fits no format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unparsable {
    /// Counted from 1.
    pub line: u64,
    /// Its first 200 bytes, without control characters.
    pub text: String,
}

/// The kernel log of one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostLog {
    /// Its name, where the lines tell it. Lines without a host belong to the only host of a file; where a file has
    /// several, they are a log of their own without a name.
    pub host: Option<String>,
    /// The messages in the order of the file; at least one.
    ///
    /// `sequence` is the record's own in [`Format::Kmsg`] and the place in the file in all others. Where they are not
    /// known, `monotonic_micros` is 0, `level` 6 (information) and `facility` 0 (kernel).
    pub messages: Vec<KernelMessage>,
    /// The clock of the messages' `time`.
    pub clock: Clock,
    /// Where each boot of the host begins: numbers of messages, ascending, the first one 0. A boot is known by
    /// journalctl's separators and boot ids, by the kernel's clock going back, and by what a kernel says first.
    pub boots: Vec<usize>,
}

/// The content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture {
    /// The format that most lines have; `None` if no line has any.
    pub format: Option<Format>,
    /// A log for each host, in the order in which they appear.
    pub logs: Vec<HostLog>,
    /// Lines that other programs than the kernel logged.
    pub skipped: u64,
    /// Lines that fit no format.
    pub unparsable: u64,
    /// The first of them.
    pub first_unparsable: Option<Unparsable>,
    /// Lines longer than [`MAX_LINE`], of which only the beginning was read.
    pub cut: u64,
    /// The compressed file ends too early or is damaged: what is missing, in words. What was before it is in `logs`.
    pub damaged: Option<String>,
    /// Stamps had no year: the last one is in the latest year in which it is not in the future, the others before it.
    pub years_guessed: bool,
    /// Stamps had no zone that is known: they were read in the zone given.
    pub zone_assumed: bool,
}

impl Capture {
    /// How many messages there are, of all hosts.
    pub fn message_count(&self) -> usize {
        self.logs.iter().map(|log| log.messages.len()).sum()
    }
}

/// The known facts while lines are read.
#[derive(Debug)]
struct Context<'z> {
    calendar: Calendar<'z>,
    hosts: Hosts,
}

/// Reads a capture with all its messages. No message at all is no error: [`Capture::format`] and the counts say what the
/// file was.
///
/// `now`: for stamps without a year or without a date, Unix milliseconds; the time at which the file was written, if
/// that is known. `zone`: for stamps without a zone; that of the machine that logged, if it is known.
///
/// # Errors
/// The file is binary or packed in a way that is not read, or larger than the limits.
pub fn read(bytes: &[u8], now: UnixMillis, zone: &TimeZone) -> Result<Capture, CaptureError> {
    read_up_to(MAX_MESSAGES, bytes, now, zone)
}

fn read_up_to(
    max_messages: usize,
    bytes: &[u8],
    now: UnixMillis,
    zone: &TimeZone,
) -> Result<Capture, CaptureError> {
    let mut tracker = FileTracker::default();
    let mut messages = Vec::new();
    let mut size = 0;
    let counts = file::read(source::open(bytes)?, now, zone, |entry| {
        size += entry.message.text.len();
        if messages.len() >= max_messages {
            return Err(CaptureError::TooManyMessages);
        }
        if size > MAX_TEXT {
            return Err(CaptureError::TooLarge);
        }
        messages.push((tracker.take(&entry), entry.message));
        Ok(())
    })?;
    let logs = tracker.finish(now, &counts.hosts);
    let of_log = |(host, timeline): &(Option<String>, timeline::Timeline)| HostLog {
        host: host.clone(),
        messages: Vec::new(),
        clock: timeline.clock,
        boots: timeline.boots.iter().map(number).collect(),
    };
    let mut of_hosts: Vec<HostLog> = logs.logs.iter().map(of_log).collect();
    for (place, mut message) in messages {
        message.time = logs.date(&place);
        if let Some(log) = of_hosts.get_mut(logs.of_host(place.host())) {
            log.messages.push(message);
        }
    }
    Ok(Capture {
        format: counts.format,
        logs: of_hosts,
        skipped: counts.skipped,
        unparsable: counts.unparsable,
        first_unparsable: counts.first_unparsable,
        cut: counts.cut,
        damaged: counts.damaged,
        years_guessed: counts.years_guessed,
        zone_assumed: counts.zone_assumed,
    })
}

fn number(boot: &timeline::Boot) -> usize {
    usize::try_from(boot.number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
