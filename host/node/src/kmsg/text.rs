//! The text of a message, with the kernel's escapes decoded once.
//!
//! printk writes every byte outside printable ASCII, and the backslash, as `\xNN` (`msg_add_ext_text` in the kernel's
//! `kernel/printk/printk.c`). Decoded, tabs, backslashes and printable UTF-8 are what they were. What would break a
//! message into lines or drive a terminal stays escaped: other control characters, the line feed among them, and bytes
//! that are not UTF-8. Nothing above this reader decodes again.

use std::borrow::Cow;

/// The meaning of a backslash in the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Escapes {
    /// `\xNN` is a byte.
    Decode,
    /// A backslash is a backslash.
    None,
}

/// Returns the text of a message.
pub fn text(raw: &[u8], escapes: Escapes) -> Cow<'_, str> {
    let plain = |&byte: &u8| {
        let backslash = byte == b'\\' && escapes == Escapes::Decode;
        ((b' '..=b'~').contains(&byte) && !backslash) || byte == b'\t'
    };
    if raw.iter().all(plain) {
        // All ASCII, so this cannot fail.
        return Cow::Borrowed(str::from_utf8(raw).unwrap_or_default());
    }
    let bytes = match escapes {
        Escapes::Decode => unescape(raw),
        Escapes::None => Cow::Borrowed(raw),
    };
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            if character.is_control() && character != '\t' {
                let mut buffer = [0; 4];
                push_hex(&mut out, character.encode_utf8(&mut buffer).as_bytes());
            } else {
                out.push(character);
            }
        }
        push_hex(&mut out, chunk.invalid());
    }
    Cow::Owned(out)
}

/// Returns a text without the tabs at its beginning. They are layout: patterns are matched against what follows them, and
/// checkers are given that.
pub fn without_layout(text: &str) -> &str {
    text.trim_start_matches('\t')
}

/// Returns a text as the kernel writes it into a record, so that [`text`] gives it back.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if (' '..='~').contains(&character) && character != '\\' {
            out.push(character);
        } else {
            let mut buffer = [0; 4];
            push_hex(&mut out, character.encode_utf8(&mut buffer).as_bytes());
        }
    }
    out
}

/// Returns the bytes with every `\xNN` replaced by the byte that it stands for.
fn unescape(raw: &[u8]) -> Cow<'_, [u8]> {
    if !raw.contains(&b'\\') {
        return Cow::Borrowed(raw);
    }
    let mut out = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((&byte, after)) = rest.split_first() {
        let (decoded, after) = escaped(rest).unwrap_or((byte, after));
        out.push(decoded);
        rest = after;
    }
    Cow::Owned(out)
}

/// The byte that the first four bytes stand for, and what follows them.
fn escaped(bytes: &[u8]) -> Option<(u8, &[u8])> {
    let [b'\\', b'x', high, low, after @ ..] = bytes else {
        return None;
    };
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let value = digit(high)? * 16 + digit(low)?;
    Some((u8::try_from(value).ok()?, after))
}

fn push_hex(out: &mut String, bytes: &[u8]) {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
    for byte in bytes {
        out.extend(['\\', 'x', digit(byte >> 4), digit(byte & 15)]);
    }
}

#[cfg(test)]
mod tests;
