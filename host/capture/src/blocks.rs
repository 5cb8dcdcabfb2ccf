//! Journal entries of several lines: `journalctl -o export`, `-o verbose` and `-o json-pretty`.
//!
//! ```text
//! __CURSOR=s=…                       Sat 2026-11-21 04:14:13.692956 UTC [s=…;i=…;b=…;m=…;t=…;x=…]
//! _TRANSPORT=kernel                      _TRANSPORT=kernel
//! MESSAGE=NVRM: …                        MESSAGE=NVRM: …
//! ```
//!
//! Sources: `journalctl(1)`, systemd's "Journal Export Formats".

use super::{
    Context, MAX_LINE,
    journal_json::{self, JournalEntry},
    line::Line,
};

/// The most bytes of an entry; what is beyond is dropped.
const MAX_ENTRY: usize = 4 * MAX_LINE;

/// The role of a line in an entry.
#[derive(Debug)]
pub(super) enum Step {
    /// No line of an entry.
    Outside,
    /// A line of an entry.
    Taken,
    /// An entry has ended; `taken`: this line is a part of it or of the next one.
    Entry {
        /// The entry.
        line: Line,
        /// Whether the line needs no other reading.
        taken: bool,
    },
}

/// The entry that is being read.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    state: State,
    fields: Vec<(String, Vec<u8>)>,
    size: usize,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Outside,
    Export,
    /// The value of the last field follows, with its size before it.
    ExportBinary,
    Verbose,
    /// `{` alone was read.
    PrettyStart,
    Pretty,
}

impl Blocks {
    /// Takes a line with its indentation.
    pub fn take(&mut self, line: &[u8], context: &mut Context) -> Step {
        let trimmed = line.trim_ascii_start();
        match self.state {
            State::Outside => self.begin(line),
            State::Export | State::ExportBinary => self.export(line, context),
            State::Verbose if trimmed.len() < line.len() => {
                match pair(trimmed) {
                    Some((key, value)) => self.push(key, value),
                    None => self.extend(trimmed),
                }
                Step::Taken
            }
            State::Verbose => self.next(line, context),
            State::PrettyStart => {
                // What else begins with a bracket is dmesg's.
                let is_field = trimmed.starts_with(b"\"")
                    && trimmed
                        .get(1)
                        .is_some_and(|byte| *byte == b'_' || byte.is_ascii_uppercase());
                self.state = if is_field {
                    State::Pretty
                } else {
                    State::Outside
                };
                if is_field {
                    self.push_pretty(trimmed);
                    return Step::Taken;
                }
                Step::Outside
            }
            State::Pretty => {
                self.push_pretty(trimmed);
                if !trimmed.starts_with(b"}") {
                    return Step::Taken;
                }
                self.state = State::Outside;
                let (_, text) = self.fields.pop().unwrap_or_default();
                let text = text.strip_suffix(b",").unwrap_or(&text);
                Step::Entry {
                    line: journal_json::read(text, context).unwrap_or(Line::Unknown),
                    taken: true,
                }
            }
        }
    }

    /// Ends the entry at an empty line or at the end of the file.
    pub fn end(&mut self, context: &mut Context) -> Option<Line> {
        let is_open = matches!(
            self.state,
            State::Export | State::ExportBinary | State::Verbose
        );
        if !is_open {
            return None;
        }
        self.state = State::Outside;
        self.size = 0;
        let fields = std::mem::take(&mut self.fields);
        let entry = JournalEntry::of_fields(&fields);
        Some(entry.to_line(context).unwrap_or(Line::Unknown))
    }

    fn begin(&mut self, line: &[u8]) -> Step {
        self.fields.clear();
        self.size = 0;
        if line.starts_with(b"__CURSOR=") {
            self.state = State::Export;
            return Step::Taken;
        }
        if line == b"{" {
            self.state = State::PrettyStart;
            self.push_pretty(line);
            return Step::Outside;
        }
        let Some(ids) = verbose_ids(line) else {
            return Step::Outside;
        };
        self.state = State::Verbose;
        for id in ids.split(|&byte| byte == b';') {
            match id {
                [b'b', b'=', boot @ ..] => self.push(b"_BOOT_ID", boot),
                [b't', b'=', time @ ..] => self.push_hex("__REALTIME_TIMESTAMP", time),
                [b'm', b'=', time @ ..] => self.push_hex("__MONOTONIC_TIMESTAMP", time),
                _ => {}
            }
        }
        Step::Taken
    }

    fn export(&mut self, line: &[u8], context: &mut Context) -> Step {
        if self.state == State::ExportBinary {
            self.state = State::Export;
            // The size, eight bytes of which all but the first are most often 0.
            let value = line.get(8..).unwrap_or_default();
            if let Some((_, field)) = self.fields.last_mut() {
                field.extend_from_slice(value);
            }
            return Step::Taken;
        }
        if line.starts_with(b"__CURSOR=") {
            return self.next(line, context);
        }
        if let Some((key, value)) = pair(line) {
            self.push(key, value);
        } else if is_key(line) {
            self.push(line, b"");
            self.state = State::ExportBinary;
        } else {
            self.extend(line);
        }
        Step::Taken
    }

    /// The line is no more of this entry.
    fn next(&mut self, line: &[u8], context: &mut Context) -> Step {
        let entry = self.end(context);
        let step = self.begin(line);
        match entry {
            Some(line) => Step::Entry {
                line,
                taken: matches!(step, Step::Taken),
            },
            None => step,
        }
    }

    fn push(&mut self, key: &[u8], value: &[u8]) {
        self.size = self.size.saturating_add(key.len() + value.len());
        if self.size <= MAX_ENTRY {
            let key = String::from_utf8_lossy(key).into_owned();
            self.fields.push((key, value.to_vec()));
        }
    }

    fn push_hex(&mut self, key: &str, value: &[u8]) {
        let number = str::from_utf8(value).ok();
        if let Some(number) = number.and_then(|text| u64::from_str_radix(text, 16).ok()) {
            self.push(key.as_bytes(), number.to_string().as_bytes());
        }
    }

    /// Appends a further line of the last field.
    fn extend(&mut self, line: &[u8]) {
        self.size = self.size.saturating_add(line.len() + 1);
        if self.size <= MAX_ENTRY
            && let Some((_, value)) = self.fields.last_mut()
        {
            value.push(b'\n');
            value.extend_from_slice(line);
        }
    }

    fn push_pretty(&mut self, line: &[u8]) {
        if self.fields.is_empty() {
            self.fields.push((String::new(), Vec::new()));
        }
        self.extend(line);
    }
}

/// `KEY=value`.
fn pair(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = line.iter().position(|&byte| byte == b'=')?;
    let key = line.get(..at)?;
    is_key(key).then_some((key, line.get(at + 1..)?))
}

fn is_key(key: &[u8]) -> bool {
    let inside = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
    !key.is_empty() && key.len() <= 64 && key.iter().all(inside)
}

/// Returns the text in the brackets of a line that begins an entry of `-o verbose`.
fn verbose_ids(line: &[u8]) -> Option<&[u8]> {
    let inside = line.strip_suffix(b"]")?;
    let at = inside.windows(4).position(|four| four == b" [s=")?;
    let ids = inside.get(at + 2..)?;
    ids.windows(3).any(|three| three == b";i=").then_some(ids)
}
