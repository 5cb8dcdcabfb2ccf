//! Moves out of the way what other users could have changed in a folder of gpud's own.
//!
//! Closing a file does not make its content gpud's own, and hides that others could write it. A user who opened it before still
//! changes it. What a folder holds that was open to others can be a file of gpud's under another name. So all of it goes
//! into a new folder beside, where nothing looks for it, and gpud makes new files.

use std::{
    ffi::{CStr, CString, OsStr},
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
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
/// Most names that are reported: others can make as many as they like.
const NAMES: usize = 16;
/// Most entries that are listed before they are moved.
const AT_ONCE: usize = 1000;
/// Deepest folder that is looked into.
const MAX_DEPTH: usize = 16;
/// Most files and folders that are looked at.
const MAX_ENTRIES: usize = 100_000;

/// What was moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetAside {
    /// The folder that it is in now.
    pub folder: PathBuf,
    /// How much it is.
    pub count: u64,
    /// The first [`NAMES`] names.
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
    let failed = |error: Errno| failed(path, error);
    match fchmod(handle, Mode::from_raw_mode(STICKY | 0o700)) {
        // Nothing can be put into it.
        Err(Errno::ROFS) if names(handle).is_ok_and(|names| names.is_empty()) => return Ok(None),
        closed => closed.map_err(failed)?,
    }
    let mut target: Option<Target> = None;
    loop {
        let own = target.as_ref().map(|target| target.name.clone());
        let names = some_names(handle, AT_ONCE, own.as_deref()).map_err(failed)?;
        if names.is_empty() {
            break;
        }
        let target = match &mut target {
            Some(target) => target,
            none => none.insert(Target::make(handle, path)?),
        };
        let before = target.moved.count;
        for name in &names {
            target.take(handle, name)?;
        }
        // What is left is mounted there.
        if target.moved.count == before {
            break;
        }
    }
    let moved = target.map(|target| target.moved);
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
    names: &[CString],
) -> Result<SetAside, TrustError> {
    let mut target = Target::make(handle, path)?;
    for name in names {
        target.take(handle, name)?;
    }
    Ok(target.moved)
}

/// A new folder for what is moved.
struct Target {
    handle: OwnedFd,
    name: CString,
    /// The folder beside.
    from: PathBuf,
    moved: SetAside,
}

impl Target {
    fn make(handle: &OwnedFd, path: &Path) -> Result<Self, TrustError> {
        let made = make_folder(handle).map_err(|error| failed(path, error));
        let (name, handle) = made?;
        Ok(Self {
            handle,
            from: path.to_owned(),
            moved: SetAside {
                folder: path.join(OsStr::from_bytes(name.to_bytes())),
                count: 0,
                names: Vec::new(),
            },
            name,
        })
    }

    fn take(&mut self, from: &OwnedFd, name: &CStr) -> Result<(), TrustError> {
        match renameat(from, name, &self.handle, name) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Ok(()),
            Err(Errno::BUSY | Errno::XDEV) if is_mount_of_roots(from, name) => return Ok(()),
            Err(error) => {
                let path = self.from.join(OsStr::from_bytes(name.to_bytes()));
                unmount(&path);
                renameat(from, name, &self.handle, name).map_err(|_| failed(&path, error))?;
            }
        }
        self.moved.count += 1;
        if self.moved.names.len() < NAMES {
            self.moved.names.push(name.to_string_lossy().into_owned());
        }
        Ok(())
    }
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
fn make_folder(folder: &OwnedFd) -> Result<(CString, OwnedFd), Errno> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let mut number = now.unwrap_or_default().as_secs();
    let name = loop {
        let name = format!("{PREFIX}{number}");
        let name = CString::new(name).map_err(|_| Errno::INVAL)?;
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
    some_names(folder, usize::MAX, None)
}

/// The names of some of a folder's entries, at most `most`, without this one.
fn some_names(
    folder: &OwnedFd,
    most: usize,
    without: Option<&CStr>,
) -> Result<Vec<CString>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if !matches!(name.to_bytes(), b"." | b"..") && Some(name) != without {
            names.push(name.to_owned());
        }
        if names.len() == most {
            break;
        }
    }
    Ok(names)
}

/// Unmounts what a user has mounted in gpud's own folder, where this process may: moved, it would still be a file system that
/// never answers. It is not asked.
fn unmount(path: &Path) {
    let is_of_user = || mounts::served_at(path).is_some_and(|user| user != 0);
    let detach = UnmountFlags::DETACH | UnmountFlags::NOFOLLOW;
    let mut count = 0;
    // The folder is closed, so that there are no more of them.
    while is_of_user() && rustix::mount::unmount(path, detach).is_ok() {
        count += 1;
    }
    if count > 0 {
        tracing::warn!(
            count,
            "what a user had mounted at {} is unmounted",
            path.display()
        );
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

/// The error for what stays where it is.
pub(super) fn failed(path: &Path, error: Errno) -> TrustError {
    TrustError::NotSetAside {
        path: path.to_owned(),
        source: error.into(),
    }
}
