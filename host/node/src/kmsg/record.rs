//! One record of the kernel log: how its bytes are laid out, and what they mean.
//!
//! `‹prefix›,‹sequence›,‹microseconds›[,‹flags›[,‹more›…]];‹text›\n` and then lines of ` KEY=value`. The prefix is
//! facility × 8 + level. The kernel writes control bytes, non-ASCII bytes and the backslash as `\xNN`; these escapes are
//! decoded here and nowhere else (`text.rs`). Source: the kernel's ABI text `dev-kmsg`.

use std::borrow::Cow;

use super::{
    clock::BootClock,
    text::{self, Escapes},
};

/// The largest record in bytes, header and dictionary included: what one read of `/dev/kmsg` can return.
pub const MAX_RECORD: usize = 8192;

/// One message of the kernel log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelMessage {
    /// Sequence number; grows by one per record from 0 at boot.
    pub sequence: u64,
    /// Wall-clock time, Unix milliseconds (see [`BootClock`]).
    pub time: u64,
    /// The kernel's own timestamp, microseconds since boot.
    pub monotonic_micros: u64,
    /// Severity: 0 (emergency) to 7 (debug).
    pub level: u8,
    /// The facility that wrote it: 0 kernel, 1 user, 3 daemon, 5 syslog (what user space injects), …
    pub facility: u32,
    /// The text up to its first line end, decoded: tabs, backslashes and printable UTF-8 as they are; other control
    /// characters and invalid bytes as `\xNN`.
    pub text: String,
    /// The record's `KEY=value` lines, in order (`SUBSYSTEM`, `DEVICE`, …), decoded like the text.
    pub dictionary: Vec<(String, String)>,
    /// The record is a later piece of a line that was printed in pieces (flag `c`, on old kernels `+`). Its beginning is
    /// not that of a line: it can be the name of a cgroup, for example, which a user chose. So no watcher gets it.
    pub fragment: bool,
}

/// Why bytes are not a record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// There is nothing that ends the header.
    #[error("no ';' in the record")]
    NoSemicolon,
    /// The header has less than prefix, sequence and timestamp.
    #[error("fewer than three comma-separated fields before the ';'")]
    FewFields,
    /// A header field is not a decimal number or does not fit.
    #[error("the {0} is not a decimal number in range")]
    BadNumber(&'static str),
    /// Longer than [`MAX_RECORD`].
    #[error("{0} bytes, more than a record can have")]
    TooLong(usize),
}

/// Reads one record.
pub fn parse(raw: &[u8], boot: BootClock) -> Result<KernelMessage, RecordError> {
    Ok(RawRecord::split(raw)?.to_message(boot))
}

/// A record taken apart without copying: enough to account for it and to match its text.
#[derive(Debug, Clone, Copy)]
pub struct RawRecord<'a> {
    /// Sequence number.
    pub sequence: u64,
    /// Microseconds since boot.
    pub monotonic_micros: u64,
    prefix: u32,
    fragment: bool,
    body: &'a [u8],
}

impl<'a> RawRecord<'a> {
    /// Checks the header. Fields after the third are not required, and unknown ones are ignored.
    pub fn split(raw: &'a [u8]) -> Result<Self, RecordError> {
        if raw.len() > MAX_RECORD {
            return Err(RecordError::TooLong(raw.len()));
        }
        let (header, body) = split_once(raw, b';').ok_or(RecordError::NoSemicolon)?;
        let mut fields = header.split(|&byte| byte == b',');
        let (Some(prefix), Some(sequence), Some(micros)) =
            (fields.next(), fields.next(), fields.next())
        else {
            return Err(RecordError::FewFields);
        };
        Ok(Self {
            sequence: decimal(sequence).ok_or(RecordError::BadNumber("sequence number"))?,
            monotonic_micros: decimal(micros).ok_or(RecordError::BadNumber("timestamp"))?,
            prefix: decimal(prefix)
                .and_then(|number| u32::try_from(number).ok())
                .ok_or(RecordError::BadNumber("priority"))?,
            fragment: matches!(fields.next(), Some(b"c" | b"+")),
            body,
        })
    }

    /// Whether this is a later piece of a line, as in [`KernelMessage::fragment`].
    pub fn is_fragment(&self) -> bool {
        self.fragment
    }

    /// The text, decoded as in [`KernelMessage::text`]; copied only if it has escapes.
    pub fn text(&self) -> Cow<'a, str> {
        let raw = split_once(self.body, b'\n').map_or(self.body, |(text, _)| text);
        text::text(raw, Escapes::Decode)
    }

    /// Copies the record into a message.
    pub fn to_message(&self, boot: BootClock) -> KernelMessage {
        let (_, rest) = split_once(self.body, b'\n').unwrap_or((self.body, &[]));
        let dictionary = rest
            .split(|&byte| byte == b'\n')
            .filter_map(|line| split_once(line.strip_prefix(b" ")?, b'='))
            .map(|(key, value)| (decoded(key), decoded(value)))
            .collect();
        KernelMessage {
            sequence: self.sequence,
            time: boot.unix_ms(self.monotonic_micros),
            monotonic_micros: self.monotonic_micros,
            level: (self.prefix & 7) as u8,
            facility: self.prefix >> 3,
            text: self.text().into_owned(),
            dictionary,
            fragment: self.fragment,
        }
    }
}

fn split_once(bytes: &[u8], separator: u8) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().position(|&byte| byte == separator)?;
    Some((bytes.get(..at)?, bytes.get(at + 1..)?))
}

/// A leading `+` is accepted, as GPUd does; blanks and a minus sign are not.
fn decimal(digits: &[u8]) -> Option<u64> {
    let digits = digits.strip_prefix(b"+").unwrap_or(digits);
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn decoded(bytes: &[u8]) -> String {
    text::text(bytes, Escapes::Decode).into_owned()
}

#[cfg(test)]
mod tests;
