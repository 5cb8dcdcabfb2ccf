//! Parses the part after a backslash, and other parts that are the same inside and outside of brackets.

use super::{PatternError, PatternFault, names};

/// Nothing fits.
pub(super) const NOTHING: &str = r"[^\x{0}-\x{10FFFF}]";

/// How many code points there are.
pub(super) const ALL: u32 = 0x11_0000;
/// What folding any class with a name costs at most, in code points, but for the one that has all of them.
const NAMED: u32 = 1 << 16;

/// A parsed part and the rest of the pattern.
pub(super) type Parsed<'a, T> = Result<(T, &'a str), PatternError>;

/// Splits off the first character.
pub(super) fn next(text: &str) -> Option<(char, &str)> {
    let mut chars = text.chars();
    chars.next().map(|c| (c, chars.as_str()))
}

/// Returns the part of `from` before `rest`.
pub(super) fn taken<'a>(from: &'a str, rest: &str) -> &'a str {
    from.len()
        .checked_sub(rest.len())
        .and_then(|length| from.get(..length))
        .unwrap_or(from)
}

/// Reads one escaped character, its code point at least: a surrogate can be written, though no text holds one.
/// `text` starts with the backslash.
pub(super) fn character(text: &str) -> Parsed<'_, u32> {
    let after = text.strip_prefix('\\').unwrap_or(text);
    let Some((c, rest)) = next(after) else {
        return Err(PatternError::new(PatternFault::TrailingBackslash, ""));
    };
    let code = match c {
        '0' => return Ok(octal(after)),
        // A single digit would refer back to a group.
        '1'..='7' if rest.starts_with(|c| matches!(c, '0'..='7')) => return Ok(octal(after)),
        'x' => return hexadecimal(text, rest),
        'a' => 0x07,
        'f' => 0x0c,
        'n' => 0x0a,
        'r' => 0x0d,
        't' => 0x09,
        'v' => 0x0b,
        c if c.is_ascii() && !c.is_ascii_alphanumeric() => u32::from(c),
        _ => return Err(PatternError::new(PatternFault::Escape, taken(text, rest))),
    };
    Ok((code, rest))
}

/// Up to three octal digits.
fn octal(text: &str) -> (u32, &str) {
    let mut value = 0;
    let mut rest = text;
    for _ in 0..3 {
        let Some((digit, after)) = next(rest).and_then(|(c, after)| Some((c.to_digit(8)?, after)))
        else {
            break;
        };
        value = value * 8 + digit;
        rest = after;
    }
    (value, rest)
}

/// What follows `\x`: two digits, or any number of them in braces. `text` starts with the backslash.
fn hexadecimal<'a>(text: &'a str, rest: &'a str) -> Parsed<'a, u32> {
    let refuse = |rest| Err(PatternError::new(PatternFault::Escape, taken(text, rest)));
    let Some(braced) = rest.strip_prefix('{') else {
        let high = next(rest);
        let low = high.and_then(|(_, rest)| next(rest));
        let digit = |read: Option<(char, &str)>| read.and_then(|(c, _)| c.to_digit(16));
        return match (digit(high), digit(low), low) {
            (Some(high), Some(low), Some((_, rest))) => Ok((high * 16 + low, rest)),
            // Both are gone when Go looks at the first.
            _ => refuse(low.or(high).map_or(rest, |(_, rest)| rest)),
        };
    };
    let mut value: u32 = 0;
    let mut rest = braced;
    loop {
        let Some((c, after)) = next(rest) else {
            return refuse(rest);
        };
        if c == '}' && rest.len() < braced.len() {
            return Ok((value, after));
        }
        rest = after;
        value = match c.to_digit(16).map(|digit| value * 16 + digit) {
            Some(value) if value <= u32::from(char::MAX) => value,
            _ => return refuse(rest),
        };
    }
}

/// Reads `\d`, `\D`, `\s`, `\S`, `\w` or `\W`, ASCII all of them, as what goes between the crate's brackets.
pub(super) fn perl_class(text: &str) -> Option<(&'static str, &str)> {
    let (c, rest) = next(text.strip_prefix('\\')?)?;
    let item = match c {
        'd' => "[:digit:]",
        'D' => "[:^digit:]",
        // Without the vertical tab that `[:space:]` has.
        's' => r"\t\n\f\r\x20",
        'S' => r"[^\t\n\f\r\x20]",
        'w' => "[:word:]",
        'W' => "[:^word:]",
        _ => return None,
    };
    Some((item, rest))
}

/// Reads `\pL`, `\p{Greek}`, `\p{^Greek}` and the like with `\P`, as what goes between the crate's brackets, and how
/// many code points the crate goes through to fold its letter case; `None` if that is not what the text starts with.
pub(super) fn unicode_class(text: &str) -> Option<Parsed<'_, (String, u32)>> {
    let (negated, after) = match text.strip_prefix("\\p") {
        Some(after) => (false, after),
        None => (true, text.strip_prefix("\\P")?),
    };
    let (name, rest) = match next(after) {
        Some(('{', inside)) => match inside.split_once('}') {
            Some(split) => split,
            None => return Some(Err(PatternError::new(PatternFault::ClassRange, text))),
        },
        Some((_, rest)) => (taken(after, rest), rest),
        None => ("", after),
    };
    let (negated, name) = match name.strip_prefix('^') {
        Some(name) => (!negated, name),
        None => (negated, name),
    };
    let Some(name) = names::qualified(name) else {
        let part = taken(text, rest);
        return Some(Err(PatternError::new(PatternFault::ClassRange, part)));
    };
    let item = match (name.as_str(), negated) {
        ("gc=cs" | "gc=surrogate", false) => NOTHING.to_owned(),
        ("gc=cs" | "gc=surrogate", true) => r"\x{0}-\x{10FFFF}".to_owned(),
        (name, false) => format!("\\p{{{name}}}"),
        (name, true) => format!("\\P{{{name}}}"),
    };
    let span = match name.as_str() {
        "gc=any" | "gc=cs" | "gc=surrogate" => ALL,
        _ => NAMED,
    };
    Some(Ok(((item, span), rest)))
}
