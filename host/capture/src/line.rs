//! One line in one of the common formats: who logged what when.
//!
//! The formats differ in how a line begins, so the format of each line is detected separately and a file may mix them.
//! Lines that fit none of these go on to [`super::prefixed`].

use super::{
    Context,
    escape::{self, Backslash},
    format::Format,
    hosts::{self, HostId, NO_HOST},
    journal_json, kernel_text, priority,
    scan::Scan,
    stamp::{self, Decimals, Stamp},
};
use crate::node::kmsg::{self, BootClock, KernelMessage};

/// The kind of a line, with its content.
#[derive(Debug)]
pub(super) enum Line {
    /// A message of the kernel log.
    Message(Message),
    /// Logged by another program than the kernel.
    Other(Format),
    /// Of no common format.
    Unknown,
}

/// A message of which only the wall-clock time is missing.
#[derive(Debug)]
pub(super) struct Message {
    pub format: Format,
    pub host: HostId,
    pub stamp: Stamp,
    /// Microseconds since boot, where the line has them.
    pub micros: Option<u64>,
    /// The id of the boot, if the line states it.
    pub boot: Option<u128>,
    /// `time` is 0, and so is `sequence` where the format has none.
    pub message: KernelMessage,
    /// Bytes before the text: further lines of the message are indented as much.
    pub indent: usize,
}

impl Message {
    pub fn new(format: Format, stamp: Stamp, text: String) -> Self {
        Self {
            format,
            host: NO_HOST,
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

/// Reads a line of a common format.
pub(super) fn read(line: &[u8], context: &mut Context) -> Line {
    let scan = Scan(line);
    let found = match line.first() {
        Some(b'0'..=b'9') => absolute(scan, context),
        Some(b'[') => bracketed(scan, context),
        Some(b'<') => raw(scan, context),
        Some(b'A'..=b'Z') => dated(scan, context),
        Some(b'a'..=b'z') => decoded(scan, context).or_else(|| bare(scan)),
        _ => None,
    };
    let Some(parts) = found else {
        return record(line)
            .or_else(|| journal_json::read(line, context))
            .unwrap_or(Line::Unknown);
    };
    let LineContent::Kernel(text) = parts.content else {
        return Line::Other(parts.format);
    };
    let mut message = Message::new(parts.format, parts.stamp, parts.text(text));
    message.host = context.hosts.number(parts.host);
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
    /// Empty where the line names none.
    host: &'a [u8],
    content: LineContent<'a>,
}

enum LineContent<'a> {
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
            host: b"",
            content: LineContent::Kernel(text),
        }
    }

    fn other(format: Format) -> Self {
        Self {
            content: LineContent::Other,
            ..Self::kernel((format, Stamp::None), &[])
        }
    }

    /// `HOST kernel: text` after a stamp; rsyslog leaves the kernel's own stamp at the text's beginning. `None`: no
    /// program is named where one should be.
    fn syslog(format: Format, stamp: Stamp, rest: Scan<'a>) -> Option<Self> {
        let program = Program::read(rest)?;
        let LineContent::Kernel(text) = program.content else {
            return Some(Self::other(format));
        };
        let mut scan = Scan(text);
        let own = stamp::kernel(&mut scan, Decimals::Any);
        let text = if own.is_some() { scan.0 } else { text };
        Some(Self {
            micros: own,
            host: program.host,
            level: program.level.unwrap_or(priority::DEFAULT_LEVEL),
            ..Self::kernel((format, stamp), text)
        })
    }

    fn text(&self, text: &[u8]) -> String {
        match self.format {
            Format::Syslog | Format::SyslogIso => {
                escape::text(&escape::rsyslog(text), Backslash::Escape)
            }
            _ => escape::text(text, Backslash::Escape),
        }
    }
}

