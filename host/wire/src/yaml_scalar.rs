//! How a text is written in YAML so that YAML 1.1 and 1.2 readers both get the same text back.

use std::fmt::Write as _;

/// The form of a text as a YAML scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// As it is.
    Plain,
    /// Between single quotes.
    Single,
    /// Between double quotes with escapes.
    Double,
    /// A block of lines under `|`.
    Literal,
}

/// Words that YAML 1.1 reads as a truth value, nothing, a special float or a merge.
const WORDS: &[&str] = &[
    "y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE", "n", "N", "no", "No",
    "NO", "off", "Off", "OFF", "false", "False", "FALSE", "", "~", "null", "Null", "NULL", "<<",
    ".nan", ".NaN", ".NAN", ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf",
    "-.INF",
];

/// Chooses the form in the manner of Go's YAML encoder.
pub(super) fn style(text: &str) -> Style {
    if WORDS.contains(&text) || reads_as_number(text) || reads_as_date(text) {
        return Style::Double;
    }
    if !text.chars().all(|c| c == '\n' || shown(c)) {
        return Style::Double;
    }
    if text.contains('\n') {
        // Leading blanks would need an indentation hint, blanks before a line's end are easily lost.
        let fragile = text.starts_with([' ', '\n']) || text.contains(" \n") || text.ends_with(' ');
        return if fragile {
            Style::Double
        } else {
            Style::Literal
        };
    }
    if plain(text) {
        Style::Plain
    } else {
        Style::Single
    }
}

/// A character that may occur in a scalar without an escape.
fn shown(c: char) -> bool {
    matches!(c, ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}')
        && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}')
}

/// Whether a one-line text of shown characters needs no quotes in block context.
fn plain(text: &str) -> bool {
    const INDICATORS: &[char] = &[
        '#', ',', '[', ']', '{', '}', '&', '*', '!', '|', '>', '\'', '"', '%', '@', '`',
    ];
    let lone = |mark: char| {
        text.strip_prefix(mark)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    !(text.starts_with(INDICATORS)
        || ['-', '?', ':'].into_iter().any(lone)
        || text.starts_with("---")
        || text.starts_with("...")
        || text.starts_with(' ')
        || text.ends_with([' ', ':'])
        || text.contains(": ")
        || text.contains(" #"))
}

/// Integers in any base, floats and base-60 numbers, with `_` between digits.
fn reads_as_number(text: &str) -> bool {
    if !text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) {
        return false;
    }
    let bare = text.replace('_', "");
    let unsigned = bare.strip_prefix(['+', '-']).unwrap_or(&bare);
    if unsigned.starts_with(['+', '-']) {
        return false;
    }
    let digits =
        |text: &str, radix: u32| !text.is_empty() && text.chars().all(|c| c.is_digit(radix));
    let based = [
        ("0x", 16),
        ("0X", 16),
        ("0b", 2),
        ("0B", 2),
        ("0o", 8),
        ("0O", 8),
    ];
    based.iter().any(|(prefix, radix)| {
        unsigned
            .strip_prefix(prefix)
            .is_some_and(|rest| digits(rest, *radix))
    }) || (unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && unsigned.parse::<f64>().is_ok())
        || base_sixty(unsigned)
}

/// `190:20:30.15`: any number, then groups below 60, then maybe a fraction.
fn base_sixty(text: &str) -> bool {
    let whole = text.split_once('.').map_or(text, |(whole, _)| whole);
    let mut groups = whole.split(':');
    let digits = |group: &str| !group.is_empty() && group.bytes().all(|b| b.is_ascii_digit());
    groups.next().is_some_and(digits)
        && whole.contains(':')
        && groups.all(|group| digits(group) && group.len() <= 2)
}

/// `2025-3-4`, and the same followed by a time of day.
fn reads_as_date(text: &str) -> bool {
    let mut fields = text.splitn(3, '-');
    let (Some(year), Some(month), Some(rest)) = (fields.next(), fields.next(), fields.next())
    else {
        return false;
    };
    let digits = |field: &str| field.bytes().all(|b| b.is_ascii_digit());
    year.len() == 4
        && digits(year)
        && matches!(month.len(), 1 | 2)
        && digits(month)
        && rest.starts_with(|c: char| c.is_ascii_digit())
        && rest
            .chars()
            .all(|c| c.is_ascii_digit() || "tTzZ:.+- ".contains(c))
}

/// Single quotes; a quote inside is doubled.
pub(super) fn single(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Double quotes with YAML's escapes.
pub(super) fn double(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        let short = match c {
            '"' | '\\' => c,
            '\0' => '0',
            '\u{07}' => 'a',
            '\u{08}' => 'b',
            '\t' => 't',
            '\n' => 'n',
            '\u{0b}' => 'v',
            '\u{0c}' => 'f',
            '\r' => 'r',
            '\u{1b}' => 'e',
            '\u{85}' => 'N',
            '\u{2028}' => 'L',
            '\u{2029}' => 'P',
            _ if shown(c) => {
                out.push(c);
                continue;
            }
            _ => {
                // Writing to a String cannot fail.
                let _ = match u32::from(c) {
                    code @ 0..=0xff => write!(out, "\\x{code:02X}"),
                    code @ 0x100..=0xffff => write!(out, "\\u{code:04X}"),
                    code => write!(out, "\\U{code:08X}"),
                };
                continue;
            }
        };
        out.extend(['\\', short]);
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests;
