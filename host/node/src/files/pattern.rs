//! Path patterns: what `/sys/class/net/*/operstate` means.
//!
//! `*`, `?` and `[a-z]`, `[!0-9]` match within one path segment and, unlike in a shell, also a leading dot. A segment
//! that is exactly `**` matches any number of segments, none included. Everything else stands for itself.

use crate::error::SourceError;

/// Longest path or pattern in bytes (the kernel's `PATH_MAX`, without its final NUL).
pub const MAX_PATH_BYTES: usize = 4095;
/// Most segments of a pattern: positions are kept as bits of a `u128`.
const MAX_SEGMENTS: usize = 64;

/// A parsed path pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    segments: Vec<Segment>,
    /// There is a `**`.
    skips: bool,
}

/// One part of a pattern between slashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Segment {
    /// Exactly this name.
    Literal(String),
    /// Any name that fits.
    Wild(Vec<Token>),
    /// `**`.
    AnyDepth,
}

/// One part of a name with wildcards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// This character.
    Char(char),
    /// `?`: any one character.
    One,
    /// `*`: any characters, or none.
    Many,
    /// `[…]`: one character of these inclusive ranges, or with `!` or `^` in front one outside of them.
    Set {
        /// First and last character of each range.
        ranges: Vec<(char, char)>,
        /// Whether the ranges are what must not be.
        negated: bool,
    },
}

/// The segments of an absolute path, `.` and double slashes taken out.
///
/// # Errors
/// [`SourceError::Invalid`] for a relative, over-long path, one with `..` (lexical `..` and links do not mix) or NUL.
pub fn segments_of(path: &str) -> Result<Vec<&str>, SourceError> {
    let invalid = |why| Err(SourceError::Invalid(format!("path {path:?} {why}")));
    if path.len() > MAX_PATH_BYTES {
        return Err(SourceError::Invalid(format!(
            "path of {} bytes is longer than {MAX_PATH_BYTES}",
            path.len()
        )));
    }
    if !path.starts_with('/') {
        return invalid("is not absolute");
    }
    if path.contains('\0') {
        return invalid("contains a NUL byte");
    }
    let segments: Vec<&str> = path
        .split('/')
        .filter(|segment| !matches!(*segment, "" | "."))
        .collect();
    if segments.contains(&"..") {
        return invalid("contains \"..\"");
    }
    Ok(segments)
}

/// The same path without `.` and superfluous slashes. Errors as for [`segments_of`].
pub fn normalized(path: &str) -> Result<String, SourceError> {
    Ok(format!("/{}", segments_of(path)?.join("/")))
}

impl Segment {
    fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Wild(tokens), Self::Literal(name)) => tokens_match(tokens, name),
            (Self::Wild(tokens), Self::Wild(_)) if tokens.iter().all(|t| *t == Token::Many) => true,
            _ => self == other,
        }
    }
}

impl Pattern {
    /// Parses a pattern.
    ///
    /// # Errors
    /// [`SourceError::Invalid`] as for [`segments_of`], for `[` without `]`, a range that runs backwards, `**` that is
    /// only a part of a segment, and more than 64 segments.
    pub fn parse(text: &str) -> Result<Self, SourceError> {
        let parts = segments_of(text)?;
        if parts.len() > MAX_SEGMENTS {
            return Err(SourceError::Invalid(format!(
                "pattern {text:?} has more than {MAX_SEGMENTS} segments"
            )));
        }
        let segments = parts
            .into_iter()
            .map(|part| parse_segment(part).map_err(|why| format!("pattern {text:?}: {why}")))
            .collect::<Result<Vec<_>, _>>()
            .map_err(SourceError::Invalid)?;
        let skips = segments.contains(&Segment::AnyDepth);
        Ok(Self { segments, skips })
    }

    /// The parts between the slashes.
    pub(super) fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Whether a path, given as its segments, matches as a whole.
    pub fn matches(&self, path: &[&str]) -> bool {
        self.is_over(self.walk(path))
    }

    /// Whether everything that the other one matches is surely matched by this one. `false` may also mean that it is
    /// too much to tell: of two names with wildcards only equal ones and `*` are known to cover each other.
    pub fn covers(&self, other: &Self) -> bool {
        // covered[n]: what the rest of this pattern, from where the loop is, says of `other` from segment n on.
        let theirs = &other.segments;
        let mut covered: Vec<bool> = (0..=theirs.len()).map(|n| n == theirs.len()).collect();
        for mine in self.segments.iter().rev() {
            let mut next = Vec::with_capacity(covered.len());
            let mut below = false;
            for n in (0..=theirs.len()).rev() {
                let after = |n: usize| covered.get(n).copied().unwrap_or(false);
                let covers = match (mine, theirs.get(n)) {
                    (Segment::AnyDepth, None) => after(n),
                    (Segment::AnyDepth, Some(_)) => after(n) || below,
                    (_, None | Some(Segment::AnyDepth)) => false,
                    (mine, Some(one)) => mine.covers(one) && after(n + 1),
                };
                below = covers;
                next.push(covers);
            }
            next.reverse();
            covered = next;
        }
        covered.first().copied().unwrap_or(false)
    }

