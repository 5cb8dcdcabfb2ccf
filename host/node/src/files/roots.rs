//! The files that an operator granted to a check.

use std::sync::Arc;

use super::pattern::{Pattern, segments_of};
use crate::error::SourceError;

/// A set of granted path patterns, such as `/proc/stat` or `/sys/class/**`. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    patterns: Arc<[Pattern]>,
    /// Of a built-in check that reads the environments of other processes.
    environments: bool,
}

/// The positions that a path reaches in the patterns of a grant, while the path is built segment by segment.
#[derive(Debug, Clone)]
pub struct PatternProgress<'a> {
    /// Patterns that can still match, with the positions in them.
    at: Vec<(&'a Pattern, u128)>,
}

impl PatternProgress<'_> {
    /// Returns the positions after one more segment, which is a plain name: no slash, not `.` or `..`.
    pub fn step(&self, name: &str) -> Self {
        let steps = self.at.iter();
        let steps = steps.map(|(pattern, at)| (*pattern, pattern.step(*at, name)));
        Self {
            at: steps.filter(|(_, at)| *at != 0).collect(),
        }
    }

    /// As [`Roots::leads_to`].
    pub fn leads_on(&self) -> bool {
        !self.at.is_empty()
    }

    /// As [`Roots::allows`].
    pub fn is_granted(&self) -> bool {
        self.at.iter().any(|(pattern, at)| pattern.is_over(*at))
    }
}

impl Roots {
    /// Returns the positions for `/`, the path without segments.
    pub fn progress(&self) -> PatternProgress<'_> {
        let starts = self.patterns.iter();
        PatternProgress {
            at: starts.map(|pattern| (pattern, pattern.start())).collect(),
        }
    }

    /// Parses the lines of a grant. None at all grants nothing.
    ///
    /// # Errors
    /// [`SourceError::Invalid`] naming the line that is not an absolute path pattern.
    pub fn parse(lines: &[String]) -> Result<Self, SourceError> {
        let patterns: Result<Vec<_>, _> = lines.iter().map(|line| Pattern::parse(line)).collect();
        Ok(Self {
            patterns: patterns?.into(),
            environments: false,
        })
    }

    /// The same for a built-in check, whose grants may reach `/proc/‹pid›/environ`, and which has threads of its own.
    #[must_use]
    pub fn with_environments(self) -> Self {
        Self {
            environments: true,
            ..self
        }
    }

    /// Whether these are the grants of a built-in check.
    pub(super) fn has_environments(&self) -> bool {
        self.environments
    }

    /// Whether everything that the other ones grant is surely granted here: each of their patterns by one of these.
    pub fn cover(&self, others: &Self) -> bool {
        let covered = |other: &Pattern| self.patterns.iter().any(|mine| mine.covers(other));
        others.patterns.iter().all(covered)
    }

    /// Whether this very path is granted. Links are not looked at; paths that are not absolute and plain are not.
    pub fn allows(&self, path: &str) -> bool {
        segments_of(path).is_ok_and(|path| self.patterns.iter().any(|one| one.matches(&path)))
    }

    /// Whether surely everything that a pattern matches is granted.
    pub fn allow_all(&self, pattern: &str) -> bool {
        let whole = Pattern::parse(pattern);
        whole.is_ok_and(|whole| self.patterns.iter().any(|one| one.covers(&whole)))
    }

    /// Whether the path is granted or is above something that could be. Such a directory may be listed, but only
    /// the names that lead on are shown.
    pub fn leads_to(&self, path: &str) -> bool {
        segments_of(path).is_ok_and(|path| self.patterns.iter().any(|one| one.leads_to(&path)))
    }
}

#[cfg(test)]
mod tests;
