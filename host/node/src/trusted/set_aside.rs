//! Moves out of the way what other users could have changed in a folder of gpud's own.
//!
//! Closing a file does not make its content gpud's own, and hides that others could write it. A user who opened it before still
//! changes it. What a folder holds that was open to others can be a file of gpud's under another name. So all of it goes
//! into a new folder beside, where nothing looks for it, and gpud makes new files.

use std::{
    ffi::{CStr, CString},
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use rustix::{
    fs::{Dir, FileType, Mode, OFlags, Stat, fchmod, fstat, mkdirat, openat, renameat},
    io::Errno,
    mount::UnmountFlags,
};

use super::{TrustError, mounts, rules::Rules};

/// How the names of folders begin that hold what was moved.
const PREFIX: &str = "set-aside-";
/// Write permission of group and others.
const OTHERS_WRITE: u32 = 0o022;
/// A folder has this permission and no other of others while it is emptied, so that a start that was interrupted begins again.
const STICKY: u32 = 0o1000;
/// Deepest folder that is looked into.
const MAX_DEPTH: usize = 16;
/// Most file systems that are unmounted at one place.
const MAX_MOUNTS: usize = 16;
/// Most files and folders that are looked at.
const MAX_ENTRIES: usize = 100_000;

/// What was moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetAside {
    /// The folder that it is in now.
    pub folder: PathBuf,
    /// The names, sorted.
    pub names: Vec<String>,
}

/// Whether others could have put something into a folder, or have taken it out, by what its open handle says of it.
pub(super) fn was_open(rules: Rules, path: &Path, handle: &OwnedFd, facts: &Stat) -> bool {
    facts.st_mode & (OTHERS_WRITE | STICKY) != 0
        || rules.judge_list(path, path, facts, handle).is_err()
}

/// Closes a folder to others and moves all that is in it. `None` if it is empty.
///
/// # Errors
/// [`TrustError::NotSetAside`].
pub(super) fn everything(handle: &OwnedFd, path: &Path) -> Result<Option<SetAside>, TrustError> {
    let failed = |error: Errno| not_set_aside(path, error);
    match fchmod(handle, Mode::from_raw_mode(STICKY | 0o700)) {
        // Nothing can be put into it.
        Err(Errno::ROFS) if names(handle).is_ok_and(|names| names.is_empty()) => return Ok(None),
        closed => closed.map_err(failed)?,
    }
    let names = names(handle).map_err(failed)?;
    let moved = match names.is_empty() {
        true => None,
        false => Some(entries(handle, path, names)?),
    };
    fchmod(handle, Mode::from_raw_mode(0o700)).map_err(failed)?;
    Ok(moved)
}

/// Moves these entries of a folder that is closed to others.
///
/// # Errors
/// [`TrustError::NotSetAside`].
pub(super) fn entries(
    handle: &OwnedFd,
    path: &Path,
    names: Vec<CString>,
) -> Result<SetAside, TrustError> {
    let failed = |error: Errno| not_set_aside(path, error);
    let (name, target) = make_folder(handle).map_err(failed)?;
    let mut moved = Vec::with_capacity(names.len());
    for entry in names {
        let shown = entry.to_string_lossy().into_owned();
        match renameat(handle, &entry, &target, &entry) {
            Ok(()) => moved.push(shown),
            Err(Errno::NOENT) => {}
            Err(Errno::BUSY | Errno::XDEV) if is_mount_of_roots(handle, &entry) => {}
            Err(error) => {
                let entry_path = path.join(&shown);
                unmount(&entry_path);
                renameat(handle, &entry, &target, &entry)
                    .map_err(|_| not_set_aside(&entry_path, error))?;
                moved.push(shown);
            }
        }
    }
    moved.sort();
    Ok(SetAside {
        folder: path.join(name),
        names: moved,
    })
}

