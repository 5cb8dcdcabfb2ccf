//! A message's bytes as the kernel writes them in a record: printable ASCII, and `\xNN` for everything else, the
//! backslash included. Matchers are written against that form. Source: the kernel's ABI text `dev-kmsg`.

use std::borrow::Cow;

/// What a backslash in a capture is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Backslash {
    /// The kernel's own escape: kept.
    Kernel,
    /// The start of `\xNN` where a tool could not print a byte (dmesg, some syslog daemons): kept; else a character.
    Tool,
    /// A character of the message.
    Character,
}

/// Appends `bytes` to `out`.
pub(super) fn push(out: &mut String, mut bytes: &[u8], backslash: Backslash) {
    out.reserve(bytes.len());
    while !bytes.is_empty() {
        let plain = bytes
            .iter()
            .position(|&byte| !(b' '..=b'~').contains(&byte) || byte == b'\\')
            .unwrap_or(bytes.len());
        let (run, rest) = bytes.split_at(plain);
        // All ASCII.
        out.push_str(str::from_utf8(run).unwrap_or_default());
        let Some((&byte, after)) = rest.split_first() else {
            return;
        };
        let kept = byte == b'\\'
            && match backslash {
                Backslash::Kernel => true,
                Backslash::Tool => is_escape(after),
                Backslash::Character => false,
            };
        if kept {
            out.push('\\');
        } else {
            push_hex(out, byte);
        }
        bytes = after;
    }
}

/// `bytes` as text.
pub(super) fn text(bytes: &[u8], backslash: Backslash) -> String {
    let mut out = String::new();
    push(&mut out, bytes, backslash);
    out
}

/// A message of several lines, without the line ends at its end: the kernel stores none there.
pub(super) fn without_line_end(mut message: &[u8]) -> &[u8] {
    while let Some(shorter) = message.strip_suffix(b"\n") {
        message = shorter;
    }
    message
}

/// One byte as the kernel escapes it.
fn push_hex(out: &mut String, byte: u8) {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0');
    out.extend(['\\', 'x', digit(byte >> 4), digit(byte & 15)]);
}

fn is_escape(after: &[u8]) -> bool {
    matches!(after, [b'x', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit())
}

/// rsyslog writes control characters as `#` and three octal digits. Only the two that kernel messages have are taken
/// back, line end and tab: `#001` may well be a number.
pub(super) fn rsyslog(text: &[u8]) -> Cow<'_, [u8]> {
    if !text.windows(4).any(|four| rsyslog_control(four).is_some()) {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        match rsyslog_control(rest) {
            Some(control) => {
                out.push(control);
                rest = rest.get(4..).unwrap_or_default();
            }
            None => {
                out.push(byte);
                rest = after;
            }
        }
    }
    Cow::Owned(out)
}

fn rsyslog_control(text: &[u8]) -> Option<u8> {
    match text {
        [b'#', b'0', b'1', b'2', ..] => Some(b'\n'),
        [b'#', b'0', b'1', b'1', ..] => Some(b'\t'),
        _ => None,
    }
}

/// The line without terminal sequences: colours (`ESC [ … letter`) and links (`ESC ] … BEL` or `ESC \`). Source:
/// ECMA-48; an unfinished one reaches to the end.
pub(super) fn strip_terminal(line: &[u8]) -> Cow<'_, [u8]> {
    const ESC: u8 = 0x1b;
    if !line.contains(&ESC) {
        return Cow::Borrowed(line);
    }
    let mut out = Vec::with_capacity(line.len());
    let mut bytes = line.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte != ESC {
            out.push(byte);
            continue;
        }
        match bytes.next() {
            Some(b'[') => {
                let _ = bytes.find(|byte| (0x40..=0x7e).contains(byte));
            }
            Some(b']') => {
                while let Some(byte) = bytes.next() {
                    if byte == 0x07 || (byte == ESC && bytes.next() == Some(b'\\')) {
                        break;
                    }
                }
            }
            // Any other sequence has two bytes.
            _ => {}
        }
    }
    Cow::Owned(out)
}