    /// Whether a path matches, or something below it could.
    pub fn leads_to(&self, path: &[&str]) -> bool {
        self.walk(path) != 0
    }

    /// Positions in the pattern (as bits) that are reachable after the path. Linear in its length: no backtracking
    /// that a hostile pattern could blow up.
    fn walk(&self, path: &[&str]) -> u128 {
        path.iter()
            .fold(self.start(), |at, name| self.step(at, name))
    }

    /// The positions before the first segment of a path.
    pub(super) fn start(&self) -> u128 {
        self.with_skips(1)
    }

    /// Returns the positions after one more segment; none (0) when no path with it can match.
    pub(super) fn step(&self, at: u128, name: &str) -> u128 {
        let mut next = 0;
        let mut left = at;
        while left != 0 {
            let position = left.trailing_zeros();
            left &= left - 1;
            match self.segments.get(position as usize) {
                Some(Segment::AnyDepth) => next |= 1 << position,
                Some(segment) if segment.matches(name) => next |= 1 << (position + 1),
                _ => {}
            }
        }
        self.with_skips(next)
    }

    /// Whether the whole pattern is matched at these positions.
    pub(super) fn is_over(&self, at: u128) -> bool {
        at & (1 << self.segments.len()) != 0
    }

    /// Adds the positions behind every `**` in reach, since it may match nothing.
    fn with_skips(&self, mut at: u128) -> u128 {
        if at == 0 || !self.skips {
            return at;
        }
        for (position, segment) in self.segments.iter().enumerate() {
            if *segment == Segment::AnyDepth && at & (1 << position) != 0 {
                at |= 1 << (position + 1);
            }
        }
        at
    }
}

impl Segment {
    /// Whether one name fits. `**` fits every name.
    pub fn matches(&self, name: &str) -> bool {
        match self {
            Self::Literal(text) => text == name,
            Self::Wild(tokens) => tokens_match(tokens, name),
            Self::AnyDepth => true,
        }
    }
}

/// Matches by remembering only the last `*`, which is enough: quadratic at worst.
fn tokens_match(tokens: &[Token], name: &str) -> bool {
    let (mut tokens, mut rest) = (tokens, name);
    let mut retry: Option<(&[Token], &str)> = None;
    loop {
        let mut chars = rest.chars();
        match (tokens.split_first(), chars.next()) {
            (Some((Token::Many, after)), _) => {
                retry = Some((after, rest));
                tokens = after;
                continue;
            }
            (Some((token, after)), Some(c)) if token.matches(c) => {
                tokens = after;
                rest = chars.as_str();
                continue;
            }
            (None, None) => return true,
            _ => {}
        }
        // Let the last `*` take one character more.
        let Some((after, from)) = retry else {
            return false;
        };
        let mut longer = from.chars();
        if longer.next().is_none() {
            return false;
        }
        retry = Some((after, longer.as_str()));
        (tokens, rest) = (after, longer.as_str());
    }
}

impl Token {
    fn matches(&self, c: char) -> bool {
        match self {
            Self::Char(own) => *own == c,
            Self::One => true,
            Self::Many => false,
            Self::Set { ranges, negated } => {
                ranges
                    .iter()
                    .any(|(first, last)| (*first..=*last).contains(&c))
                    != *negated
            }
        }
    }
}

fn parse_segment(text: &str) -> Result<Segment, String> {
    if text == "**" {
        return Ok(Segment::AnyDepth);
    }
    if text.contains("**") {
        return Err("`**` must stand alone between slashes".to_owned());
    }
    if !text.contains(['*', '?', '[']) {
        return Ok(Segment::Literal(text.to_owned()));
    }
    let mut tokens = Vec::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        tokens.push(match c {
            '*' => Token::Many,
            '?' => Token::One,
            '[' => parse_set(&mut rest)?,
            c => Token::Char(c),
        });
    }
    Ok(Segment::Wild(tokens))
}

/// Parses the rest of a `[…]`. A `]` right after the opening stands for itself, as does `-` at an end.
fn parse_set(rest: &mut std::str::Chars<'_>) -> Result<Token, String> {
    let inside = rest.as_str();
    let (negated, inside) = match inside.strip_prefix(['!', '^']) {
        Some(inside) => (true, inside),
        None => (false, inside),
    };
    let first_len = inside.chars().next().map_or(0, char::len_utf8);
    let (first, others) = inside.split_at(first_len);
    let Some((body, after)) = others.split_once(']') else {
        return Err("`[` without `]`".to_owned());
    };
    let members: Vec<char> = first.chars().chain(body.chars()).collect();
    let mut ranges = Vec::new();
    let mut members = members.as_slice();
    loop {
        members = match members {
            [] => break,
            [from, '-', to, others @ ..] => {
                if from > to {
                    return Err(format!("the range {from}-{to} runs backwards"));
                }
                ranges.push((*from, *to));
                others
            }
            [one, others @ ..] => {
                ranges.push((*one, *one));
                others
            }
        };
    }
    *rest = after.chars();
    Ok(Token::Set { ranges, negated })
}

#[cfg(test)]
mod tests;
