//! One line of a capture: who logged what when.
//!
//! The forms differ in how a line begins, so each line tells its own form and a file may mix them. Only seconds since
//! boot are two forms: whether a host and a program follow is for the whole file to say ([`names_a_program`]).

use super::{
    calendar::Calendar,
    escape::{self, Backslash},
    format::Format,
    journal_json, priority,
    scan::Scan,
    stamp::{self, Stamp},
};
use crate::node::kmsg::{self, BootClock, KernelMessage};

/// What a line is.
#[derive(Debug)]
pub(super) enum Line {
    /// A message of the kernel log.
    Message(Message),
    /// Logged by another program than the kernel.
    Other(Format),
    /// Of no form.
    Unknown,
}

/// A message of which only the wall-clock time is missing.
#[derive(Debug)]
pub(super) struct Message {
    pub format: Format,
    pub stamp: Stamp,
    /// Microseconds since boot, where the line has them.
    pub micros: Option<u64>,
    /// Which boot it was, where the line says it.
    pub boot: Option<u128>,
    /// `time` is 0, and so is `sequence` where the form has none.
    pub message: KernelMessage,
    /// Bytes before the text: further lines of the message are indented as much.
    pub indent: usize,
}

impl Message {
    pub fn new(format: Format, stamp: Stamp, text: String) -> Self {
        Self {
            format,
            stamp,
            micros: None,
            boot: None,
            message: KernelMessage {
                sequence: 0,
                time: 0,
                monotonic_micros: 0,
                level: priority::DEFAULT_LEVEL,
                facility: 0,
                text,
                dictionary: Vec::new(),
                fragment: false,
            },
            indent: 0,
        }
    }

    /// Sets the kernel's own time; 0 where it is not known.
    pub fn set_micros(&mut self, micros: Option<u64>) {
        self.micros = micros;
        self.message.monotonic_micros = micros.unwrap_or(0);
    }
}

/// Reads a line. `programs`: a host and a program follow seconds since boot.
pub(super) fn read(line: &[u8], calendar: &mut Calendar, programs: bool) -> Line {
    let scan = Scan(line);
    let found = match line.first() {
        Some(b'0'..=b'9') => absolute(scan, calendar),
        Some(b'[') => bracketed(scan, calendar, programs),
        Some(b'<') => raw(scan, calendar, programs),
        Some(b'A'..=b'Z') => dated(scan, calendar),
        Some(b'a'..=b'z') => decoded(scan, calendar),
        _ => None,
    };
    let Some(parts) = found else {
        return record(line)
            .or_else(|| journal_json::read(line))
            .unwrap_or(Line::Unknown);
    };
    let Author::Kernel(text) = parts.author else {
        return Line::Other(parts.format);
    };
    let mut message = Message::new(parts.format, parts.stamp, parts.text(text));
    message.set_micros(parts.micros);
    message.message.level = parts.level;
    message.message.facility = parts.facility;
    message.indent = line.len() - text.len();
    Line::Message(message)
}

/// A line taken apart.
struct Parts<'a> {
    format: Format,
    stamp: Stamp,
    micros: Option<u64>,
    level: u8,
    facility: u32,
    author: Author<'a>,
}

enum Author<'a> {
    Kernel(&'a [u8]),
    Other,
}

impl<'a> Parts<'a> {
    fn kernel((format, stamp): (Format, Stamp), text: &'a [u8]) -> Self {
        let micros = match stamp {
            Stamp::Boot(micros) => Some(micros),
            _ => None,
        };
        Self {
            format,
            stamp,
            micros,
            level: priority::DEFAULT_LEVEL,
            facility: 0,
            author: Author::Kernel(text),
        }
    }

    fn other(format: Format) -> Self {
        Self {
            author: Author::Other,
            ..Self::kernel((format, Stamp::None), &[])
        }
    }

    /// `HOST kernel: text` after a stamp; rsyslog leaves the kernel's own stamp at the text's beginning.
    fn syslog(format: Format, stamp: Stamp, rest: Scan<'a>) -> Self {
        let Some(Author::Kernel(text)) = program(rest) else {
            return Self::other(format);
        };
        let mut scan = Scan(text);
        match stamp::kernel(&mut scan) {
            None => Self::kernel((format, stamp), text),
            micros => Self {
                micros,
                ..Self::kernel((format, stamp), scan.0)
            },
        }
    }

    fn text(&self, text: &[u8]) -> String {
        match self.format {
            Format::Syslog | Format::SyslogIso => {
                escape::text(&escape::rsyslog(text), Backslash::Tool)
            }
            _ => escape::text(text, Backslash::Tool),
        }
    }
}

