//! Errors about a file of exports, with their places.

use std::fmt;

use serde_yaml::{Error, Location};

/// A position in a file. Lines and columns count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilePosition {
    line: u64,
    column: u64,
}

impl FilePosition {
    /// Returns the place, if it is known.
    pub fn of(location: &Location) -> Option<Self> {
        let (line, column) = (location.line(), location.column());
        (line > 0).then_some(Self { line, column })
    }
}

/// An error in a file of exports. It quotes no secret of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    file: String,
    place: Option<FilePosition>,
    message: String,
}

impl ConfigError {
    pub(super) fn at(file: &str, place: Option<FilePosition>, message: String) -> Self {
        Self {
            file: file.to_owned(),
            place,
            message,
        }
    }

    pub(super) fn whole(file: &str, message: String) -> Self {
        Self::at(file, None, message)
    }

    /// Takes an error of the reader. `kinds` are the keys of the kinds that were read: those of all exports are to be had
    /// besides them.
    pub(super) fn of_yaml(file: &str, error: &Error, kinds: &[&'static [&'static str]]) -> Self {
        let error = error.without_snippet();
        let location = error.location();
        let message = match error {
            Error::SerdeUnknownField {
                field, expected, ..
            } => {
                let mut known: Vec<&str> = Vec::new();
                if kinds.contains(&expected.as_slice()) {
                    known.extend(super::entry::COMMON_KEYS);
                }
                known.extend(expected);
                format!(
                    "unknown key `{field}`; the keys here are: {}",
                    known.join(", ")
                )
            }
            Error::SerdeMissingField { field, .. } => format!("the key `{field}` is missing"),
            other => {
                let text = other.to_string();
                let place = location
                    .as_ref()
                    .map(|at| format!(" at line {}, column {}", at.line(), at.column()));
                let bare = place.and_then(|place| text.strip_suffix(&place).map(str::to_owned));
                bare.unwrap_or(text)
            }
        };
        let place = location.as_ref().and_then(FilePosition::of);
        Self::at(file, place, message)
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(place) = self.place {
            write!(f, ":{}:{}", place.line, place.column)?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for ConfigError {}
