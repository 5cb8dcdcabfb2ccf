//! Appends to a log file of the operator's choosing, never through a link or into a file of another user.

use std::{
    fs::{self, File, Metadata},
    io::{self, Write as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use super::trusted;

/// Size in bytes that a log file is not grown beyond; GPUd has no bound.
const LIMIT: u64 = 64 << 20;
/// Held while a log file is renamed.
static RENAMING: Mutex<()> = Mutex::new(());

/// Why nothing was appended, in Go's words.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// The file cannot be opened or made.
    #[error("failed to open log file: open {}: {}", path.display(), os_text(source))]
    Open {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// It was opened, but not all was written.
    #[error("failed to write to log file: write {}: {}", path.display(), os_text(source))]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// It is full and cannot be moved away.
    #[error("failed to write to log file: rename {}: {}", path.display(), os_text(source))]
    Rotate {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
}

/// Appends the bytes in one write, so that entries of several writers do not mix. The file is made with mode 0644 if it
/// is not there; folders are not made.
///
/// A regular file that would grow beyond 64 MiB is first renamed to `‹file›.1`, in place of an older one of that name,
/// and a new one begun. A link stays where it is: what it leads to is renamed. A FIFO without a reader is an error, not
/// a wait.
///
/// # Errors
/// [`AppendError`]; after one, part of the bytes may have been written.
pub fn append(path: &Path, bytes: &[u8]) -> Result<(), AppendError> {
    append_up_to(LIMIT, path, bytes)
}

fn append_up_to(limit: u64, path: &Path, bytes: &[u8]) -> Result<(), AppendError> {
    let open_error = |source| AppendError::Open {
        path: path.to_owned(),
        source,
    };
    let mut file = open(path).map_err(open_error)?;
    let metadata = file.metadata().map_err(open_error)?;
    let length = metadata.len();
    let full = length > 0 && length.saturating_add(bytes.len() as u64) > limit;
    if metadata.is_file() && full {
        // Not the file's own lock: who may read the file can hold that.
        let _one = RENAMING.lock().unwrap_or_else(PoisonError::into_inner);
        move_away(path, &metadata).map_err(|source| AppendError::Rotate {
            path: path.to_owned(),
            source,
        })?;
        file = open(path).map_err(open_error)?;
    }
    file.write_all(bytes).map_err(|source| AppendError::Write {
        path: path.to_owned(),
        source,
    })
}

fn open(path: &Path) -> io::Result<File> {
    Ok(trusted::append_shared(path)?)
}

/// Renames the file unless another has done so since it was opened.
fn move_away(path: &Path, opened: &Metadata) -> io::Result<()> {
    let path = match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        path => path?,
    };
    let now = fs::metadata(&path)?;
    if (now.dev(), now.ino()) != (opened.dev(), opened.ino()) {
        return Ok(());
    }
    let mut older = path.clone().into_os_string();
    older.push(".1");
    fs::rename(&path, older)
}

/// The system's text as Go has it: without the number, and starting with a small letter.
fn os_text(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(chars).collect()
    })
}

#[cfg(test)]
mod tests;
