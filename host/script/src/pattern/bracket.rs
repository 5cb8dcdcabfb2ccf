//! `[…]`.

use super::{
    PatternError, PatternFault,
    escape::{self, ALL, NOTHING, Parsed, next, taken},
};

/// A class as it is written for the crate.
pub(super) struct Class {
    pub(super) text: String,
    /// Code points that the crate goes through to fold its letter case, roughly.
    pub(super) span: u32,
}

impl Class {
    fn push(&mut self, text: &str, span: u32) {
        self.text.push_str(text);
        self.span = self.span.saturating_add(span);
    }
}

/// Code points that no text holds.
const SURROGATES: std::ops::RangeInclusive<u32> = 0xd800..=0xdfff;

/// Reads a class and writes it for the crate. `text` starts with `[`.
pub(super) fn class(text: &str) -> Parsed<'_, Class> {
    let inside = text.strip_prefix('[').unwrap_or(text);
    let (start, inside) = match inside.strip_prefix('^') {
        Some(inside) => ("[^", inside),
        None => ("[", inside),
    };
    let mut out = Class {
        text: start.to_owned(),
        span: 0,
    };
    let mut rest = inside;
    // A `]` right at the start stands for itself.
    while rest.len() == inside.len() || !rest.starts_with(']') {
        rest = item(text, rest, &mut out)?;
    }
    if out.text == start {
        // Surrogates only.
        out.push(NOTHING, ALL);
    }
    out.push("]", 0);
    Ok((out, rest.strip_prefix(']').unwrap_or(rest)))
}

/// One character, range or named class.
fn item<'a>(whole: &str, text: &'a str, out: &mut Class) -> Result<&'a str, PatternError> {
    if let Some((name, rest)) = text
        .strip_prefix("[:")
        .and_then(|inside| inside.split_once(":]"))
    {
        let negated = name.strip_prefix('^');
        if !POSIX.contains(&negated.unwrap_or(name)) {
            return Err(PatternError::new(
                PatternFault::ClassRange,
                taken(text, rest),
            ));
        }
        out.push(taken(text, rest), negated.map_or(0, |_| ALL));
        return Ok(rest);
    }
    if let Some(read) = escape::unicode_class(text) {
        let ((item, span), rest) = read?;
        out.push(&item, span);
        return Ok(rest);
    }
    if let Some((item, rest)) = escape::perl_class(text) {
        out.push(item, if item.contains('^') { ALL } else { 0 });
        return Ok(rest);
    }
    let (first, after) = character(whole, text)?;
    let (last, rest) = match after.strip_prefix('-') {
        Some(after) if !after.is_empty() && !after.starts_with(']') => character(whole, after)?,
        _ => (first, after),
    };
    if last < first {
        return Err(PatternError::new(
            PatternFault::ClassRange,
            taken(text, rest),
        ));
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
        let range = format!("\\x{{{first:x}}}-\\x{{{last:x}}}");
        out.push(&range, last - first + 1);
    }
    Ok(rest)
}

fn character<'a>(whole: &str, text: &'a str) -> Parsed<'a, u32> {
    match next(text) {
        None => Err(PatternError::new(PatternFault::MissingBracket, whole)),
        Some(('\\', _)) => escape::character(text),
        Some((c, rest)) => Ok((u32::from(c), rest)),
    }
}

/// Named classes, which mean the same to Go and to the crate.
const POSIX: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
    "space", "upper", "word", "xdigit",
];