/// An ISO date, or seconds since 1970.
fn absolute<'a>(mut scan: Scan<'a>, context: &mut Context) -> Option<Parts<'a>> {
    if scan.0.get(4) != Some(&b'-') {
        let stamp = stamp::unix(&mut scan)?;
        return Parts::syslog(Format::JournalUnix, stamp, scan);
    }
    // dmesg writes a `T` and a comma; a comma alone is of other tools.
    let has_space = scan.0.get(10) == Some(&b' ');
    let (format, stamp) = stamp::iso(&mut scan, &mut context.calendar)?;
    match format {
        Format::DmesgIso if has_space => Parts::syslog(Format::SyslogIso, stamp, scan),
        Format::DmesgIso => Some(Parts::kernel((format, stamp), scan.0)),
        _ => Parts::syslog(format, stamp, scan),
    }
}

/// A month, or a weekday and an ISO date.
fn dated<'a>(mut scan: Scan<'a>, context: &mut Context) -> Option<Parts<'a>> {
    let start = scan;
    if let Some(stamp) = stamp::syslog(&mut scan, &mut context.calendar) {
        return Parts::syslog(Format::Syslog, stamp, scan);
    }
    scan = start;
    let stamp = stamp::journal_full(&mut scan, &mut context.calendar)?;
    Parts::syslog(Format::JournalFull, stamp, scan)
}

/// A stamp within brackets; journalctl writes a host and a program behind seconds since boot.
fn bracketed<'a>(mut scan: Scan<'a>, context: &mut Context) -> Option<Parts<'a>> {
    let (format, stamp) = stamp::bracket(&mut scan, &mut context.calendar)?;
    let parts = Parts::kernel((format, stamp), scan.0);
    if format != Format::Dmesg {
        return Some(parts);
    }
    Some(match Program::after_seconds(scan) {
        Some(program) => Parts {
            format: Format::JournalMonotonic,
            host: program.host,
            content: program.content,
            ..parts
        },
        None => parts,
    })
}

/// `<6>` and a stamp or none; also a syslog daemon's, as it travels (RFC 3164 and RFC 5424).
fn raw<'a>(mut scan: Scan<'a>, context: &mut Context) -> Option<Parts<'a>> {
    let prefix = priority::bracketed(&mut scan)?;
    let parts = if scan.maybe(b"1 ") {
        rfc5424(scan, context)?
    } else {
        bracketed(scan, context)
            .map(|parts| Parts {
                format: match parts.format {
                    Format::Dmesg => Format::DmesgRaw,
                    other => other,
                },
                ..parts
            })
            .or_else(|| dated(scan, context))
            .or_else(|| absolute(scan, context))
            .or_else(|| bare(scan))
            .unwrap_or(Parts::kernel((Format::DmesgRaw, Stamp::None), scan.0))
    };
    let (level, facility) = priority::split(prefix);
    Some(Parts {
        level,
        facility,
        ..parts
    })
}

/// `STAMP HOST APP-NAME PROCID MSGID STRUCTURED-DATA text` (RFC 5424).
fn rfc5424<'a>(mut scan: Scan<'a>, context: &mut Context) -> Option<Parts<'a>> {
    let stamp = match scan.maybe(b"- ") {
        true => Stamp::None,
        false => stamp::iso(&mut scan, &mut context.calendar)?.1,
    };
    let host = scan.word();
    let program = scan.word();
    if program != b"kernel" {
        return Some(Parts::other(Format::SyslogIso));
    }
    let (_process, _id) = (scan.word(), scan.word());
    stamp::structured_data(&mut scan)?;
    scan.maybe("\u{feff}".as_bytes());
    let mut text = scan;
    let own = stamp::kernel(&mut text, Decimals::Any);
    let text = if own.is_some() { text } else { scan };
    Some(Parts {
        micros: own,
        host,
        ..Parts::kernel((Format::SyslogIso, stamp), text.0)
    })
}

