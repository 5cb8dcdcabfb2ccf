//! `[…]`.

use std::fmt::Write as _;

use super::{
    Fault, PatternError,
    escape::{self, NOTHING, Read, next, taken},
};

/// Code points that no text holds.
const SURROGATES: std::ops::RangeInclusive<u32> = 0xd800..=0xdfff;

/// Reads a class and writes it for the crate. `text` starts with `[`.
pub(super) fn class(text: &str) -> Read<'_, String> {
    let inside = text.strip_prefix('[').unwrap_or(text);
    let (mut out, inside) = match inside.strip_prefix('^') {
        Some(inside) => (String::from("[^"), inside),
        None => (String::from("["), inside),
    };
    let before = out.len();
    let mut rest = inside;
    // A `]` right at the start stands for itself.
    while rest.len() == inside.len() || !rest.starts_with(']') {
        rest = item(text, rest, &mut out)?;
    }
    if out.len() == before {
        // Surrogates only.
        out.push_str(NOTHING);
    }
    out.push(']');
    Ok((out, rest.strip_prefix(']').unwrap_or(rest)))
}

/// One character, range or named class.
fn item<'a>(whole: &str, text: &'a str, out: &mut String) -> Result<&'a str, PatternError> {
    if let Some((name, rest)) = text
        .strip_prefix("[:")
        .and_then(|inside| inside.split_once(":]"))
    {
        if !POSIX.contains(&name.strip_prefix('^').unwrap_or(name)) {
            return Err(PatternError::new(Fault::ClassRange, taken(text, rest)));
        }
        out.push_str(taken(text, rest));
        return Ok(rest);
    }
    if let Some(read) = escape::unicode_class(text) {
        let (item, rest) = read?;
        out.push_str(&item);
        return Ok(rest);
    }
    if let Some((item, rest)) = escape::perl_class(text) {
        out.push_str(item);
        return Ok(rest);
    }
    let (first, after) = character(whole, text)?;
    let (last, rest) = match after.strip_prefix('-') {
        Some(after) if !after.is_empty() && !after.starts_with(']') => character(whole, after)?,
        _ => (first, after),
    };
    if last < first {
        return Err(PatternError::new(Fault::ClassRange, taken(text, rest)));
    }
    let first = if SURROGATES.contains(&first) {
        SURROGATES.end() + 1
    } else {
        first
    };
    let last = if SURROGATES.contains(&last) {
        SURROGATES.start() - 1
    } else {
        last
    };
    if first <= last {
        // Writing to a String cannot fail.
        let _ = write!(out, "\\x{{{first:x}}}-\\x{{{last:x}}}");
    }
    Ok(rest)
}

fn character<'a>(whole: &str, text: &'a str) -> Read<'a, u32> {
    match next(text) {
        None => Err(PatternError::new(Fault::MissingBracket, whole)),
        Some(('\\', _)) => escape::character(text),
        Some((c, rest)) => Ok((u32::from(c), rest)),
    }
}

/// Named classes, which mean the same to Go and to the crate.
const POSIX: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
    "space", "upper", "word", "xdigit",
];
