//! The database file and the files that SQLite puts beside it: their names and kinds, and moving all of them away.

use std::fs;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::StoreError;
use crate::node::clock::Clock;

/// Checks that the file, and what SQLite opens beside it, are regular files where they are there. SQLite would wait for ever for
/// what a pipe says. Links are followed.
///
/// # Errors
/// [`StoreError::Io`] naming what is none.
pub(super) fn check_kinds(path: &Path) -> Result<(), StoreError> {
    for suffix in ["", "-journal", "-wal", "-shm"] {
        let file = with_suffix(path, suffix);
        if fs::metadata(&file).is_ok_and(|facts| !facts.is_file()) {
            return Err(StoreError::Io(format!(
                "{} is not a regular file; move it away",
                file.display()
            )));
        }
    }
    Ok(())
}

/// Makes an empty file that its owner alone reads and writes; SQLite gives its log and its shared memory the same mode. One
/// that is there stays as it is, and what cannot be made is SQLite's to say.
pub(super) fn make_private(path: &Path) {
    let mut options = fs::OpenOptions::new();
    let _ = options.write(true).create_new(true).mode(0o600).open(path);
}

/// Renames the file, its log and its shared memory to `<file>.<why>-<unix seconds>`.
pub(super) fn move_away(path: &Path, why: &str) -> Result<PathBuf, StoreError> {
    let mut seconds = Clock::Live.now_ms() / 1000;
    let mut aside = with_suffix(path, &format!(".{why}-{seconds}"));
    // Two in one second: the earlier one is evidence too.
    while aside.exists() {
        seconds = seconds.saturating_add(1);
        aside = with_suffix(path, &format!(".{why}-{seconds}"));
    }
    fs::rename(path, &aside)?;
    for suffix in ["-wal", "-shm"] {
        let from = with_suffix(path, suffix);
        if from.exists() {
            fs::rename(from, with_suffix(&aside, suffix))?;
        }
    }
    Ok(aside)
}

/// Returns the path with something behind its name.
pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
