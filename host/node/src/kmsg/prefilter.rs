//! One regular-expression set over all watchers' patterns: most records match no pattern, and one pass finds that out.
//!
//! Patterns are searched anywhere in a record's text, case sensitive, with the syntax of the `regex` crate in ASCII mode
//! (`\d`, `\s`, `\w` and `(?i)` are ASCII, as in RE2; `.` is any byte but the line end): nearly all
//! messages are ASCII, and Unicode classes make the set several times larger.

use regex::bytes::{RegexBuilder, RegexSet, RegexSetBuilder};

/// Names a watcher; chosen by the caller.
pub type WatcherId = usize;

/// The most patterns that a watcher may have.
pub const MAX_PATTERNS: usize = 512;
/// The longest pattern, bytes.
pub const MAX_PATTERN_LENGTH: usize = 4096;
/// The most memory that one pattern may take when compiled, bytes.
const PATTERN_SIZE: usize = 1 << 20;
/// The most memory that the whole set may take when compiled, bytes.
const SET_SIZE: usize = 64 << 20;
/// Cache of the lazily built automaton, bytes (there is one matching thread, so one cache).
const AUTOMATON_CACHE: usize = 32 << 20;

/// Why a watcher was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// The pattern is not a regular expression, or it is too large when compiled.
    #[error("watcher {watcher}: pattern {pattern:?}: {reason}")]
    Invalid {
        /// The component with the pattern.
        watcher: WatcherId,
        /// The pattern, as given.
        pattern: String,
        /// The problem with it.
        reason: String,
    },
    /// Longer than [`MAX_PATTERN_LENGTH`].
    #[error(
        "watcher {watcher}: pattern {start:?}… has {length} bytes, more than {MAX_PATTERN_LENGTH}"
    )]
    TooLong {
        /// The component with the pattern.
        watcher: WatcherId,
        /// The pattern's first characters.
        start: String,
        /// Its length in bytes.
        length: usize,
    },
    /// More than [`MAX_PATTERNS`].
    #[error("watcher {watcher}: {count} patterns, more than {MAX_PATTERNS}")]
    TooMany {
        /// The component with the patterns.
        watcher: WatcherId,
        /// How many.
        count: usize,
    },
    /// All watchers' patterns together are too large; the last watchers of the list are refused.
    #[error("watcher {watcher}: its patterns do not fit beside those of the watchers before it")]
    SetFull {
        /// The refused watcher.
        watcher: WatcherId,
    },
}

impl PatternError {
    /// The watcher that was refused.
    pub fn watcher(&self) -> WatcherId {
        match *self {
            Self::Invalid { watcher, .. }
            | Self::TooLong { watcher, .. }
            | Self::TooMany { watcher, .. }
            | Self::SetFull { watcher } => watcher,
        }
    }
}

/// The compiled set.
#[derive(Debug, Clone)]
pub struct Prefilter {
    set: RegexSet,
    /// The watcher of each pattern of the set.
    owners: Vec<WatcherId>,
}

impl Prefilter {
    /// Compiles the patterns. Watchers with a bad pattern are left out and named in the list; the others are served.
    pub fn new(watchers: &[(WatcherId, Vec<String>)]) -> (Self, Vec<PatternError>) {
        let mut refused = Vec::new();
        let mut accepted = Vec::new();
        for (watcher, patterns) in watchers {
            match check(*watcher, patterns) {
                Ok(()) => accepted.push((*watcher, patterns)),
                Err(error) => refused.push(error),
            }
        }
        loop {
            let patterns = accepted.iter().flat_map(|(_, patterns)| patterns.iter());
            match RegexSetBuilder::new(patterns)
                .unicode(false)
                .size_limit(SET_SIZE)
                .dfa_size_limit(AUTOMATON_CACHE)
                .build()
            {
                Ok(set) => {
                    let owners = accepted
                        .iter()
                        .flat_map(|(watcher, patterns)| {
                            std::iter::repeat_n(*watcher, patterns.len())
                        })
                        .collect();
                    return (Self { set, owners }, refused);
                }
                // Every pattern compiled alone, so this is the size of them all.
                Err(_) => match accepted.pop() {
                    Some((watcher, _)) => refused.push(PatternError::SetFull { watcher }),
                    None => {
                        return (
                            Self {
                                set: RegexSet::empty(),
                                owners: Vec::new(),
                            },
                            refused,
                        );
                    }
                },
            }
        }
    }

    /// Fills `out` with the watchers that have a matching pattern, ascending, each once.
    pub fn watchers_for(&self, text: &str, out: &mut Vec<WatcherId>) {
        self.watchers_for_bytes(text.as_bytes(), out);
    }

