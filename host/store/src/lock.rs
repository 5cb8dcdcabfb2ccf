//! One gpud per data folder: an exclusive `flock` on `<data dir>/gpud.lock`.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

use super::StoreError;

/// Name of the lock file inside the data folder.
pub const LOCK_FILE: &str = "gpud.lock";
/// The kernel's list of locks (proc_locks(5)).
const LOCKS: &str = "/proc/locks";

/// The right to write to one data folder, until dropped or the process ends (the kernel then releases it, so no stale
/// lock is left after `kill -9`).
#[derive(Debug)]
pub struct FolderLock {
    _file: File,
}

impl FolderLock {
    /// Takes the lock of `folder` at once or not at all; the folder must exist. A lock that another user's process holds does not
    /// count: that user has opened the file while he could, and a new file takes its place.
    ///
    /// # Errors
    /// [`StoreError::OtherDaemon`] when another process (or another store of this one) holds it; `ReadOnly`,
    /// `DiskFull` or `Io` when the lock file cannot be made.
    pub fn acquire(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join(LOCK_FILE);
        let file = open(&path, true)?;
        let Some(holder) = lock(&file, FlockOperation::NonBlockingLockExclusive, folder)? else {
            return Ok(Self { _file: file });
        };
        let Holder { user, process } = holder;
        tracing::warn!(file = %path.display(), user, process, "another user held the lock: it is made anew");
        fs::remove_file(&path)?;
        let file = open(&path, true)?;
        match lock(&file, FlockOperation::NonBlockingLockExclusive, folder)? {
            Some(_) => Err(StoreError::OtherDaemon(folder.to_owned())),
            None => Ok(Self { _file: file }),
        }
    }

    /// Checks that no other gpud uses `folder`, without taking the lock. One that cannot be looked at is free.
    ///
    /// # Errors
    /// [`StoreError::OtherDaemon`].
    pub fn check_free(folder: &Path) -> Result<(), StoreError> {
        let Ok(file) = open(&folder.join(LOCK_FILE), false) else {
            return Ok(());
        };
        match lock(&file, FlockOperation::NonBlockingLockShared, folder) {
            Err(error @ StoreError::OtherDaemon(_)) => Err(error),
            _ => Ok(()),
        }
    }
}

/// A process of another user that holds a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Holder {
    user: u32,
    process: u32,
}

fn open(path: &Path, makes: bool) -> Result<File, StoreError> {
    let file = OpenOptions::new()
        .create(makes)
        .truncate(false)
        .read(!makes)
        .write(makes)
        .mode(0o600)
        // Opening a pipe that nobody reads would wait for ever.
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => {
            let not_a_file = io::Error::other(format!("{LOCK_FILE} is not a regular file"));
            Err(not_a_file.into())
        }
    }
}

/// Takes a lock at once, or returns the other user that holds it.
///
/// # Errors
/// [`StoreError::OtherDaemon`] where root's process holds it, one of this user, or an unknown one.
fn lock(
    file: &File,
    operation: FlockOperation,
    folder: &Path,
) -> Result<Option<Holder>, StoreError> {
    match flock(file, operation) {
        Ok(()) => Ok(None),
        Err(Errno::WOULDBLOCK) => {
            let inode = file.metadata()?.ino();
            let locks = kernel_file(LOCKS).unwrap_or_default();
            let own = rustix::process::geteuid().as_raw();
            let found: Option<Vec<Holder>> = holders(&locks, inode).map(holder).collect();
            match found.and_then(|found| foreign(&found, own)) {
                Some(holder) => Ok(Some(holder)),
                None => Err(StoreError::OtherDaemon(folder.to_owned())),
            }
        }
        Err(error) => Err(io::Error::from(error).into()),
    }
}

/// Returns the first of the holders, if none of them can be a gpud.
fn foreign(holders: &[Holder], own: u32) -> Option<Holder> {
    let is_foreign = |holder: &Holder| holder.user != 0 && holder.user != own;
    match holders.iter().all(is_foreign) {
        true => holders.first().copied(),
        false => None,
    }
}

/// The processes that hold a lock by `flock` on a file with this inode, by the kernel's list: `1: FLOCK ADVISORY WRITE 812
/// fd:01:394112 0 EOF`. A process that waits has `->` in its line.
fn holders(locks: &str, inode: u64) -> impl Iterator<Item = &str> {
    locks.lines().filter_map(move |line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, "FLOCK", _, _, process, file, ..] = fields[..] else {
            return None;
        };
        let found = file.rsplit(':').next()?;
        (found.parse() == Ok(inode)).then_some(process)
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "the kernel prints it from its memory, and there is no node yet"
)]
fn kernel_file(path: &str) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// Whose process it is. The real user counts: a program such as `su` runs as root for whoever starts it.
fn holder(process: &str) -> Option<Holder> {
    let status = kernel_file(&format!("/proc/{process}/status"))?;
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    Some(Holder {
        user: users.split_whitespace().next()?.parse().ok()?,
        process: process.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holders_are_found_by_the_inode() {
        let locks = "1: POSIX  ADVISORY  WRITE 700 fd:01:394112 0 EOF\n\
            2: FLOCK  ADVISORY  WRITE 812 fd:01:394112 0 EOF\n\
            2: -> FLOCK  ADVISORY  WRITE 813 fd:01:394112 0 EOF\n\
            3: FLOCK  ADVISORY  READ 900 00:1c:394112 0 EOF\n\
            4: FLOCK  ADVISORY  WRITE 901 fd:01:3941123 0 EOF\n\
            nonsense\n";
        let found: Vec<&str> = holders(locks, 394_112).collect();
        assert_eq!(found, ["812", "900"]);
    }

    #[test]
    fn only_other_users_hold_nothing() {
        let of = |user| Holder { user, process: 1 };
        for (users, expected) in [
            (&[][..], None),
            (&[0], None),
            (&[7], None),
            (&[8], Some(8)),
            (&[8, 0], None),
            (&[8, 9], Some(8)),
        ] {
            let holders: Vec<Holder> = users.iter().copied().map(of).collect();
            let found = foreign(&holders, 7).map(|holder| holder.user);
            assert_eq!(found, expected, "{users:?}");
        }
    }

    #[test]
    fn our_own_lock_is_ours() {
        let folder = tempfile::tempdir().unwrap();
        FolderLock::check_free(folder.path()).unwrap();
        let held = FolderLock::acquire(folder.path()).unwrap();
        let other = StoreError::OtherDaemon(folder.path().to_owned());
        assert_eq!(FolderLock::check_free(folder.path()), Err(other.clone()));
        assert_eq!(FolderLock::acquire(folder.path()).err(), Some(other));
        drop(held);
        FolderLock::check_free(folder.path()).unwrap();
        let process = holder(&std::process::id().to_string()).unwrap();
        assert_eq!(process.user, rustix::process::getuid().as_raw());
        assert_eq!(holder("0"), None);
    }
}
