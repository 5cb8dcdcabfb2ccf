//! Why the machine could not answer.
//!
//! Trouble with a *source* (a file, the kernel log, NVML, a program) is not by itself trouble with the *node*: every
//! read in `node/` fails with one of these, and the layers above decide what it means for a verdict.

use std::{io, time::Duration};

/// Why a source of the machine did not give its answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// The kernel or the operator's grant refused it. The text names what was asked.
    #[error("{0}: permission denied")]
    Denied(String),
    /// The source exists but cannot do this (no such kernel feature, no such NVML call on this GPU).
    #[error("{0}: not supported")]
    NotSupported(String),
    /// The file, program, device or library is not there.
    #[error("{0}: not found")]
    NotFound(String),
    /// The answer is larger than the caller allowed. Nothing partial is returned.
    #[error("{what}: {size} is more than the limit of {limit}")]
    TooLarge {
        /// The file that was read.
        what: String,
        /// Its real size in bytes or entries, as far as it is known (at least `limit + 1`).
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// No answer within the deadline. The call may still hang in the kernel, on a thread of its own.
    #[error("{what}: no answer for {} ms", after.as_millis())]
    TimedOut {
        /// The source that was asked.
        what: String,
        /// How long the call waited.
        after: Duration,
        /// When this source last answered, Unix milliseconds.
        last_good: Option<u64>,
    },
    /// The device behind the source is lost (for example "GPU is lost").
    #[error("{0}: lost")]
    SourceLost(String),
    /// The device behind the source wants a reset before it answers again.
    #[error("{0}: needs a reset")]
    NeedsReset(String),
    /// The argument cannot be used: a relative path, a bad pattern, an empty program name.
    #[error("{0}")]
    Invalid(String),
    /// Anything else; the text says what failed and why.
    #[error("{0}")]
    Other(String),
}

impl SourceError {
    /// Translates an I/O error about `what` (a path, a program) into the matching case.
    pub fn from_io(what: impl Into<String>, error: &io::Error) -> Self {
        let what = what.into();
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotFound(what),
            io::ErrorKind::PermissionDenied => Self::Denied(what),
            io::ErrorKind::Unsupported => Self::NotSupported(what),
            _ => Self::Other(format!("{what}: {error}")),
        }
    }
}
