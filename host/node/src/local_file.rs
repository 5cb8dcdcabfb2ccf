//! Files that an operator names on the command line or in a spec: read whole, within a bound. They may be on a dead
//! mount: call these where a thread may block.

use std::{
    fs::File,
    io::{self, Read},
    os::unix::fs::{MetadataExt, OpenOptionsExt as _},
    path::Path,
};

use rustix::fs::OFlags;

/// A stamp that differs after a file was edited, replaced, created or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileStamp {
    device: u64,
    inode: u64,
    size: u64,
    /// Content and metadata: an editor may put the time of the former back.
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileStamp {
    /// The stamp of a file that is not looked at.
    pub(super) const NOT_LOOKED_AT: Self = Self {
        device: 0,
        inode: 0,
        size: 0,
        modified: (0, 0),
        changed: (0, 0),
    };
}

/// Opens a regular file to be read as a stream.
///
/// # Errors
/// The system's, and [`io::ErrorKind::InvalidInput`] for what is not a regular file: a pipe would never end.
pub fn open(path: &Path) -> io::Result<File> {
    // Asked first, since opening a pipe waits for somebody who writes.
    let facts = std::fs::metadata(path)?;
    if facts.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !facts.is_file() {
        return Err(not_regular());
    }
    // Somebody may have put a pipe in its place since: opened like this, it is not waited for.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::options()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(not_regular()),
    }
}

fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")
}

/// Opens a regular file to be read as a stream, and returns it with its size in bytes.
///
/// # Errors
/// Those of [`open`].
pub fn open_sized(path: &Path) -> io::Result<(File, u64)> {
    let file = open(path)?;
    let size = file.metadata()?.len();
    Ok((file, size))
}

/// Reads a whole regular file.
///
/// # Errors
/// Those of [`open`]; [`io::ErrorKind::FileTooLarge`] beyond `max` bytes.
pub fn read(path: &Path, max: usize) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    open(path)?.take(max as u64 + 1).read_to_end(&mut content)?;
    if content.len() > max {
        return Err(too_large(max));
    }
    Ok(content)
}

/// The error about a file that holds more than `max` bytes.
pub(super) fn too_large(max: usize) -> io::Error {
    io::Error::new(
        io::ErrorKind::FileTooLarge,
        format!("larger than {max} bytes"),
    )
}

/// The stamp of a file; `None` where there is none that could be looked at.
pub fn stamp(path: &Path) -> Option<FileStamp> {
    let facts = std::fs::metadata(path).ok()?;
    Some(FileStamp {
        device: facts.dev(),
        inode: facts.ino(),
        size: facts.size(),
        modified: (facts.mtime(), facts.mtime_nsec()),
        changed: (facts.ctime(), facts.ctime_nsec()),
    })
}

/// An error as GPUd's users know it from Go: `open /x: no such file or directory`.
pub fn open_error(path: &Path, error: &io::Error) -> String {
    let words = match error.raw_os_error().and_then(|code| {
        let code = rustix::io::Errno::from_raw_os_error(code);
        Some(match code {
            rustix::io::Errno::NOENT => "no such file or directory",
            rustix::io::Errno::ACCESS => "permission denied",
            rustix::io::Errno::NOTDIR => "not a directory",
            rustix::io::Errno::ISDIR => "is a directory",
            rustix::io::Errno::LOOP => "too many levels of symbolic links",
            _ => return None,
        })
    }) {
        Some(words) => words.to_owned(),
        None => error.to_string(),
    };
    format!("open {}: {words}", path.display())
}

#[cfg(test)]
mod tests;