/// An ISO date, or seconds since 1970.
fn absolute<'a>(mut scan: Scan<'a>, calendar: &mut Calendar) -> Option<Parts<'a>> {
    if scan.0.get(4) != Some(&b'-') {
        let stamp = stamp::unix(&mut scan)?;
        return Some(Parts::syslog(Format::JournalUnix, stamp, scan));
    }
    let (format, stamp) = stamp::iso(&mut scan, calendar)?;
    Some(match format {
        Format::DmesgIso => Parts::kernel((format, stamp), scan.0),
        _ => Parts::syslog(format, stamp, scan),
    })
}

/// A month, or a weekday and an ISO date.
fn dated<'a>(mut scan: Scan<'a>, calendar: &mut Calendar) -> Option<Parts<'a>> {
    let start = scan;
    if let Some(stamp) = stamp::syslog(&mut scan, calendar) {
        return Some(Parts::syslog(Format::Syslog, stamp, scan));
    }
    scan = start;
    let stamp = stamp::journal_full(&mut scan, calendar)?;
    Some(Parts::syslog(Format::JournalFull, stamp, scan))
}

/// A stamp within brackets.
fn bracketed<'a>(mut scan: Scan<'a>, calendar: &mut Calendar, programs: bool) -> Option<Parts<'a>> {
    let (format, stamp) = stamp::bracket(&mut scan, calendar)?;
    let mut parts = Parts::kernel((format, stamp), scan.0);
    if programs
        && format == Format::Dmesg
        && let Some(author) = program(scan)
    {
        parts.format = Format::JournalMonotonic;
        parts.author = author;
    }
    Some(parts)
}

/// `<6>` and a stamp or none; also a syslog daemon's, as it travels.
fn raw<'a>(mut scan: Scan<'a>, calendar: &mut Calendar, programs: bool) -> Option<Parts<'a>> {
    scan.literal(b"<")?;
    let prefix = u32::try_from(scan.number()?).ok()?;
    scan.literal(b">")?;
    let parts = bracketed(scan, calendar, programs)
        .map(|parts| Parts {
            format: match parts.format {
                Format::Dmesg => Format::DmesgRaw,
                other => other,
            },
            ..parts
        })
        .or_else(|| dated(scan, calendar))
        .unwrap_or(Parts::kernel((Format::DmesgRaw, Stamp::None), scan.0));
    let (level, facility) = priority::split(prefix);
    Some(Parts {
        level,
        facility,
        ..parts
    })
}

/// `kern  :info  : ` of `dmesg -x`, and a stamp or none.
fn decoded<'a>(mut scan: Scan<'a>, calendar: &mut Calendar) -> Option<Parts<'a>> {
    let (level, facility) = priority::decoded(&mut scan)?;
    let parts = bracketed(scan, calendar, false)
        .or_else(|| absolute(scan, calendar).filter(|parts| parts.format == Format::DmesgIso))
        .unwrap_or(Parts::kernel((Format::Plain, Stamp::None), scan.0));
    Some(Parts {
        level,
        facility,
        ..parts
    })
}

/// Who logged: `[HOST ]PROGRAM: text`. Anything that is not the kernel is someone else; `None` where no program stands
/// there at all.
fn program(mut scan: Scan) -> Option<Author> {
    for _ in 0..2 {
        let word = scan.word();
        if word == b"kernel:" {
            return Some(Author::Kernel(scan.0));
        }
        if word.ends_with(b":") {
            return Some(Author::Other);
        }
    }
    None
}

/// Whether the line has seconds since boot, whether a program follows them, and whether that is the kernel.
pub(super) fn names_a_program(line: &[u8]) -> Option<Option<bool>> {
    let mut scan = Scan(line);
    stamp::kernel(&mut scan)?;
    Some(program(scan).map(|author| matches!(author, Author::Kernel(_))))
}

/// A record of `/dev/kmsg`. Where a tool has put bytes that the kernel would not, they are escaped.
fn record(line: &[u8]) -> Option<Line> {
    if !line.first()?.is_ascii_digit() {
        return None;
    }
    let escaped = escape::text(line, Backslash::Kernel);
    let record = kmsg::parse(escaped.as_bytes(), BootClock::booted_at(0)).ok()?;
    let mut message = Message::new(
        Format::Kmsg,
        Stamp::Boot(record.monotonic_micros),
        String::new(),
    );
    message.micros = Some(record.monotonic_micros);
    message.message = record;
    Some(Line::Message(message))
}
