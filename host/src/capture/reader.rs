//! The lines of a capture in order: which belong together, and what is counted.

use jiff::tz::TimeZone;

use super::{
    Capture, MAX_LINE, MAX_MESSAGES, Unparsable,
    boots::{Boots, boot_id},
    calendar::Calendar,
    collected::Collected,
    dating,
    dmesg_json::{DmesgJson, Step},
    driver_lines,
    error::CaptureError,
    escape::{self, Backslash},
    format::Format,
    line::{self, Line, Message},
    sample,
    stamp::Stamp,
};
use crate::model::UnixMillis;

/// The line's beginning that [`Unparsable`] keeps.
const MAX_SHOWN: usize = 200;
/// If there are so many times more lines of no form than others, the others are taken to be chance.
const CHANCE: u64 = 20;

/// Reads a file.
pub(super) fn read(
    bytes: &[u8],
    now: UnixMillis,
    zone: &TimeZone,
) -> Result<Capture, CaptureError> {
    let programs = sample::has_programs(bytes);
    let all = || Collected::All(Vec::new());
    let mut reader = Reader::new(now, zone, programs, false, all());
    reader.lines(bytes)?;
    if reader.is_chance() && sample::is_plain(bytes) {
        reader = Reader::new(now, zone, programs, true, all());
        reader.lines(bytes)?;
    }
    Ok(reader.finish(now).0)
}

/// What the last line was, for a line that may belong to it.
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

/// Reads lines, and keeps what can only be told from all of them.
pub(super) struct Reader<'z> {
    calendar: Calendar<'z>,
    programs: bool,
    /// A line of no form is a message without a stamp.
    plain: bool,
    last: Last,
    document: DmesgJson,
    boots: Boots,
    messages: Collected<'z>,
    /// Lines that were read.
    lines: u64,
    stamps: Vec<Stamp>,
    counts: [u64; Format::ALL.len()],
    skipped: u64,
    unparsable: u64,
    first_unparsable: Option<Unparsable>,
}

impl<'z> Reader<'z> {
    /// `programs`: a host and a program follow seconds since boot. `plain`: a line of no form is a message.
    pub(super) fn new(
        now: UnixMillis,
        zone: &'z TimeZone,
        programs: bool,
        plain: bool,
        messages: Collected<'z>,
    ) -> Self {
        Self {
            calendar: Calendar::new(now, zone),
            programs,
            plain,
            last: Last::Nothing,
            document: DmesgJson::default(),
            boots: Boots::default(),
            messages,
            lines: 0,
            stamps: Vec::new(),
            counts: [0; Format::ALL.len()],
            skipped: 0,
            unparsable: 0,
            first_unparsable: None,
        }
    }

    /// Reads further lines.
    pub(super) fn lines(&mut self, bytes: &[u8]) -> Result<(), CaptureError> {
        for line in sample::lines(bytes) {
            self.lines += 1;
            let number = self.lines;
            if line.len() > MAX_LINE {
                self.last = Last::Nothing;
                self.count_unparsable(number, line);
                continue;
            }
            let line = escape::strip_terminal(line);
            if !self.take(&line)? {
                self.count_unparsable(number, &line);
            }
        }
        Ok(())
    }

    /// Takes a line; false if it fits no form.
    fn take(&mut self, line: &[u8]) -> Result<bool, CaptureError> {
        if line.trim_ascii().is_empty() || self.is_note(line) {
            return Ok(true);
        }
        let trimmed = line.trim_ascii_start();
        let indent = line.len() - trimmed.len();
        if indent > 0 && self.belongs(line, trimmed, indent) {
            return Ok(true);
        }
        match self.document.take(trimmed) {
            Step::Outside => {}
            Step::Taken => {
                self.last = Last::Nothing;
                return Ok(true);
            }
            Step::Message(message) => return self.push(message),
        }
        match line::read(trimmed, &mut self.calendar, self.programs) {
            Line::Message(message) => self.push(message),
            Line::Other(format) => {
                self.count(format);
                self.skipped += 1;
                self.last = Last::Other;
                Ok(true)
            }
            Line::Unknown if indent > 0 && self.continues_text(trimmed) => Ok(true),
            Line::Unknown if self.continues_driver(trimmed, None) => Ok(true),
            Line::Unknown if self.plain => {
                let text = escape::text(line, Backslash::Tool);
                self.push(Message::new(Format::Plain, Stamp::None, text))
            }
            Line::Unknown => Ok(false),
        }
    }

