//! The bytes of a saved line as a message's text, as the kernel log's reader gives it (`node::kmsg`).

use std::borrow::Cow;

use crate::node::kmsg::{self, Escapes};

/// The meaning of a backslash in a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Backslash {
    /// The start of `\xNN`, written by the kernel, or by a tool that could not print a byte (dmesg, some syslog daemons);
    /// otherwise a character.
    Escape,
    /// A character of the message.
    Character,
}

/// Appends `bytes` to `out`.
pub(super) fn push(out: &mut String, bytes: &[u8], backslash: Backslash) {
    let escapes = match backslash {
        Backslash::Escape => Escapes::Decode,
        Backslash::Character => Escapes::None,
    };
    out.push_str(&kmsg::text(bytes, escapes));
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
