//! The lines of a capture in order: which belong together, and what is counted.
//!
//! Messages are given on as soon as no further line can belong to them, so that a file of any size takes little memory.

use std::collections::VecDeque;

use jiff::tz::TimeZone;

use super::{
    Context, MAX_LINE, Unparsable,
    blocks::{self, Blocks},
    boots::{self, BootIds, BootNumber, boot_id},
    calendar::Calendar,
    dmesg_json::{self, DmesgJson},
    driver_lines,
    error::CaptureError,
    escape::{self, Backslash},
    file::Counts,
    format::Format,
    hosts::{HostId, Hosts, NO_HOST},
    json_line, kernel_text,
    line::{self, Line, Message},
    lines::RawLine,
    notes::{Note, Notes},
    prefixed,
    stamp::Stamp,
};
use crate::{model::UnixMillis, node::kmsg::KernelMessage};

/// The line's beginning that [`Unparsable`] keeps.
const MAX_SHOWN: usize = 200;
/// So many of the newest messages can still get further lines: those of hosts may be interleaved.
const WINDOW: usize = 64;
/// The most pairs of a record's dictionary; the kernel writes two or three.
const MAX_PAIRS: usize = 64;

/// A message and what its line said of it.
#[derive(Debug)]
pub(super) struct Entry {
    /// Its place among the messages of the file, from 0.
    pub order: u64,
    pub host: HostId,
    pub stamp: Stamp,
    /// Microseconds since boot.
    pub micros: Option<u64>,
    /// The boot that the line names.
    pub boot: BootNumber,
    /// The boot that a line before this one announced.
    pub announced: BootNumber,
    pub message: KernelMessage,
}

/// The last line, for a next one that may belong to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    /// Nothing that has further lines.
    Nothing,
    /// A record of `/dev/kmsg`.
    Record,
    /// A message whose text began after so many bytes.
    Text(usize),
    /// Another program's.
    Other,
}

/// Takes lines in their order.
pub(super) struct Reader<'z> {
    context: Context<'z>,
    /// A line of no format is a message without a stamp.
    plain: bool,
    last: Last,
    document: DmesgJson,
    blocks: Blocks,
    notes: Notes,
    boot_ids: BootIds,
    announced: BootNumber,
    /// The newest messages, ascending.
    window: VecDeque<Entry>,
    /// How many messages there were before those of the window.
    given: u64,
    /// The order of the last message of each host.
    last_of: Vec<Option<u64>>,
    counts: [u64; Format::ALL.len()],
    skipped: u64,
    /// Lines that fit no format.
    pub unparsable: u64,
    first_unparsable: Option<Unparsable>,
    cut: u64,
}

impl<'z> Reader<'z> {
    /// With nothing read. `plain`: a line of no format is a message without a stamp.
    pub fn new(now: UnixMillis, zone: &'z TimeZone, plain: bool) -> Self {
        Self {
            context: Context {
                calendar: Calendar::new(now, zone),
                hosts: Hosts::default(),
            },
            plain,
            last: Last::Nothing,
            document: DmesgJson::default(),
            blocks: Blocks::default(),
            notes: Notes::default(),
            boot_ids: BootIds::default(),
            announced: boots::NO_BOOT,
            window: VecDeque::with_capacity(WINDOW + 2),
            given: 0,
            last_of: Vec::new(),
            counts: [0; Format::ALL.len()],
            skipped: 0,
            unparsable: 0,
            first_unparsable: None,
            cut: 0,
        }
    }

    /// Takes the next line.
    ///
    /// # Errors
    /// The file is larger than the limits.
    pub fn take_raw(&mut self, raw: &RawLine) -> Result<(), CaptureError> {
        self.cut += u64::from(raw.is_cut);
        let line = escape::strip_terminal(&raw.text);
        if !self.take(&line)? {
            self.count_unparsable(raw.number, &line);
        }
        if self.context.hosts.too_many {
            return Err(CaptureError::TooManyHosts);
        }
        Ok(())
    }

