//! The files, behind a trait: tests bring their own.

use gpud_sdk::{AccessError, sysfs};

/// Most files that one pattern may match: the PCI devices of a large machine.
const MAX_FILES: u32 = 8_192;
/// Most entries of a folder: the devices of one driver.
const MAX_ENTRIES: u32 = 2_048;

/// Files of a pattern, each with its content or why there is none.
pub type Files = Vec<(String, Result<String, AccessError>)>;

/// The source of files: the machine, or a test.
pub trait Tree {
    /// Names in a folder, sorted.
    ///
    /// # Errors
    /// As `list-directory` of the contract.
    fn names(&self, folder: &str) -> Result<Vec<String>, AccessError>;

    /// One file as trimmed text.
    ///
    /// # Errors
    /// As `read` of the contract.
    fn text(&self, path: &str, max_bytes: u32) -> Result<String, AccessError>;

    /// All files of a pattern as trimmed text, by path.
    ///
    /// # Errors
    /// As `read-glob` of the contract.
    fn files(&self, pattern: &str, max_bytes: u32) -> Result<Files, AccessError>;

    /// Target of a link.
    ///
    /// # Errors
    /// As `read-link` of the contract.
    fn link(&self, path: &str) -> Result<String, AccessError>;
}

/// The real machine.
#[derive(Debug, Clone, Copy)]
pub struct Node;

impl Tree for Node {
    fn names(&self, folder: &str) -> Result<Vec<String>, AccessError> {
        let entries = sysfs::list_directory(folder, MAX_ENTRIES)?;
        Ok(entries.into_iter().map(|entry| entry.name).collect())
    }

    fn text(&self, path: &str, max_bytes: u32) -> Result<String, AccessError> {
        sysfs::read_to_string(path, max_bytes).map(|text| text.trim().to_owned())
    }

    fn files(&self, pattern: &str, max_bytes: u32) -> Result<Files, AccessError> {
        let files = sysfs::read_glob(pattern, max_bytes, MAX_FILES)?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim().to_owned();
        let files = files.into_iter();
        Ok(files
            .map(|file| (file.path, file.content.map(text)))
            .collect())
    }

    fn link(&self, path: &str) -> Result<String, AccessError> {
        sysfs::read_link(path)
    }
}
