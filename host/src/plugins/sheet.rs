//! Where specs stand.

use std::path::{Path, PathBuf};

use super::file;
use crate::spec::Place;

/// What the specs in a request are called in messages.
pub const REQUEST: &str = "request body";

/// Where specs stand.
pub struct Sheet {
    /// In messages.
    pub name: String,
    /// Relative paths start from here.
    pub folder: PathBuf,
}

impl Sheet {
    pub fn of_file(path: &Path) -> Self {
        Self {
            name: path.display().to_string(),
            folder: file::folder(path),
        }
    }

    pub fn of_request() -> Self {
        Self {
            name: REQUEST.to_owned(),
            folder: PathBuf::from("/"),
        }
    }

    pub fn at(&self, place: Place) -> String {
        format!("{}:{}:{}", self.name, place.line, place.column)
    }
}