/// `kern  :info  : ` of `dmesg -x`, and a stamp or none.
fn decoded<'a>(mut scan: Scan<'a>, context: &mut Context) -> Option<Parts<'a>> {
    let (level, facility) = priority::decoded(&mut scan)?;
    let mut stamped = scan;
    let parts = stamp::bracket(&mut stamped, &mut context.calendar)
        .map(|stamp| Parts::kernel(stamp, stamped.0))
        .or_else(|| absolute(scan, context).filter(|parts| parts.format == Format::DmesgIso))
        .unwrap_or(Parts::kernel((Format::Plain, Stamp::None), scan.0));
    Some(Parts {
        level,
        facility,
        ..parts
    })
}

/// `kernel: text` without anything before it.
fn bare(mut scan: Scan) -> Option<Parts> {
    scan.literal(b"kernel:")?;
    scan.maybe(b" ");
    let mut text = scan;
    Some(match stamp::kernel(&mut text, Decimals::Any) {
        Some(micros) => Parts::kernel((Format::Dmesg, Stamp::Boot(micros)), text.0),
        None => Parts::kernel((Format::Plain, Stamp::None), scan.0),
    })
}

/// The logging program: `[HOST ][LEVEL ]PROGRAM: text`.
struct Program<'a> {
    host: &'a [u8],
    level: Option<u8>,
    content: LineContent<'a>,
}

impl<'a> Program<'a> {
    /// Reads what follows a syslog stamp. Any program that is not the kernel is another one; `None` where none is named.
    fn read(mut scan: Scan<'a>) -> Option<Self> {
        let mut program = Self {
            host: b"",
            level: None,
            content: LineContent::Other,
        };
        for _ in 0..3 {
            let start = scan.0;
            let word = scan.word();
            // Some collectors write `kernel[0]:`, some syslog daemons `vmunix:`.
            let is_kernel = matches!(word, b"kernel:" | b"kernel[0]:" | b"vmunix:");
            if is_kernel {
                program.content = LineContent::Kernel(scan.0);
                return Some(program);
            }
            if kernel_text::is_tag(word) && word.ends_with(b":") {
                program.content = LineContent::Kernel(start);
                return Some(program);
            }
            match priority::word(word) {
                Some(level) => program.level = Some(level),
                None if word.ends_with(b":") => return Some(program),
                None if program.host.is_empty() && hosts::is_host(word) => program.host = word,
                None => return None,
            }
        }
        None
    }

    /// Reads what follows seconds since boot, if a host and a program do: `HOST kernel: `, `HOST PROGRAM[PID]: `.
    fn after_seconds(mut scan: Scan<'a>) -> Option<Self> {
        let first = scan.word();
        let (host, program) = match first.ends_with(b":") {
            true => (&b""[..], first),
            false => (first, scan.word()),
        };
        if program == b"kernel:" {
            let content = LineContent::Kernel(scan.0);
            return Some(Self {
                host,
                level: None,
                content,
            });
        }
        let is_other = program.ends_with(b"]:") && hosts::is_host(host);
        (is_other && has_process_id(program)).then_some(Self {
            host,
            level: None,
            content: LineContent::Other,
        })
    }
}

/// Whether this is `PROGRAM[PID]:`.
pub(super) fn has_process_id(word: &[u8]) -> bool {
    let word = word.strip_suffix(b":").unwrap_or(word);
    let Some(word) = word.strip_suffix(b"]") else {
        return false;
    };
    let digits = word.iter().rev().take_while(|byte| byte.is_ascii_digit());
    let digits = digits.count();
    let before = word.len() - digits;
    digits > 0 && before > 1 && word.get(before - 1) == Some(&b'[') && !word.starts_with(b"kernel[")
}

/// A record of `/dev/kmsg`.
fn record(line: &[u8]) -> Option<Line> {
    if !line.first()?.is_ascii_digit() {
        return None;
    }
    let record = kmsg::parse(line, BootClock::booted_at(0)).ok()?;
    let mut message = Message::new(
        Format::Kmsg,
        Stamp::Boot(record.monotonic_micros),
        String::new(),
    );
    message.micros = Some(record.monotonic_micros);
    message.message = record;
    Some(Line::Message(message))
}