    /// Takes a line; false if it fits no format.
    fn take(&mut self, line: &[u8]) -> Result<bool, CaptureError> {
        if line.trim_ascii().is_empty() {
            return match self.blocks.end(&mut self.context) {
                Some(entry) => self.put(entry),
                None => Ok(true),
            };
        }
        if self.is_note(line) {
            return Ok(true);
        }
        match self.blocks.take(line, &mut self.context) {
            blocks::Step::Outside => {}
            blocks::Step::Taken => {
                self.last = Last::Nothing;
                return Ok(true);
            }
            blocks::Step::Entry { line: entry, taken } => {
                let fits = self.put(entry)?;
                self.last = Last::Nothing;
                if taken {
                    return Ok(fits);
                }
            }
        }
        let trimmed = line.trim_ascii_start();
        let indent = line.len() - trimmed.len();
        if indent > 0 && self.belongs(line, trimmed, indent) {
            return Ok(true);
        }
        match self.document.take(trimmed) {
            dmesg_json::DocumentStep::Outside => {}
            dmesg_json::DocumentStep::Taken => {
                self.last = Last::Nothing;
                return Ok(true);
            }
            dmesg_json::DocumentStep::Message(message) => return self.push(message),
        }
        match line::read(trimmed, &mut self.context) {
            Line::Unknown => self.take_other_format(line, trimmed, indent),
            message => self.put(message),
        }
    }

    /// Takes a line of no common format: by what it says itself, then as a further line of the one before, then by the
    /// shape of its prefix.
    fn take_other_format(
        &mut self,
        line: &[u8],
        trimmed: &[u8],
        indent: usize,
    ) -> Result<bool, CaptureError> {
        if indent > 0 && self.last == Last::Other {
            return Ok(true);
        }
        if !kernel_text::begins_message(trimmed) {
            let found = match json_line::read(trimmed, &mut self.context) {
                Line::Unknown => prefixed::read_marked(trimmed, &mut self.context),
                found => found,
            };
            if !matches!(found, Line::Unknown) {
                return self.put(found);
            }
        }
        if indent > 0 && self.continues_text(trimmed) || self.continues_driver(trimmed, None) {
            return Ok(true);
        }
        match prefixed::read_peeled(trimmed, &mut self.context) {
            Line::Unknown if self.plain => {
                let text = escape::text(line, Backslash::Escape);
                self.push(Message::new(Format::Plain, Stamp::None, text))
            }
            Line::Unknown => Ok(false),
            found => self.put(found),
        }
    }

    /// Adds what a line was; false if that is nothing.
    fn put(&mut self, line: Line) -> Result<bool, CaptureError> {
        match line {
            Line::Message(message) => self.push(message),
            Line::Other(format) => {
                self.count(format);
                self.skipped += 1;
                self.last = Last::Other;
                Ok(true)
            }
            Line::Unknown => Ok(false),
        }
    }

    /// Takes a line about the log rather than of it.
    fn is_note(&mut self, line: &[u8]) -> bool {
        let Some(note) = self.notes.take(line) else {
            return false;
        };
        match note {
            Note::Boot(id) => {
                let id = id.map(|id| self.boot_ids.number(boot_id(id)));
                // A boot id of zeros announces nothing.
                self.announced = match id {
                    None => boots::UNNAMED,
                    Some(boots::NO_BOOT) => self.announced,
                    Some(id) => id,
                };
            }
            Note::Host(host) => self.notes.host = self.context.hosts.number(host),
            Note::Text => {}
        }
        self.last = Last::Nothing;
        true
    }

    /// Takes an indented line that can only belong to the one before.
    fn belongs(&mut self, line: &[u8], trimmed: &[u8], indent: usize) -> bool {
        match self.last {
            // One space is the mark of such a line.
            Last::Record if indent == 1 => {
                let Some(equals) = line.iter().position(|&byte| byte == b'=') else {
                    return false;
                };
                let (Some(key), Some(value)) = (line.get(1..equals), line.get(equals + 1..)) else {
                    return false;
                };
                let entry = [key, value].map(|part| escape::text(part, Backslash::Escape));
                if let Some(last) = self.window.back_mut()
                    && last.message.dictionary.len() < MAX_PAIRS
                {
                    last.message.dictionary.push(entry.into());
                }
                true
            }
            // Indented exactly as the tools do: whatever it looks like, it is the message's.
            Last::Text(width) if indent >= width && width > 0 => {
                self.join(self.newest(), line.get(width..).unwrap_or(trimmed))
            }
            _ => false,
        }
    }

    /// Takes an indented line that fits no format.
    fn continues_text(&mut self, trimmed: &[u8]) -> bool {
        match self.last {
            Last::Text(width) if width > 0 => self.join(self.newest(), trimmed),
            _ => false,
        }
    }