    /// A line of journalctl about the log: `-- Boot 0123… --`, `-- Reboot --`, `-- Logs begin at … --`.
    fn is_note(&mut self, line: &[u8]) -> bool {
        let Some(note) = line.strip_prefix(b"-- ") else {
            return false;
        };
        let Some(note) = note.strip_suffix(b" --") else {
            return note.starts_with(b"cursor: ");
        };
        let mut words = note.split(|&byte| byte == b' ');
        if matches!(words.next(), Some(b"Boot" | b"Reboot")) {
            self.boots.announce(words.next().and_then(boot_id));
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
                let entry = [key, value].map(|part| escape::text(part, Backslash::Kernel));
                if let Some(message) = self.messages.last_mut() {
                    message.dictionary.push(entry.into());
                }
                true
            }
            // Indented exactly as the tools do: whatever it looks like, it is the message's.
            Last::Text(width) if indent >= width && width > 0 => {
                self.join(line.get(width..).unwrap_or(trimmed))
            }
            _ => false,
        }
    }

    /// Takes an indented line that fits no form.
    fn continues_text(&mut self, trimmed: &[u8]) -> bool {
        match self.last {
            Last::Text(width) if width > 0 => self.join(trimmed),
            Last::Other => true,
            _ => false,
        }
    }

    /// Takes a line that the NVIDIA driver printed together with the one before. `stamp`: the one that it has.
    fn continues_driver(&mut self, text: &[u8], stamp: Option<Stamp>) -> bool {
        let (Last::Text(_), Some(last)) = (self.last, self.messages.last()) else {
            return false;
        };
        let together = stamp.is_none() || stamp == self.stamps.last().copied();
        together && driver_lines::continues(&last.text, text) && self.join(text)
    }

    /// Makes this a further line of the last message.
    fn join(&mut self, further: &[u8]) -> bool {
        let Some(message) = self.messages.last_mut() else {
            return false;
        };
        if message.text.len() + further.len() > MAX_LINE {
            return false;
        }
        message.text.push_str("\\x0a");
        escape::push(&mut message.text, further, Backslash::Tool);
        true
    }

    /// Adds a message. True, as the line fits a form.
    fn push(&mut self, message: Message) -> Result<bool, CaptureError> {
        self.count(message.format);
        if self.continues_driver(message.message.text.as_bytes(), Some(message.stamp)) {
            return Ok(true);
        }
        if self.messages.len() >= MAX_MESSAGES {
            return Err(CaptureError::TooManyMessages);
        }
        self.boots.take(self.messages.len(), &message);
        self.stamps.push(message.stamp);
        let mut entry = message.message;
        self.last = if message.format == Format::Kmsg {
            Last::Record
        } else {
            entry.sequence = u64::try_from(self.messages.len()).unwrap_or(u64::MAX);
            Last::Text(message.indent)
        };
        self.messages.push(entry);
        Ok(true)
    }

    fn count(&mut self, format: Format) {
        if let Some(count) = self.counts.get_mut(format as usize) {
            *count += 1;
        }
    }

    /// Whether so few lines have a form that it may be chance.
    pub(super) fn is_chance(&self) -> bool {
        self.unparsable >= CHANCE * self.recognised()
    }

    fn recognised(&self) -> u64 {
        self.counts.iter().sum()
    }

    fn count_unparsable(&mut self, line: u64, text: &[u8]) {
        self.unparsable += 1;
        self.first_unparsable.get_or_insert_with(|| Unparsable {
            line,
            text: escape::text(text.get(..MAX_SHOWN).unwrap_or(text), Backslash::Tool),
        });
    }

    /// Hands the last message on, where messages are handed on.
    pub(super) fn end(self) {
        self.messages.end();
    }

    /// What was read, and the time of each message.
    pub(super) fn finish(self, now: UnixMillis) -> (Capture, Vec<UnixMillis>) {
        let count = self.messages.len();
        let mut messages = self.messages.end();
        let (clock, times) = dating::date(&self.stamps, &self.boots.starts, now);
        for (message, time) in messages.iter_mut().zip(&times) {
            message.time = *time;
        }
        // The first of those that are equal.
        let most = self.counts.iter().copied().max().unwrap_or(0);
        let format = Format::ALL
            .into_iter()
            .zip(self.counts)
            .find(|(_, count)| *count == most && most > 0)
            .map(|(format, _)| format);
        let capture = Capture {
            format,
            messages,
            count,
            clock,
            boots: self.boots.starts,
            skipped: self.skipped,
            unparsable: self.unparsable,
            first_unparsable: self.first_unparsable,
            years_guessed: self.calendar.years_guessed,
            zone_assumed: self.calendar.zone_assumed,
        };
        (capture, times)
    }
}
