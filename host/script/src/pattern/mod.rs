//! Regular expressions in the dialect of Go's package `regexp` (RE2), run by the crate `regex`.
//!
//! The two agree in what matters: no back-references, no look-around, time linear in the text. They differ in what a
//! pattern may say and in what classes hold (`\d` is ASCII in Go), so a pattern is read by Go's grammar, refused in
//! Go's words, and rewritten for the crate with nothing left to its defaults.
//!
//! Bounds that Go does not have: 64 KiB of pattern, groups and repetitions nested 100 deep (Go: 1,000), a program of
//! 4 MiB, 60 classes that hold nearly every character where letter case is ignored. Beyond them the pattern is refused as
//! too large or too deep. Script names with underscores (`\p{Old_Italic}`), which Go 1.26 alone refuses, are taken.

mod bracket;
mod escape;
mod group;
mod names;
#[cfg(test)]
mod tests;
mod translate;

use std::{fmt, sync::OnceLock};

use regex::{Regex, RegexBuilder};

/// Longest pattern in bytes.
const MAX_PATTERN_BYTES: usize = 64 << 10;
/// Largest compiled program in bytes. `.{1000}`, the largest count that Go takes, needs about a quarter.
const MAX_PROGRAM_BYTES: usize = 4 << 20;

/// A compiled pattern.
#[derive(Debug, Clone)]
pub struct Pattern(Regex);

impl Pattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// [`PatternError`] for what Go refuses, and for what is over the bounds above.
    pub fn compile(pattern: &str) -> Result<Self, PatternError> {
        let refuse = |fault| PatternError::new(fault, pattern);
        if pattern.len() > MAX_PATTERN_BYTES {
            return Err(refuse(PatternFault::TooLarge));
        }
        RegexBuilder::new(&translate::translate(pattern)?)
            .size_limit(MAX_PROGRAM_BYTES)
            // The depth of what was translated is bounded already, and a level there is up to four here.
            .nest_limit(8 * translate::MAX_DEPTH)
            .build()
            .map(Self)
            .map_err(|_| refuse(PatternFault::TooLarge))
    }

    /// Whether it matches anywhere in the text.
    pub fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

/// A pattern that is compiled when first used. The result or the error is cached.
pub struct LazyPattern {
    text: String,
    compiled: OnceLock<Result<Pattern, PatternError>>,
}

impl LazyPattern {
    /// Notes the pattern without looking at it.
    pub fn new(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            compiled: OnceLock::new(),
        }
    }

    /// The pattern as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it matches anywhere in the text.
    ///
    /// # Errors
    /// As [`Pattern::compile`], each time.
    pub fn is_match(&self, text: &str) -> Result<bool, PatternError> {
        match self.compiled.get_or_init(|| Pattern::compile(&self.text)) {
            Ok(pattern) => Ok(pattern.is_match(text)),
            Err(error) => Err(error.clone()),
        }
    }
}

impl fmt::Debug for LazyPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LazyPattern({:?})", self.text)
    }
}

/// Why a pattern does not compile, in Go's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("error parsing regexp: {fault}: `{part}`")]
pub struct PatternError {
    /// The problem.
    pub fault: PatternFault,
    /// The part of the pattern that is at fault.
    pub part: String,
}

impl PatternError {
    fn new(fault: PatternFault, part: &str) -> Self {
        Self {
            fault,
            part: part.to_owned(),
        }
    }
}

/// The kinds of errors in a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PatternFault {
    /// A range that runs backwards, or a class that does not exist.
    #[error("invalid character class range")]
    ClassRange,
    /// A backslash with something that has no meaning behind it.
    #[error("invalid escape sequence")]
    Escape,
    /// A group name that is empty, not closed or not made of ASCII letters, digits and `_`.
    #[error("invalid named capture")]
    GroupName,
    /// Something behind `(?` that Go does not have.
    #[error("invalid or unsupported Perl syntax")]
    PerlSyntax,
    /// A repetition of a repetition.
    #[error("invalid nested repetition operator")]
    NestedRepetition,
    /// A count above 1000, by itself or multiplied with those around it, or a range that runs backwards.
    #[error("invalid repeat count")]
    RepeatCount,
    /// A repetition of nothing.
    #[error("missing argument to repetition operator")]
    MissingArgument,
    /// `[` without `]`.
    #[error("missing closing ]")]
    MissingBracket,
    /// `(` without `)`.
    #[error("missing closing )")]
    MissingParenthesis,
    /// `)` without `(`.
    #[error("unexpected )")]
    UnexpectedParenthesis,
    /// A backslash with nothing behind it.
    #[error("trailing backslash at end of expression")]
    TrailingBackslash,
    /// More levels than we take.
    #[error("expression nests too deeply")]
    TooDeep,
    /// More than we are ready to compile.
    #[error("expression too large")]
    TooLarge,
}