    /// Takes a line that the NVIDIA driver printed together with the one before. `of`: the stamp and the host that it
    /// has.
    fn continues_driver(&mut self, text: &[u8], of: Option<(Stamp, HostId)>) -> bool {
        let at = match of {
            None => self.newest(),
            Some((_, host)) => self.last_entry(host),
        };
        let Some(last) = at.and_then(|at| self.window.get(self.place(at)?)) else {
            return false;
        };
        let together = match of {
            None => matches!(self.last, Last::Text(_)),
            Some((stamp, _)) => stamp == last.stamp,
        };
        together && driver_lines::continues(&last.message.text, text) && self.join(at, text)
    }

    fn last_entry(&self, host: HostId) -> Option<u64> {
        let host = usize::try_from(host).ok()?;
        self.last_of.get(host).copied().flatten()
    }

    /// The order of the newest message.
    fn newest(&self) -> Option<u64> {
        self.window.back().map(|entry| entry.order)
    }

    /// Returns the position of a message in the window, by its order.
    fn place(&self, order: u64) -> Option<usize> {
        usize::try_from(order.checked_sub(self.given)?).ok()
    }

    /// Makes this a further line of a message.
    fn join(&mut self, at: Option<u64>, further: &[u8]) -> bool {
        let place = at.and_then(|at| self.place(at));
        let Some(entry) = place.and_then(|place| self.window.get_mut(place)) else {
            return false;
        };
        let text = &mut entry.message.text;
        if text.len() + further.len() > MAX_LINE {
            return false;
        }
        text.push_str("\\x0a");
        escape::push(text, further, Backslash::Escape);
        true
    }

    /// Adds a message. True, as the line fits a format.
    fn push(&mut self, mut message: Message) -> Result<bool, CaptureError> {
        self.count(message.format);
        if message.host == NO_HOST {
            message.host = self.notes.host;
        }
        let of = (message.stamp, message.host);
        // A record of `/dev/kmsg` is a whole message, whatever it begins with.
        let is_record = message.format == Format::Kmsg;
        if !is_record && self.continues_driver(message.message.text.as_bytes(), Some(of)) {
            return Ok(true);
        }
        let at = self.given + self.window.len() as u64;
        let host = usize::try_from(message.host).unwrap_or(0);
        if self.last_of.len() <= host {
            self.last_of.resize(host + 1, None);
        }
        if let Some(last) = self.last_of.get_mut(host) {
            *last = Some(at);
        }
        let mut entry = message.message;
        self.last = if is_record {
            Last::Record
        } else {
            entry.sequence = at;
            Last::Text(message.indent)
        };
        self.window.push_back(Entry {
            order: at,
            host: message.host,
            stamp: message.stamp,
            micros: message.micros,
            boot: self.boot_ids.number(message.boot),
            announced: std::mem::take(&mut self.announced),
            message: entry,
        });
        Ok(true)
    }

    fn count(&mut self, format: Format) {
        if let Some(count) = self.counts.get_mut(format as usize) {
            *count += 1;
        }
    }

    /// Lines of a format other than plain text.
    pub fn stamped(&self) -> u64 {
        let all = Format::ALL.into_iter().zip(self.counts);
        all.filter(|(format, _)| *format != Format::Plain)
            .map(|(_, count)| count)
            .sum()
    }

    fn count_unparsable(&mut self, line: u64, text: &[u8]) {
        self.unparsable += 1;
        self.first_unparsable.get_or_insert_with(|| Unparsable {
            line,
            text: escape::text(text.get(..MAX_SHOWN).unwrap_or(text), Backslash::Character),
        });
    }

    /// Returns the oldest message once no further line can belong to it.
    pub fn next_complete(&mut self) -> Option<Entry> {
        let entry = (self.window.len() > WINDOW).then(|| self.window.pop_front())?;
        self.given += 1;
        entry
    }

    /// The lines have ended: returns the messages that are left, and what was counted.
    ///
    /// # Errors
    /// As [`Self::take_raw`].
    pub fn finish(mut self) -> Result<(VecDeque<Entry>, Counts), CaptureError> {
        if let Some(entry) = self.blocks.end(&mut self.context) {
            self.put(entry)?;
        }
        // The first of those that are equal.
        let most = self.counts.iter().copied().max().unwrap_or(0);
        let format = Format::ALL
            .into_iter()
            .zip(self.counts)
            .find(|(_, count)| *count == most && most > 0)
            .map(|(format, _)| format);
        let counts = Counts {
            format,
            hosts: self.context.hosts,
            skipped: self.skipped,
            unparsable: self.unparsable,
            first_unparsable: self.first_unparsable,
            cut: self.cut,
            damaged: None,
            years_guessed: self.context.calendar.years_guessed,
            zone_assumed: self.context.calendar.zone_assumed,
        };
        Ok((self.window, counts))
    }
}
