//! A log file that cannot grow without bound.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use crate::node::trusted;

/// Largest size of one file, bytes: GPUd's 128 MB.
const LIMIT: u64 = 128 << 20;
/// Older files that are kept, as `‹file›.1` (the newest) to `‹file›.5`.
const KEPT: u32 = 5;

/// The file. Each write is kept whole.
pub struct RotatingFile {
    path: PathBuf,
    file: File,
    size: u64,
    limit: u64,
}

impl RotatingFile {
    /// Opens or creates the file (mode 0600) to append to it; missing folders are created. A file or a link of another user
    /// is refused, and others lose what they could do with one that is there.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::with_limit(path, LIMIT)
    }

    fn with_limit(path: &Path, limit: u64) -> io::Result<Self> {
        let file = trusted::append(path)?;
        Ok(Self {
            path: path.to_owned(),
            size: file.metadata()?.len(),
            file,
            limit,
        })
    }

    fn older(&self, number: u32) -> PathBuf {
        let mut name: OsString = self.path.clone().into();
        name.push(format!(".{number}"));
        name.into()
    }

    /// Begins a new file. Where the old one cannot be moved away it is emptied: a bound that gives way is none.
    fn rotate(&mut self) -> io::Result<()> {
        for number in (1..KEPT).rev() {
            // Most are not there at first.
            let _ = fs::rename(self.older(number), self.older(number + 1));
        }
        let moved =
            fs::rename(&self.path, self.older(1)).and_then(|()| Ok(trusted::append(&self.path)?));
        match moved {
            Ok(file) => self.file = file,
            Err(_) => self.file.set_len(0)?,
        }
        self.size = 0;
        Ok(())
    }
}

impl Write for RotatingFile {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let length = line.len() as u64;
        if self.size > 0 && self.size.saturating_add(length) > self.limit {
            self.rotate()?;
        }
        self.file.write_all(line)?;
        self.size = self.size.saturating_add(length);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests;
