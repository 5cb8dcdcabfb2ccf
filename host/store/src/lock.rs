//! One gpud per data folder: an exclusive `flock` on `<data dir>/gpud.lock`.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

use super::StoreError;

/// Name of the lock file inside the data folder.
pub const LOCK_FILE: &str = "gpud.lock";

/// The right to write to one data folder, until dropped or the process ends (the kernel then releases it, so no stale
/// lock is left after `kill -9`).
#[derive(Debug)]
pub struct FolderLock {
    _file: File,
}

impl FolderLock {
    /// Takes the lock of `folder` at once or not at all; the folder must exist.
    ///
    /// # Errors
    /// [`StoreError::OtherDaemon`] when another process (or another store of this one) holds it; `ReadOnly`,
    /// `DiskFull` or `Io` when the lock file cannot be made.
    pub fn acquire(folder: &Path) -> Result<Self, StoreError> {
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            // Opening a pipe that nobody reads would wait for ever.
            .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
            .open(folder.join(LOCK_FILE))?;
        if !file.metadata()?.is_file() {
            let not_a_file = io::Error::other(format!("{LOCK_FILE} is not a regular file"));
            return Err(not_a_file.into());
        }
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self { _file: file }),
            Err(Errno::WOULDBLOCK) => Err(StoreError::OtherDaemon(folder.to_owned())),
            Err(error) => Err(io::Error::from(error).into()),
        }
    }
}