    /// Like [`watchers_for`](Self::watchers_for), for text that is not known to be UTF-8. Tabs at the beginning are layout
    /// and do not count.
    pub fn watchers_for_bytes(&self, text: &[u8], out: &mut Vec<WatcherId>) {
        out.clear();
        let tabs = text.iter().take_while(|byte| **byte == b'\t').count();
        let text = text.get(tabs..).unwrap_or_default();
        // Most texts match nothing; this question is answered without allocating.
        if !self.set.is_match(text) {
            return;
        }
        out.extend(
            self.set
                .matches(text)
                .iter()
                .filter_map(|pattern| self.owners.get(pattern).copied()),
        );
        out.sort_unstable();
        out.dedup();
    }
}

fn check(watcher: WatcherId, patterns: &[String]) -> Result<(), PatternError> {
    if patterns.len() > MAX_PATTERNS {
        return Err(PatternError::TooMany {
            watcher,
            count: patterns.len(),
        });
    }
    for pattern in patterns {
        if pattern.len() > MAX_PATTERN_LENGTH {
            let start = pattern.chars().take(40).collect();
            return Err(PatternError::TooLong {
                watcher,
                start,
                length: pattern.len(),
            });
        }
        RegexBuilder::new(pattern)
            .unicode(false)
            .size_limit(PATTERN_SIZE)
            .build()
            .map_err(|error| PatternError::Invalid {
                watcher,
                pattern: pattern.clone(),
                reason: error.to_string(),
            })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watcher(id: WatcherId, patterns: &[&str]) -> (WatcherId, Vec<String>) {
        (id, patterns.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn names_each_watcher_once_and_in_order() {
        let (prefilter, refused) = Prefilter::new(&[
            watcher(9, &["Xid", r"NVRM: .*\d+", "nothing here"]),
            watcher(2, &["^NVRM"]),
            watcher(5, &["oom-kill"]),
            watcher(7, &[]),
        ]);
        assert_eq!(refused, vec![]);
        let cases: [(&str, &[WatcherId]); 7] = [
            ("NVRM: Xid (PCI:0000:04:00): 79", &[2, 9]),
            ("\tNVRM: Xid (PCI:0000:04:00): 79", &[2, 9]),
            ("an Xid", &[9]),
            ("oom-kill: NVRM: 1", &[5, 9]),
            ("xid", &[]),
            ("NVRM: ٣", &[2]),
            ("", &[]),
        ];
        let mut out = vec![99];
        for (text, expected) in cases {
            prefilter.watchers_for(text, &mut out);
            assert_eq!(out, expected, "{text}");
        }
        prefilter.watchers_for_bytes(b"\xff Xid \xfe", &mut out);
        assert_eq!(out, [9]);
    }

    #[test]
    fn a_bad_watcher_is_refused_alone() {
        let long = "x".repeat(MAX_PATTERN_LENGTH + 1);
        let many: Vec<&str> = vec!["x"; MAX_PATTERNS + 1];
        let (prefilter, refused) = Prefilter::new(&[
            watcher(1, &["fine", "bro(ken"]),
            watcher(2, &["good"]),
            watcher(3, &[&long]),
            watcher(4, &many),
            watcher(5, &["(((x{90}){90}){90}){90}"]),
            watcher(6, &["also good"]),
        ]);
        assert_eq!(
            refused
                .iter()
                .map(PatternError::watcher)
                .collect::<Vec<_>>(),
            [1, 3, 4, 5]
        );
        let text = refused.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert!(
            text[0].contains("watcher 1") && text[0].contains("bro(ken"),
            "{}",
            text[0]
        );
        assert!(text[1].contains("4097 bytes"), "{}", text[1]);
        assert!(text[2].contains("513 patterns"), "{}", text[2]);
        let mut out = Vec::new();
        prefilter.watchers_for("this is also good, fine", &mut out);
        assert_eq!(out, [2, 6]);
    }

    #[test]
    fn when_all_together_are_too_large_the_last_are_refused() {
        // 3000 × some 24 KiB: each is fine alone.
        let large: Vec<String> = (0..MAX_PATTERNS)
            .map(|number| format!("{number}(abcdefghij){{80}}"))
            .collect();
        let watchers: Vec<_> = (0..6).map(|id| (id, large.clone())).collect();
        let (prefilter, refused) = Prefilter::new(&watchers);
        assert!(
            !refused.is_empty() && refused.len() < 6,
            "{}",
            refused.len()
        );
        assert!(
            refused
                .iter()
                .all(|error| matches!(error, PatternError::SetFull { .. }))
        );
        let mut out = Vec::new();
        prefilter.watchers_for(&format!("17{}", "abcdefghij".repeat(80)), &mut out);
        assert!(out.contains(&0) && out.len() == 6 - refused.len());
    }
}
