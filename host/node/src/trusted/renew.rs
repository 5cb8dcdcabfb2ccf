//! Puts a new folder in the place of one that others could open.
//!
//! Closing a folder takes no handle away from those who have it open. Who has one can list the folder into memory that his own
//! file system serves, and so hold the kernel's lock of it for as long as he likes: nobody makes, renames or removes anything
//! in it, and a process that tries cannot be killed. A new folder has a lock that nobody else knows.

use std::{
    ffi::{CStr, CString, OsStr},
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use rustix::{
    fs::{
        AtFlags, Mode, OFlags, RenameFlags, fchmod, fstat, mkdirat, openat, renameat_with, unlinkat,
    },
    io::Errno,
};

use super::{
    TrustError,
    rules::Rules,
    set_aside,
    walk::{WalkEnd, WalkGoal, walk},
};

/// What the name of the folder before goes on with, while its entries move over, and the time: in a folder such as `/tmp` others
/// could take a name that they know. A start that is interrupted leaves it, and the next one goes on.
const BEFORE: &str = ".before-";
/// What the name of a folder that is held goes on with, and the time.
const HELD: &str = ".held-";
/// Permissions of group and others.
const OTHERS: u32 = 0o077;

/// Two folders beside each other.
struct Beside {
    /// The folder that both are in.
    parent: OwnedFd,
    name: CString,
    other: CString,
    /// The path of the other one.
    path: PathBuf,
}

impl Beside {
    /// With a name that nobody has. `path` has no links.
    fn new(path: &Path, suffix: &str, rules: Rules) -> Result<Self, TrustError> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let suffix = format!("{suffix}{}", now.unwrap_or_default().as_nanos());
        Self::of(path, &suffix, rules)
    }

    /// `path` has no links.
    fn of(path: &Path, suffix: &str, rules: Rules) -> Result<Self, TrustError> {
        let failed = |error: Errno| TrustError::io(path, error.into());
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(failed(Errno::INVAL));
        };
        let WalkEnd::Folder { handle, .. } = walk(parent, rules, WalkGoal::FOLDER)? else {
            return Err(failed(Errno::NOTDIR));
        };
        let other = [name.as_bytes(), suffix.as_bytes()].concat();
        let text = |bytes: &[u8]| CString::new(bytes).map_err(|_| failed(Errno::INVAL));
        Ok(Self {
            parent: handle,
            name: text(name.as_bytes())?,
            path: parent.join(OsStr::from_bytes(&other)),
            other: text(&other)?,
        })
    }

    /// Puts a new folder in the place of the one with this name, which then has the other name.
    fn exchange(&self) -> Result<OwnedFd, Errno> {
        mkdirat(&self.parent, &self.other, Mode::RWXU)?;
        let new = open(&self.parent, &self.other).and_then(|new| {
            // Whatever the umask.
            fchmod(&new, Mode::RWXU)?;
            let (other, name) = (&self.other, &self.name);
            renameat_with(
                &self.parent,
                other,
                &self.parent,
                name,
                RenameFlags::EXCHANGE,
            )?;
            Ok(new)
        });
        if new.is_err() {
            let _ = unlinkat(&self.parent, &self.other, AtFlags::REMOVEDIR);
        }
        new
    }

    /// Takes an exchange back, with what was moved since.
    fn undo(&self) -> Result<(), Errno> {
        let before = open(&self.parent, &self.other)?;
        let flags = RenameFlags::EXCHANGE;
        renameat_with(&self.parent, &self.other, &self.parent, &self.name, flags)?;
        self.take_over(&before)
    }

    /// Moves everything from the other folder into this one, and removes it. What has a name that is taken stays there.
    fn take_over(&self, into: &OwnedFd) -> Result<(), Errno> {
        let from = open(&self.parent, &self.other)?;
        for name in set_aside::names(&from)? {
            match renameat_with(&from, &name, into, &name, RenameFlags::NOREPLACE) {
                Ok(()) | Err(Errno::NOENT | Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
        }
        unlinkat(&self.parent, &self.other, AtFlags::REMOVEDIR)
    }
}

/// Puts a new folder in the place of one that is closed by now, with all that is in it. `path` has no links.
///
/// # Errors
/// It stays the folder that it is: a mount point, one with a mount in it, or one in a folder that this process cannot change.
pub(super) fn renew(path: &Path, rules: Rules) -> Result<OwnedFd, TrustError> {
    let beside = Beside::new(path, BEFORE, rules)?;
    let failed = |error: Errno| TrustError::io(&beside.path, error.into());
    let new = beside.exchange().map_err(failed)?;
    if let Err(error) = beside.take_over(&new) {
        // What is mounted in it cannot be moved: all of it goes back.
        beside.undo().map_err(failed)?;
        return Err(failed(error));
    }
    Ok(new)
}

/// What an interrupted [`renew`] has left.
fn left(path: &Path, rules: Rules) -> Option<Beside> {
    let Beside { parent, name, .. } = Beside::of(path, BEFORE, rules).ok()?;
    let is_ours = |folder: &CStr| {
        let facts = open(&parent, folder).and_then(fstat);
        facts.is_ok_and(|facts| rules.is_own(&facts) && facts.st_mode & OTHERS == 0)
    };
    let names = open(&parent, c".").and_then(|parent| set_aside::names(&parent));
    let prefix = [name.to_bytes(), BEFORE.as_bytes()].concat();
    let other = names
        .ok()?
        .into_iter()
        .find(|other| other.to_bytes().starts_with(&prefix) && is_ours(other))?;
    Some(Beside {
        path: path.with_file_name(OsStr::from_bytes(other.to_bytes())),
        parent,
        name,
        other,
    })
}

/// Whether [`renew`] was interrupted.
pub(super) fn is_interrupted(path: &Path, rules: Rules) -> bool {
    left(path, rules).is_some()
}

/// Goes on where [`renew`] was interrupted, if it was.
///
/// # Errors
/// Something is left there.
pub(super) fn go_on(folder: &OwnedFd, path: &Path, rules: Rules) -> Result<(), TrustError> {
    let Some(beside) = left(path, rules) else {
        return Ok(());
    };
    let taken = beside.take_over(folder);
    taken.map_err(|error| TrustError::io(&beside.path, error.into()))
}

/// Puts a new folder in the place of one that somebody holds, with nothing in it; or gives up taking over what is left of it.
/// Returns where the held one is now.
///
/// # Errors
/// As [`renew`].
pub(super) fn move_away(path: &Path, rules: Rules) -> Result<PathBuf, TrustError> {
    let beside = Beside::new(path, HELD, rules)?;
    let moved = match left(path, rules) {
        Some(left) => {
            let flags = RenameFlags::NOREPLACE;
            renameat_with(
                &left.parent,
                &left.other,
                &beside.parent,
                &beside.other,
                flags,
            )
        }
        None => beside.exchange().map(drop),
    };
    moved.map_err(|error| TrustError::io(path, error.into()))?;
    Ok(beside.path)
}

fn open(folder: &OwnedFd, name: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(folder, name, flags, Mode::empty())
}
