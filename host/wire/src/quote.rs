//! Quoting of a caller's text inside error messages, in the two ways of Go's standard library.

use std::fmt::Write as _;

/// As Go's `strconv.Quote`: double quotes, escapes for control and unprintable characters, printable Unicode unchanged.
pub fn go_quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\u{07}' => out.push_str("\\a"),
            '\u{08}' => out.push_str("\\b"),
            '\u{0c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{0b}' => out.push_str("\\v"),
            c if c < ' ' || c == '\u{7f}' => push_hex(&mut out, "\\x", u32::from(c), 2),
            c if printable(c) => out.push(c),
            c if u32::from(c) < 0x1_0000 => push_hex(&mut out, "\\u", u32::from(c), 4),
            c => push_hex(&mut out, "\\U", u32::from(c), 8),
        }
    }
    out.push('"');
    out
}

/// As Go's `time` package quotes a bad duration: every byte below a space or above ASCII as `\xNN`.
pub(super) fn time_quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(byte)]),
            b' '..=0x7f => out.push(char::from(byte)),
            _ => push_hex(&mut out, "\\x", u32::from(byte), 2),
        }
    }
    out.push('"');
    out
}

/// Rust's debug form escapes what has no visible form, combining marks aside; close enough to Go's `IsPrint`.
fn printable(c: char) -> bool {
    !c.is_control()
        && (c == ' ' || !c.is_whitespace())
        && !c.escape_debug().to_string().starts_with("\\u")
}

fn push_hex(out: &mut String, prefix: &str, code: u32, width: usize) {
    // Writing to a String cannot fail.
    let _ = write!(out, "{prefix}{code:0width$x}");
}

#[cfg(test)]
mod tests {
    use super::{go_quote, time_quote};

    #[test]
    fn both_quotings_as_go_does() {
        for (text, strconv, time) in [
            ("x", r#""x""#, r#""x""#),
            ("a\"b\n", r#""a\"b\n""#, r#""a\"b\x0a""#),
            ("é", "\"é\"", r#""\xc3\xa9""#),
            ("\u{200b}", r#""\u200b""#, r#""\xe2\x80\x8b""#),
            ("1\u{7f}", r#""1\x7f""#, "\"1\u{7f}\""),
        ] {
            assert_eq!(go_quote(text), strconv);
            assert_eq!(time_quote(text), time);
        }
    }
}
