//! Text that is safe to show: on a terminal, in a log line, in the query of a URL.

use std::{borrow::Cow, fmt::Write as _};

/// Returns the text on one line, with escapes for control characters and for characters that are invisible or change the
/// order of others.
///
/// The text of a plugin or a kernel line can then neither drive the terminal of the person who reads it nor look like
/// something else.
pub fn printable(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.trim().chars() {
        match character {
            '\n' | '\t' | '\r' => line.push(' '),
            c => push_visible(&mut line, c),
        }
    }
    line
}

/// Returns the text with the same escapes, and with its line breaks, tabs and blanks at the ends: for a message of several
/// lines that quotes names of files, or what is in them.
pub fn printable_lines(text: &str) -> String {
    let mut lines = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => lines.push(character),
            c => push_visible(&mut lines, c),
        }
    }
    lines
}

/// Returns a command's output with the escapes of JSON for characters that JSON leaves as they are and a terminal does not:
/// controls beyond ASCII, and what is invisible or changes the order of other characters.
///
/// A document means the same with them. Other output has no such characters left.
pub fn printable_json(output: &str) -> Cow<'_, str> {
    let is_escaped =
        |c: char| (c.is_control() && !c.is_ascii()) || c == '\u{7f}' || is_deceptive(c);
    if !output.contains(is_escaped) {
        return Cow::Borrowed(output);
    }
    let mut text = String::with_capacity(output.len() + 64);
    for character in output.chars() {
        if is_escaped(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing to a string never fails.
                let _ = write!(text, "\\u{unit:04x}");
            }
        } else {
            text.push(character);
        }
    }
    Cow::Owned(text)
}

fn push_visible(line: &mut String, character: char) {
    match character {
        c if c.is_control() || is_deceptive(c) => line.extend(c.escape_unicode()),
        c => line.push(c),
    }
}

/// Returns whether a character is invisible or changes the direction of text. The joiners stay: some scripts need them.
fn is_deceptive(character: char) -> bool {
    matches!(
        character,
        '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

/// Encodes a text as the value of a URL's query.
pub fn encode_query_value(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_cannot_drive_the_terminal() {
        assert_eq!(
            printable(" a\nb\u{1b}[2Jc\u{9b}d\t"),
            "a b\\u{1b}[2Jc\\u{9b}d"
        );
        assert_eq!(
            printable("x\u{202e}gpj.\u{2066}e\u{200b}\u{e0041}"),
            "x\\u{202e}gpj.\\u{2066}e\\u{200b}\\u{e0041}"
        );
        assert_eq!(
            printable("می\u{200c}خواهم 東京 é"),
            "می\u{200c}خواهم 東京 é"
        );
    }

    #[test]
    fn lines_of_a_message_stay_and_nothing_else_drives_the_terminal() {
        assert_eq!(
            printable_lines("a\u{1b}]0;x\u{7}\n  b\tc\r\u{9b}1m\n"),
            "a\\u{1b}]0;x\\u{7}\n  b\tc\\u{d}\\u{9b}1m\n"
        );
        assert_eq!(printable_lines("x\u{202e}y"), "x\\u{202e}y");
    }

    #[test]
    fn documents_mean_the_same_and_do_not_drive_the_terminal() {
        let value = "a\u{1b}[2J\u{9b}31m\u{7f}\u{202e}\u{e0041}\u{200c}é\n";
        let document = serde_json::to_string(value).unwrap() + "\n";
        let shown = printable_json(&document);
        assert_eq!(
            shown,
            "\"a\\u001b[2J\\u009b31m\\u007f\\u202e\\udb40\\udc41\u{200c}é\\n\"\n"
        );
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), value);
        let plain = "\u{1b}[31mred\u{1b}[0m, é\n";
        assert!(matches!(printable_json(plain), Cow::Borrowed(same) if same == plain));
    }

    #[test]
    fn names_in_queries() {
        assert_eq!(
            encode_query_value("accelerator-nvidia_a.b~1"),
            "accelerator-nvidia_a.b~1"
        );
        assert_eq!(encode_query_value("a b&c,é"), "a%20b%26c%2C%C3%A9");
    }
}
