//! One gpud per data folder: an exclusive `flock` on `<data dir>/gpud.lock`.
#![allow(
    clippy::disallowed_methods,
    reason = "the kernel prints these files from its memory, and there is no node yet"
)]

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::{CWD, FlockOperation, Mode, OFlags, Stat, flock, fstat, openat};
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
        if lock(&file, folder)? {
            return Ok(Self { _file: file });
        }
        tracing::warn!(
            "another user holds {}: it is removed, and a new one is made",
            path.display()
        );
        fs::remove_file(&path)?;
        let file = open(&path)?;
        match lock(&file, folder)? {
            true => Ok(Self { _file: file }),
            false => Err(StoreError::OtherDaemon(folder.to_owned())),
        }
    }

    /// Checks that no other gpud uses `folder`, which others may be able to change: nothing in it is opened, since a file system
    /// of theirs, or one that has a lease, may never answer. One that cannot be looked at is free.
    ///
    /// # Errors
    /// [`StoreError::OtherDaemon`].
    pub fn check_free(folder: &Path) -> Result<(), StoreError> {
        let locks = kernel_file(LOCKS);
        let is_locked = look_up(folder).is_ok_and(|lock| {
            let mut holders = holders(&locks, lock.st_ino);
            holders.any(|process| !is_no_gpud(process, identity(&lock)))
        });
        match is_locked || is_used(folder) {
            true => Err(StoreError::OtherDaemon(folder.to_owned())),
            false => Ok(()),
        }
    }
}

/// Whether another process of this program has a file of the folder open: others may have taken its lock away.
fn is_used(folder: &Path) -> bool {
    let program = |process: &str| fs::read_link(format!("/proc/{process}/exe"));
    let Ok(own) = program("self") else {
        return false;
    };
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|entry| entry.file_name().into_string().ok()?.parse::<u32>().ok())
        .filter(|process| *process != std::process::id())
        .map(|process| process.to_string())
        .filter(|process| program(process).is_ok_and(|found| found.file_name() == own.file_name()))
        .any(|process| {
            let open = fs::read_dir(format!("/proc/{process}/fd"));
            let mut open = open.into_iter().flatten().flatten();
            open.any(|open| fs::read_link(open.path()).is_ok_and(|path| path.starts_with(folder)))
        })
}

/// Returns the facts of a folder's lock, which is no link and in the folder's own file system.
fn look_up(folder: &Path) -> Result<Stat, Errno> {
    let look_up = |path: &Path| {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = openat(CWD, path, flags, Mode::empty())?;
        Ok::<_, Errno>((device(&handle)?, handle))
    };
    let (folder_device, _folder) = look_up(folder)?;
    let (file_device, handle) = look_up(&folder.join(LOCK_FILE))?;
    match file_device == folder_device {
        true => fstat(handle),
        false => Err(Errno::XDEV),
    }
}

/// The numbers of a file's file system and of itself.
type FileIdentity = (u64, u64);

fn identity(facts: &Stat) -> FileIdentity {
    (facts.st_dev, facts.st_ino)
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
fn lock(file: &File, folder: &Path) -> Result<bool, StoreError> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => return Ok(true),
        Err(Errno::WOULDBLOCK) => {}
        Err(error) => return Err(io::Error::from(error).into()),
    }
    let facts = fstat(file).map_err(io::Error::from)?;
    let locks = kernel_file(LOCKS);
    let mut holders = holders(&locks, facts.st_ino).peekable();
    let is_known = holders.peek().is_some();
    match is_known && holders.all(|process| is_no_gpud(process, identity(&facts))) {
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

/// Names of processes and files in it may be no UTF-8.
fn kernel_file(path: &str) -> String {
    let bytes = fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether a process that took the lock cannot be a gpud: it is another user's, it has ended and left the lock to a child, as a gpud
/// does not, or another program has its number by now. The real user counts: a program such as `su` runs as root for its caller.
fn is_no_gpud(process: &str, lock: FileIdentity) -> bool {
    // A process of another namespace has no number here.
    if !process.parse::<u32>().is_ok_and(|number| number > 0) {
        return false;
    }
    let place = format!("/proc/{process}");
    match real_user(&kernel_file(&format!("{place}/status"))) {
        Some(user) if user != 0 && user != rustix::process::geteuid().as_raw() => true,
        _ => !Path::new(&place).exists() || has_open(&place, lock) == Some(false),
    }
}

fn real_user(status: &str) -> Option<u32> {
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    users.split_whitespace().next()?.parse().ok()
}

/// Whether a process has a file open, if that can be seen.
fn has_open(process: &str, file: FileIdentity) -> Option<bool> {
    let mut open = fs::read_dir(format!("{process}/fd")).ok()?.flatten();
    Some(open.any(|entry| {
        let facts = fs::metadata(entry.path());
        facts.is_ok_and(|facts| (facts.dev(), facts.ino()) == file)
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
        let lock = identity(&fstat(&file).unwrap());
        let own = std::process::id().to_string();
        for unknown in [own.as_str(), "0", "-1", "x"] {
            assert!(!is_no_gpud(unknown, lock), "{unknown}");
        }
        drop(file);
        // Its number has another program now, or no one.
        for other in [own.as_str(), "4194305"] {
            assert!(is_no_gpud(other, lock), "{other}");
        }
        assert_eq!(real_user("Name:\tx\nUid:\t7\t0\t0\t0\n"), Some(7));
        assert_eq!(real_user("Name:\tx\n"), None);
    }
}
