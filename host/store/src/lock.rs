//! One gpud per data folder: an exclusive `flock` on `<data dir>/gpud.lock`.
#![allow(
    clippy::disallowed_methods,
    reason = "the kernel prints these files from its memory, and there is no node yet"
)]

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::{CWD, FileType, FlockOperation, Mode, OFlags, Stat, flock, fstat, openat};
use rustix::io::Errno;

use super::StoreError;
use crate::node::trusted::device;

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
        let file = open(&path)?;
        if lock(&file, FlockOperation::NonBlockingLockExclusive, folder)? {
            return Ok(Self { _file: file });
        }
        tracing::warn!(
            "another user holds {}: it is removed, and a new one is made",
            path.display()
        );
        fs::remove_file(&path)?;
        let file = open(&path)?;
        match lock(&file, FlockOperation::NonBlockingLockExclusive, folder)? {
            true => Ok(Self { _file: file }),
            false => Err(StoreError::OtherDaemon(folder.to_owned())),
        }
    }

    /// Checks that no other gpud uses `folder`, without taking the lock. One that cannot be looked at is free.
    ///
    /// # Errors
    /// [`StoreError::OtherDaemon`].
    pub fn check_free(folder: &Path) -> Result<(), StoreError> {
        let Ok(file) = open_there(folder) else {
            return Ok(());
        };
        match lock(&file, FlockOperation::NonBlockingLockShared, folder) {
            Err(error @ StoreError::OtherDaemon(_)) => Err(error),
            _ => Ok(()),
        }
    }
}

/// Opens the lock of a folder that others may be able to change: no link, and nothing of another file system, which may never
/// answer.
fn open_there(folder: &Path) -> io::Result<File> {
    let looked_up = |path: &Path| {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = openat(CWD, path, flags, Mode::empty())?;
        Ok::<_, Errno>((device(&handle)?, handle))
    };
    let (folder_device, _folder) = looked_up(folder)?;
    let (file_device, handle) = looked_up(&folder.join(LOCK_FILE))?;
    if file_device != folder_device || !fstat(&handle).is_ok_and(is_file) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    File::open(format!("/proc/self/fd/{}", handle.as_raw_fd()))
}

fn is_file(facts: Stat) -> bool {
    FileType::from_raw_mode(facts.st_mode) == FileType::RegularFile
}

/// Opens the lock of a folder that nobody else can change, and makes it if it is missing.
fn open(path: &Path) -> Result<File, StoreError> {
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
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

/// Takes a lock at once. False if only others hold it, none of which is a gpud.
///
/// # Errors
/// [`StoreError::OtherDaemon`] where root's process holds it, one of this user, or an unknown one.
fn lock(file: &File, operation: FlockOperation, folder: &Path) -> Result<bool, StoreError> {
    match flock(file, operation) {
        Ok(()) => return Ok(true),
        Err(Errno::WOULDBLOCK) => {}
        Err(error) => return Err(io::Error::from(error).into()),
    }
    let facts = file.metadata()?;
    let locks = kernel_file(LOCKS).unwrap_or_default();
    let mut holders = holders(&locks, facts.ino()).peekable();
    match holders.peek().is_some() && holders.all(|process| is_no_gpud(process, &facts)) {
        true => Ok(false),
        false => Err(StoreError::OtherDaemon(folder.to_owned())),
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

fn kernel_file(path: &str) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// Whether a process that took the lock cannot be a gpud: it is another user's, it has ended and left the lock to a child, as a gpud
/// does not, or another program has its number by now. The real user counts: a program such as `su` runs as root for its caller.
fn is_no_gpud(process: &str, lock: &Metadata) -> bool {
    // A process of another namespace has no number here.
    if !process.parse::<u32>().is_ok_and(|number| number > 0) {
        return false;
    }
    let place = format!("/proc/{process}");
    let Some(status) = kernel_file(&format!("{place}/status")) else {
        return !Path::new(&place).exists();
    };
    match real_user(&status) {
        Some(user) if user != 0 && user != rustix::process::geteuid().as_raw() => true,
        _ => has_open(&place, lock) == Some(false),
    }
}

fn real_user(status: &str) -> Option<u32> {
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    users.split_whitespace().next()?.parse().ok()
}

/// Whether a process has a file open, if that can be seen.
fn has_open(process: &str, file: &Metadata) -> Option<bool> {
    let mut open = fs::read_dir(format!("{process}/fd")).ok()?.flatten();
    Some(open.any(|entry| {
        let facts = fs::metadata(entry.path());
        facts.is_ok_and(|facts| (facts.dev(), facts.ino()) == (file.dev(), file.ino()))
    }))
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
    fn our_own_lock_is_ours() {
        let folder = tempfile::tempdir().unwrap();
        FolderLock::check_free(folder.path()).unwrap();
        let held = FolderLock::acquire(folder.path()).unwrap();
        let other = StoreError::OtherDaemon(folder.path().to_owned());
        assert_eq!(FolderLock::check_free(folder.path()), Err(other.clone()));
        assert_eq!(FolderLock::acquire(folder.path()).err(), Some(other));
        drop(held);
        FolderLock::check_free(folder.path()).unwrap();
    }

    #[test]
    fn who_is_no_gpud_is_seen_by_its_process() {
        let folder = tempfile::tempdir().unwrap();
        let file = open(&folder.path().join(LOCK_FILE)).unwrap();
        let lock = file.metadata().unwrap();
        let own = std::process::id().to_string();
        for unknown in [own.as_str(), "0", "-1", "x"] {
            assert!(!is_no_gpud(unknown, &lock), "{unknown}");
        }
        drop(file);
        // Its number has another program now, or no one.
        for other in [own.as_str(), "4194305"] {
            assert!(is_no_gpud(other, &lock), "{other}");
        }
        assert_eq!(real_user("Name:\tx\nUid:\t7\t0\t0\t0\n"), Some(7));
        assert_eq!(real_user("Name:\tx\n"), None);
    }
}