/// Whether others could have changed an entry of a folder, or something in it: it is theirs, or they could write to it. What cannot be
/// looked at counts as such. Into another file system it does not look.
pub(super) fn could_be_changed(rules: Rules, folder: &OwnedFd, name: &CStr) -> bool {
    let mut entries = MAX_ENTRIES;
    match is_changeable(rules, folder, name, 0, &mut entries) {
        Ok(is_changeable) => is_changeable,
        Err(error) => error != Errno::NOENT,
    }
}

fn is_changeable(
    rules: Rules,
    folder: &OwnedFd,
    name: &CStr,
    depth: usize,
    entries: &mut usize,
) -> Result<bool, Errno> {
    *entries = entries.checked_sub(1).ok_or(Errno::TOOBIG)?;
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = openat(folder, name, flags, Mode::empty())?;
    // For the words of refusals, which nobody sees here.
    let path = Path::new(".");
    if mounts::device(&handle)? != mounts::device(folder)? {
        return Ok(rules.judge_server(path, path, &handle).is_err());
    }
    let facts = fstat(&handle)?;
    if rules.judge_owner(path, path, &facts).is_err() {
        return Ok(true);
    }
    let kind = FileType::from_raw_mode(facts.st_mode);
    if !matches!(kind, FileType::RegularFile | FileType::Directory) {
        return Ok(false);
    }
    let is_open =
        facts.st_mode & OTHERS_WRITE != 0 || rules.judge_list(path, path, &facts, &handle).is_err();
    if is_open || kind == FileType::RegularFile {
        return Ok(is_open);
    }
    if depth == MAX_DEPTH {
        return Err(Errno::LOOP);
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let inner = openat(folder, name, flags, Mode::empty())?;
    for name in names(&inner)? {
        match is_changeable(rules, &inner, &name, depth + 1, entries) {
            Ok(true) => return Ok(true),
            Ok(false) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

/// Makes a folder with a new name and opens it.
fn make_folder(folder: &OwnedFd) -> Result<(String, OwnedFd), Errno> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let mut number = now.unwrap_or_default().as_secs();
    let name = loop {
        let name = format!("{PREFIX}{number}");
        match mkdirat(folder, &name, Mode::RWXU) {
            Ok(()) => break name,
            // Two in one second.
            Err(Errno::EXIST) => number = number.saturating_add(1),
            Err(error) => return Err(error),
        }
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = openat(folder, &name, flags, Mode::empty())?;
    Ok((name, handle))
}

/// The names of a folder's entries.
pub(super) fn names(folder: &OwnedFd) -> Result<Vec<CString>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let name = entry?.file_name().to_owned();
        if !matches!(name.to_bytes(), b"." | b"..") {
            names.push(name);
        }
    }
    Ok(names)
}

/// Unmounts what a user has mounted in gpud's own folder, where this process may: moved, it would still be a file system that
/// never answers. It is not asked.
fn unmount(path: &Path) {
    for _ in 0..MAX_MOUNTS {
        let is_of_user = mounts::served_at(path).is_some_and(|user| user != 0);
        let detach = UnmountFlags::DETACH | UnmountFlags::NOFOLLOW;
        if !is_of_user || rustix::mount::unmount(path, detach).is_err() {
            return;
        }
        tracing::warn!("what a user had mounted at {} is unmounted", path.display());
    }
}

/// Whether a folder is one of another file system, which root has mounted: nobody could take it out, and what it is itself, those
/// who use it judge.
fn is_mount_of_roots(folder: &OwnedFd, name: &CStr) -> bool {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let server = |handle| match mounts::served_by(&handle) {
        Ok(Some(0)) => fstat(&handle),
        _ => Err(Errno::ACCESS),
    };
    let facts = openat(folder, name, flags, Mode::empty()).and_then(server);
    facts.is_ok_and(|facts| FileType::from_raw_mode(facts.st_mode) == FileType::Directory)
}

fn not_set_aside(path: &Path, error: Errno) -> TrustError {
    TrustError::NotSetAside {
        path: path.to_owned(),
        source: error.into(),
    }
}
