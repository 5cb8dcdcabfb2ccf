//! Appends to a log file of the operator's choosing, never through a link or into a file of another user.

use std::{
    fs::{self, File, Metadata},
    io::{self, Write as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use super::trusted;

/// Size in bytes that a log file is not grown beyond; GPUd has no bound.
const LIMIT: u64 = 64 << 20;

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
    // A process that does not get the lock meets another that renames; the file at hand is the older one then, and good
    // enough.
    if metadata.is_file() && full && file.try_lock().is_ok() {
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
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn read(path: &Path) -> String {
        fs::read_to_string(path).unwrap_or_else(|error| error.kind().to_string())
    }

    #[test]
    fn entries_follow_each_other_in_a_file_that_all_may_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        append(&path, b"one\n").unwrap();
        append(&path, b"two\n").unwrap();
        assert_eq!(read(&path), "one\ntwo\n");
        // The process's mask can only take from it.
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o733,
            0o600
        );
    }

    #[test]
    fn errors_say_what_go_says() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let missing = folder.join("no/such");
        let fifo = folder.join("fifo");
        assert!(
            std::process::Command::new("mkfifo")
                .arg(&fifo)
                .status()
                .unwrap()
                .success()
        );
        for (path, problem) in [
            (missing.as_path(), "no such file or directory"),
            (folder, "is a directory"),
            (&fifo, "no such device or address"),
        ] {
            assert_eq!(
                append(path, b"x").unwrap_err().to_string(),
                format!(
                    "failed to open log file: open {}: {problem}",
                    path.display()
                )
            );
        }
        assert_eq!(
            append(Path::new("/dev/full"), b"x")
                .unwrap_err()
                .to_string(),
            "failed to write to log file: write /dev/full: no space left on device"
        );
    }

    #[test]
    fn a_full_file_is_moved_away_and_a_link_to_it_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("log"), folder.path().join("link"));
        symlink(&path, &link).unwrap();
        for entry in [b"1234", b"5678", b"abcd", b"efgh", b"ijkl"] {
            append_up_to(8, &link, entry).unwrap();
        }
        assert_eq!(read(&path), "ijkl");
        assert_eq!(read(&folder.path().join("log.1")), "abcdefgh");
        assert!(link.is_symlink());
        // Longer than the limit by itself.
        append_up_to(2, &path.with_extension("new"), b"1234").unwrap();
        assert_eq!(read(&path.with_extension("new")), "1234");
    }

    #[test]
    fn who_meets_a_renaming_does_not_wait_and_loses_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        append(&path, b"1234").unwrap();
        let other = open(&path).unwrap();
        other.lock().unwrap();
        append_up_to(4, &path, b"5678").unwrap();
        assert_eq!(read(&path), "12345678");
        // It was renamed by another after we opened it.
        let old = fs::metadata(&path).unwrap();
        fs::rename(&path, folder.path().join("log.1")).unwrap();
        fs::write(&path, b"new").unwrap();
        move_away(&path, &old).unwrap();
        assert_eq!(read(&path), "new");
    }

    #[test]
    fn a_link_of_another_user_leads_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let (victim, link) = (folder.path().join("victim"), folder.path().join("link"));
        fs::write(&victim, "").unwrap();
        symlink(&victim, &link).unwrap();
        if std::os::unix::fs::lchown(&link, Some(12345), None).is_err() {
            eprintln!("skipped: only root can give links away");
            return;
        }
        let error = append(&link, b"x").unwrap_err().to_string();
        assert!(error.contains("belongs to user 12345"), "{error}");
        assert_eq!(read(&victim), "");
    }
}
