//! Finds the paths that match a pattern, within a grant.

use rustix::fs::OFlags;

use super::{View, check_count, for_each_name, leads_on};
use crate::{
    error::SourceError,
    files::{
        Answers,
        pattern::{MAX_PATH_BYTES, Pattern, Segment},
        roots::{PatternProgress, Roots},
        tree::AccessKind,
    },
};

/// Most paths while a pattern is resolved: far above a machine's process count, far below a harmful number.
const MAX_WALKED: usize = 1 << 18;
/// Bytes of these paths together: each can have 4 KiB, and a user can make as many long names as there is room for.
const MAX_WALKED_BYTES: usize = 32 << 20;

/// The paths that match a pattern, and the directories on the way that could not be listed.
pub struct Matches {
    pub paths: Vec<String>,
    unlisted: Vec<(String, SourceError)>,
}

impl View<'_> {
    /// Does something with every match, sorted by path; what is gone by then is left out.
    pub(super) fn for_each_match<T>(
        self,
        pattern: &str,
        max: usize,
        unit: &str,
        access: AccessKind,
        mut work: impl FnMut(&str) -> Result<T, SourceError>,
    ) -> Result<Answers<T>, SourceError> {
        let matches = self.expand(pattern, access)?;
        let mut answers: Answers<T> = Vec::new();
        for (path, error) in matches.unlisted {
            answers.push((path, Err(error)));
        }
        for path in matches.paths {
            match work(&path) {
                Err(SourceError::NotFound(_)) => {}
                answer => answers.push((path, answer)),
            }
            check_count(pattern, unit, answers.len(), max)?;
        }
        answers.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Ok(answers)
    }

    /// The paths that match a pattern and are granted. A literal last part is not looked up: the caller will see.
    pub(in crate::files) fn expand(
        self,
        pattern: &str,
        access: AccessKind,
    ) -> Result<Matches, SourceError> {
        self.expand_by(pattern, access, |parent, segment, is_last| {
            self.names_in(parent, segment, is_last)
        })
    }

    /// The same, with another way to get the names in a directory that fit one segment of the pattern.
    pub(in crate::files) fn expand_by(
        self,
        pattern: &str,
        access: AccessKind,
        mut names_in: impl FnMut(&str, &Segment, bool) -> Result<Vec<String>, SourceError>,
    ) -> Result<Matches, SourceError> {
        let parsed = Pattern::parse(pattern)?;
        let mut unlisted = Vec::new();
        let mut hidden = false;
        // Each path with how far it leads in the grants: to look that up for every path would cost more than to read
        // it.
        let mut paths = vec![(String::new(), self.roots.map(Roots::progress))];
        let mut segments = parsed.segments().iter().peekable();
        while let Some(segment) = segments.next() {
            let is_last = segments.peek().is_none();
            let mut next = Vec::new();
            let mut bytes = 0;
            for (parent, progress) in paths {
                let names = match segment {
                    Segment::AnyDepth => {
                        return Err(SourceError::Invalid(format!(
                            "pattern {pattern:?}: `**` is for grants only"
                        )));
                    }
                    Segment::Literal(name) => vec![name.clone()],
                    Segment::Wild(_) => match names_in(&parent, segment, is_last) {
                        Ok(names) => names,
                        Err(SourceError::NotFound(_)) => continue,
                        Err(error) => {
                            unlisted.push((parent, error));
                            continue;
                        }
                    },
                };
                for name in names {
                    let path = format!("{parent}/{name}");
                    let progress = progress.as_ref().map(|progress| progress.step(&name));
                    let shown = progress.as_ref().is_none_or(PatternProgress::leads_on);
                    if shown && path.len() <= MAX_PATH_BYTES {
                        bytes += path.len();
                        check_count(pattern, "bytes of candidates", bytes, MAX_WALKED_BYTES)?;
                        next.push((path, progress));
                    } else {
                        hidden = true;
                    }
                }
                check_count(pattern, "candidates", next.len(), MAX_WALKED)?;
            }
            paths = next;
        }
        // Passing through is not enough at the end: only what is granted itself may be opened.
        let before = paths.len();
        paths.retain(|(_, progress)| progress.as_ref().is_none_or(PatternProgress::is_granted));
        let granted = paths.len();
        paths.retain(|(path, _)| !self.is_denied(path, access));
        if granted > 0 && paths.is_empty() && unlisted.is_empty() {
            return Err(SourceError::Denied(format!(
                "{pattern} (no grant reaches anything that it matches)"
            )));
        }
        hidden |= paths.len() < before;
        let found = Matches {
            paths: paths.into_iter().map(|(path, _)| path).collect(),
            unlisted,
        };
        if hidden && found.paths.is_empty() && found.unlisted.is_empty() {
            return Err(SourceError::Denied(format!(
                "{pattern} (nothing that it matches is granted; to allow it, add {pattern:?} to the granted paths)"
            )));
        }
        Ok(found)
    }

    /// The names in a directory that fit one segment of a pattern. Where another segment follows, what is known to have
    /// nothing below it is left out: folders of control groups hold dozens of files each.
    fn names_in(
        self,
        parent: &str,
        segment: &Segment,
        is_last: bool,
    ) -> Result<Vec<String>, SourceError> {
        let path = if parent.is_empty() { "/" } else { parent };
        let dir = self.open(
            path,
            OFlags::RDONLY | OFlags::DIRECTORY,
            AccessKind::Traversal,
        )?;
        let mut names = Vec::new();
        for_each_name(path, &dir, |name, kind| {
            if (is_last || leads_on(kind)) && segment.matches(name) {
                names.push(name.to_owned());
            }
            check_count(path, "matching names", names.len(), MAX_WALKED)
        })?;
        Ok(names)
    }
}
