//! One gpud per data folder: an exclusive `flock` on `<data dir>/gpud.lock`.
#![allow(
    clippy::disallowed_methods,
    reason = "the kernel prints files of /proc from its memory, and there is no node yet"
)]

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

use super::StoreError;

/// Name of the lock file inside the data folder.
pub const LOCK_FILE: &str = "gpud.lock";
/// The command of a daemon.
const RUN: &[u8] = b"run";

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

    /// Checks that no other daemon uses `folder`, a path without links. Others may be able to change the folder, so that nothing in it
    /// is looked at, and a lock there says nothing: daemons of root and of this user are found by the files that they have open.
    ///
    /// # Errors
    /// [`StoreError::OtherDaemon`].
    pub fn check_unused(folder: &Path) -> Result<(), StoreError> {
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let is_used = processes
            .filter_map(|entry| entry.file_name().into_string().ok()?.parse::<u32>().ok())
            .filter(|process| *process != std::process::id())
            .map(|process| format!("/proc/{process}"))
            .any(|process| is_daemon(&process) && has_file_in(&process, folder));
        match is_used {
            true => Err(StoreError::OtherDaemon(folder.to_owned())),
            false => Ok(()),
        }
    }
}

/// Whether a process is `gpud run` of root or of this user. The real user counts: a program such as `su` runs as root for its caller.
fn is_daemon(process: &str) -> bool {
    let own_name = program_name("/proc/self");
    if own_name.is_none() || program_name(process) != own_name {
        return false;
    }
    let own = rustix::process::getuid().as_raw();
    let status = fs::read(format!("{process}/status")).unwrap_or_default();
    if !real_user(&status).is_some_and(|user| user == 0 || user == own) {
        return false;
    }
    let arguments = fs::read(format!("{process}/cmdline")).unwrap_or_default();
    arguments.split(|byte| *byte == 0).any(|word| word == RUN)
}

/// Returns the name of a process's program, also where an update has replaced the file since.
fn program_name(process: &str) -> Option<String> {
    let program = fs::read_link(format!("{process}/exe")).ok()?;
    let name = program.file_name()?.to_string_lossy().into_owned();
    Some(name.trim_end_matches(" (deleted)").to_owned())
}

/// Reads `Uid: ‹real› ‹effective› …`. The name above it may be no UTF-8.
fn real_user(status: &[u8]) -> Option<u32> {
    let mut lines = status.split(|byte| *byte == b'\n');
    let users = lines.find_map(|line| line.strip_prefix(b"Uid:"))?;
    let users = str::from_utf8(users).ok()?;
    users.split_whitespace().next()?.parse().ok()
}

fn has_file_in(process: &str, folder: &Path) -> bool {
    let open = fs::read_dir(format!("{process}/fd"));
    let mut open = open.into_iter().flatten().flatten();
    open.any(|open| {
        let path = fs::read_link(open.path()).unwrap_or_default();
        path.starts_with(folder) && path != folder
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_with_files_in_the_folder_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        let own = format!("/proc/{}", std::process::id());
        assert!(!has_file_in(&own, &path));
        let itself = File::open(&path).unwrap();
        assert!(!has_file_in(&own, &path));
        let _lock = FolderLock::acquire(&path).unwrap();
        assert!(has_file_in(&own, &path));
        drop(itself);
        // This one is no daemon, and not another process.
        assert!(!is_daemon(&own));
        FolderLock::check_unused(&path).unwrap();
    }

    #[test]
    fn the_real_user_is_read_whatever_the_name() {
        assert_eq!(real_user(b"Name:\ta\xff\nUid:\t7\t0\t0\t0\n"), Some(7));
        assert_eq!(real_user(b"Name:\tx\n"), None);
    }
}
