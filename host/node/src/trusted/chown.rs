//! Changes the owner of root's folders and files to the user that gpud is about to become.
//!
//! Only files that root alone can reach or change get a new owner: a user who could put a link or a second name in the
//! way would get a file of root's. Files that belong to the user already, or are in a folder of the user's, are left as
//! they are; gpud judges them again as that user.

use std::{io, os::fd::OwnedFd, path::Path};

use rustix::{
    fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, chownat, fchown, fstat, openat},
    io::Errno,
    process::{Gid, Uid},
};

use super::{
    TrustError,
    append::append,
    mounts,
    rules::Rules,
    walk::{WalkEnd, WalkGoal, walk},
};
use crate::users::User;

/// Write permission of group and others.
const OTHERS_WRITE: u32 = 0o022;
/// Deepest folder that is looked into.
const MAX_DEPTH: usize = 16;

/// Gives a folder of root's to a user, with all that is in it; makes it, with mode 0700, if it is missing. Blocks.
///
/// # Errors
/// [`TrustError`] of the system.
pub fn chown_folder(path: &Path, user: &User) -> Result<(), TrustError> {
    let goal = WalkGoal {
        makes_folders: true,
        ..WalkGoal::FOLDER
    };
    let failed = |error: Errno| TrustError::io(path, error.into());
    let (handle, facts) = match walk(path, Rules::of_process(), goal) {
        Ok(WalkEnd::Folder { handle, facts, .. }) => (handle, facts),
        Ok(WalkEnd::Entry(_)) => {
            return Err(TrustError::io(path, io::ErrorKind::NotADirectory.into()));
        }
        Err(refused) if refused.is_refusal() => return Ok(()),
        Err(error) => return Err(error),
    };
    if !is_roots(&facts) || can_others_write(&facts) {
        return Ok(());
    }
    let folder = open_folder(&handle, c".").map_err(failed)?;
    // The folder itself is last: until then no other user can enter, and an interrupted start begins again.
    chown_entries(&folder, facts.st_dev, user, 0).map_err(failed)?;
    fchown(
        &folder,
        Some(Uid::from_raw(user.uid)),
        Some(Gid::from_raw(user.gid)),
    )
    .map_err(failed)
}

/// Gives a log file of root's to a user; makes it, with mode 0600, if it is missing. Blocks.
///
/// # Errors
/// [`TrustError`] of the system.
pub fn chown_file(path: &Path, user: &User) -> Result<(), TrustError> {
    let failed = |error: Errno| TrustError::io(path, error.into());
    let file = match append(path) {
        Ok(file) => file,
        Err(refused) if refused.is_refusal() => return Ok(()),
        Err(error) => return Err(error),
    };
    let facts = fstat(&file).map_err(failed)?;
    let is_file = FileType::from_raw_mode(facts.st_mode) == FileType::RegularFile;
    if !is_file || !is_roots(&facts) {
        return Ok(());
    }
    fchown(
        &file,
        Some(Uid::from_raw(user.uid)),
        Some(Gid::from_raw(user.gid)),
    )
    .map_err(failed)
}

fn is_roots(facts: &Stat) -> bool {
    facts.st_uid == 0
}

fn can_others_write(facts: &Stat) -> bool {
    facts.st_mode & OTHERS_WRITE != 0
}

fn open_folder(above: &OwnedFd, name: &std::ffi::CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(above, name, flags, Mode::empty())
}

/// Gives away what is in a folder, on its file system only. Links, sockets and the like stay root's, as do files with a second name,
/// and a folder that others can write to.
fn chown_entries(folder: &OwnedFd, device: u64, user: &User, depth: usize) -> Result<(), Errno> {
    if depth > MAX_DEPTH {
        return Err(Errno::LOOP);
    }
    let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = openat(folder, name, flags, Mode::empty())?;
        // A file system of a user may never answer.
        if mounts::device(&handle)? != device {
            continue;
        }
        let facts = fstat(&handle)?;
        if !is_roots(&facts) {
            continue;
        }
        match FileType::from_raw_mode(facts.st_mode) {
            FileType::Directory if can_others_write(&facts) => {}
            FileType::Directory => {
                let inner = open_folder(&handle, c".")?;
                chown_entries(&inner, device, user, depth + 1)?;
                fchown(&inner, Some(uid), Some(gid))?;
            }
            // It may be a file from elsewhere.
            FileType::RegularFile if facts.st_nlink > 1 => {}
            FileType::RegularFile => {
                chownat(&handle, c"", Some(uid), Some(gid), AtFlags::EMPTY_PATH)?;
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
