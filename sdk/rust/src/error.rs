//! Why a check gave no report.

use std::fmt::{self, Display};

use crate::types::{AccessError, CheckError};

/// What a checker returns instead of a report. The host makes a state of it that blames the right one: a source that
/// did not answer is said to be that, not a broken node.
#[derive(Debug, Clone, PartialEq)]
pub enum Error {
    /// A capability did not answer.
    Source(AccessError),
    /// The checker failed.
    Failed(String),
}

impl Error {
    /// A failure of the checker, from anything that can be shown.
    pub fn failed(error: impl Display) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<AccessError> for Error {
    fn from(error: AccessError) -> Self {
        Self::Source(error)
    }
}

impl From<Error> for CheckError {
    fn from(error: Error) -> Self {
        match error {
            Error::Source(source) => Self::Source(source),
            Error::Failed(text) => Self::Failed(text),
        }
    }
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(source) => f.write_str(&source.text()),
            Self::Failed(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {}

impl AccessError {
    /// The error in words, as the host words it.
    pub fn text(&self) -> String {
        match self {
            Self::Denied(what) => format!("{what}: permission denied"),
            Self::NotSupported(what) => format!("{what}: not supported"),
            Self::NotFound(what) => format!("{what}: not found"),
            Self::TooLarge(info) => {
                format!(
                    "{}: {} is more than the limit of {}",
                    info.what, info.size, info.limit
                )
            }
            Self::TimedOut(info) => format!("{}: no answer for {} ms", info.what, info.after_ms),
            Self::SourceLost(what) => format!("{what}: lost"),
            Self::NeedsReset(what) => format!("{what}: needs a reset"),
            Self::InvalidArgument(text) | Self::OverBudget(text) | Self::Other(text) => {
                text.clone()
            }
        }
    }
}
