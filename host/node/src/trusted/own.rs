//! Folders of gpud's own: the data folder, the cache and that of packs. Nobody else gets in, and what others could have changed
//! there is set aside.

use std::{
    collections::BTreeSet,
    ffi::{CStr, CString},
    fs::File,
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, Stat, fchmod, fstat, openat, unlinkat},
    io::Errno,
};

use super::{
    TrustError, TrustProblem, mounts, read_from, renew,
    rules::Rules,
    set_aside::{self, SetAside},
    walk::{WalkEnd, WalkGoal, walk},
};

/// Permissions of group and others.
const OTHERS: u32 = 0o077;

/// A folder that belongs to this process's user alone, held open.
#[derive(Debug)]
pub struct OwnFolder {
    handle: OwnedFd,
    path: PathBuf,
    rules: Rules,
    /// The permissions that it had, if others had any of them until now.
    was: Option<u32>,
    set_aside: Option<SetAside>,
}

/// A folder of this process's user that is as it was found.
#[derive(Debug)]
pub struct FoundFolder {
    handle: OwnedFd,
    asked: PathBuf,
    path: PathBuf,
    rules: Rules,
    facts: Stat,
}

impl FoundFolder {
    /// Finds a folder of gpud's own, and makes it if it is missing. Links on the way are followed where they are root's or our own.
    ///
    /// # Errors
    /// [`TrustError`]; a folder of another user is one.
    pub fn find(path: &Path) -> Result<Self, TrustError> {
        Self::find_as(path, Rules::of_process(), true)
    }

    fn find_as(path: &Path, rules: Rules, follows_last: bool) -> Result<Self, TrustError> {
        let goal = WalkGoal {
            makes_folders: true,
            is_folder: true,
            follows_last,
            ..WalkGoal::FILE
        };
        let WalkEnd::Folder {
            handle,
            path: found,
            facts,
        } = walk(path, rules, goal)?
        else {
            return Err(TrustError::io(path, io::ErrorKind::NotADirectory.into()));
        };
        if !rules.is_own(&facts) {
            let wrong = TrustProblem::Owner(facts.st_uid);
            return Err(rules.refuse(path, &found, &facts, wrong));
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = openat(&handle, ".", flags, Mode::empty())
            .map_err(|error| TrustError::io(path, error.into()))?;
        Ok(Self {
            handle,
            asked: path.to_owned(),
            path: found,
            rules,
            facts,
        })
    }

    /// Its path, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether others can have it open, or have open what it was before.
    pub fn may_be_held(&self) -> bool {
        self.facts.st_mode & OTHERS != 0
            || set_aside::was_open(self.rules, &self.path, &self.handle, &self.facts)
            || renew::is_interrupted(&self.path, self.rules)
    }

    /// Takes in what an interrupted [`OwnFolder::renewed`] has left beside it.
    ///
    /// # Errors
    /// Something is still there.
    pub fn take_in(&self) -> Result<(), TrustError> {
        renew::go_on(&self.handle, &self.path, self.rules)
    }

    /// Puts a new folder in its place, with nothing in it, and returns where it is now; where that is done already, moves away what
    /// is left of the one before. What is moved is not written to: somebody may hold its lock.
    ///
    /// # Errors
    /// It stays where it is: a mount point, or one in a folder that this process cannot change.
    pub fn move_away(self) -> Result<PathBuf, TrustError> {
        renew::move_away(&self.path, self.rules)
    }

    /// Closes it to others. If they could write to it, all that is in it is set aside.
    ///
    /// # Errors
    /// [`TrustError`]: it cannot be closed, or what is in it cannot be set aside.
    pub fn close(self) -> Result<OwnFolder, TrustError> {
        let Self {
            handle,
            asked,
            path,
            rules,
            facts,
        } = self;
        let mode = facts.st_mode & 0o777;
        let could_be_changed = set_aside::was_open(rules, &path, &handle, &facts);
        let set_aside = match could_be_changed {
            true => set_aside::everything(&handle, &path)?,
            false => None,
        };
        let is_open = mode & OTHERS != 0;
        if is_open && !could_be_changed {
            match fchmod(&handle, Mode::from_raw_mode(mode & !OTHERS)) {
                // Nobody can change a thing on such a disk, and gpud runs on it from memory.
                Ok(()) | Err(Errno::ROFS) => {}
                Err(error) => return Err(TrustError::io(&asked, error.into())),
            }
        }
        if let Some(moved) = &set_aside {
            tracing::error!(
                mode = format!("{mode:03o}"),
                set_aside = %moved.folder.display(),
                count = moved.count,
                names = ?moved.names,
                "other users could write to {}: what was in it may be theirs and is set aside",
                path.display()
            );
        }
        Ok(OwnFolder {
            handle,
            path,
            rules,
            was: is_open.then_some(mode),
            set_aside,
        })
    }
}

impl OwnFolder {
    /// Opens a folder of gpud's own, makes it if it is missing, and closes it to others. If they could write to it, all that is in
    /// it is set aside. Links on the way are followed where they are root's or our own.
    ///
    /// # Errors
    /// [`TrustError`]; a folder of another user is one, and so is one that cannot be closed.
    pub fn open(path: &Path) -> Result<Self, TrustError> {
        FoundFolder::find(path)?.close()
    }

    /// The same, for a folder that itself may not be a link.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_unlinked(path: &Path) -> Result<Self, TrustError> {
        FoundFolder::find_as(path, Rules::of_process(), false)?.close()
    }

    /// Puts a new folder in its place, with all that is in it: others may have this one open. Where that cannot be done, it stays.
    pub fn renewed(self) -> Self {
        match renew::renew(&self.path, self.rules) {
            Ok(handle) => Self { handle, ..self },
            Err(problem) => {
                tracing::warn!(
                    "{} stays the folder that others may have open, with which they can hold it: {problem}",
                    self.path.display()
                );
                self
            }
        }
    }

    /// Its path, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether its path still leads to it, and not to what somebody has mounted over it.
    pub fn is_at_path(&self) -> bool {
        let found = FoundFolder::find_as(&self.path, self.rules, false);
        match (found, fstat(&self.handle)) {
            (Ok(found), Ok(facts)) => {
                (found.facts.st_dev, found.facts.st_ino) == (facts.st_dev, facts.st_ino)
            }
            _ => false,
        }
    }

    /// The permissions that it had, if it was open to others.
    pub fn was_open(&self) -> Option<u32> {
        self.was
    }

    /// What was in it, if others could write to it.
    pub fn set_aside(&self) -> Option<&SetAside> {
        self.set_aside.as_ref()
    }

    /// Opens a regular file in it for reading: no link, no second name, and nobody's but root's and our own.
    ///
    /// # Errors
    /// [`TrustError`].
    pub fn open_file(&self, name: &str) -> Result<File, TrustError> {
        let path = self.path.join(name);
        let failed = |error: Errno| TrustError::io(&path, error.into());
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&self.handle, name, flags, Mode::empty()).map_err(failed)?;
        let facts = fstat(&file).map_err(failed)?;
        if FileType::from_raw_mode(facts.st_mode) != FileType::RegularFile {
            return Err(TrustError::io(&path, super::not_regular()));
        }
        self.rules.judge_file(&path, &path, &facts)?;
        if facts.st_nlink > 1 {
            let wrong = TrustProblem::HardLinks;
            return Err(self.rules.refuse(&path, &path, &facts, wrong));
        }
        Ok(File::from(file))
    }

    /// Reads a whole regular file in it, once.
    ///
    /// # Errors
    /// [`TrustError`].
    pub fn read(&self, name: &str, max: usize) -> Result<Vec<u8>, TrustError> {
        let file = self.open_file(name)?;
        read_from(&file, max).map_err(|error| TrustError::io(&self.path.join(name), error))
    }
}

/// What was done with the entries of a folder of gpud's own.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ClosedEntries {
    /// The names of those that others could read, and which are closed now.
    pub closed: Vec<String>,
    /// Those that others could read, and which are removed.
    pub removed: Vec<String>,
    /// Those that others could have changed.
    pub set_aside: Option<SetAside>,
}

/// Closes to others what is directly in a folder of gpud's own: files and folders lose every permission of group and others.
/// What gpud uses itself and others could have changed is set aside: it belongs to another user, or others could write to it, or to
/// something in it. `group` names what such an entry is part of, `None` for what gpud does not use; a group is set aside as a whole.
/// Links and the like stay as they are. A file that others could read is removed if `is_renewed` says so.
///
/// # Errors
/// The folder cannot be listed, or an entry cannot be set aside or removed.
pub fn close_entries(
    folder: &OwnFolder,
    group: impl Fn(&str) -> Option<String>,
    is_renewed: impl Fn(&str) -> bool,
) -> Result<ClosedEntries, TrustError> {
    let failed = |error: Errno| TrustError::io(&folder.path, error.into());
    let names = set_aside::names(&folder.handle).map_err(failed)?;
    let group = |name: &CStr| group(&name.to_string_lossy());
    let changed: BTreeSet<String> = names
        .iter()
        .filter_map(|name| Some((name, group(name)?)))
        .filter(|(name, _)| set_aside::could_be_changed(folder.rules, &folder.handle, name))
        .map(|(_, group)| group)
        .collect();
    let is_changed = |name: &CStr| group(name).is_some_and(|group| changed.contains(&group));
    let (changed, kept): (Vec<CString>, Vec<CString>) =
        names.into_iter().partition(|name| is_changed(name));
    let set_aside = match changed.is_empty() {
        true => None,
        false => Some(set_aside::entries(&folder.handle, &folder.path, &changed)?),
    };
    let (mut closed, mut removed) = (Vec::new(), Vec::new());
    for name in &kept {
        let shown = name.to_string_lossy().into_owned();
        let is_renewed = is_renewed(&shown);
        let Some((kind, mode)) = open_entry(folder, name, is_renewed) else {
            continue;
        };
        if kind == FileType::RegularFile && is_renewed {
            unlinkat(&folder.handle, name, AtFlags::empty())
                .map_err(|error| set_aside::failed(&folder.path.join(&shown), error))?;
            removed.push(shown);
        } else if close_entry(folder, name, mode) {
            closed.push(shown);
        }
    }
    closed.sort();
    removed.sort();
    Ok(ClosedEntries {
        closed,
        removed,
        set_aside,
    })
}

/// Returns kind and permissions of a file or a folder that is open to others and is to be closed. What has a second name may be a file
/// from elsewhere, and is left alone unless it is renewed: then this name of it goes.
fn open_entry(folder: &OwnFolder, name: &CStr, is_renewed: bool) -> Option<(FileType, u32)> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = openat(&folder.handle, name, flags, Mode::empty()).ok()?;
    if mounts::device(&handle) != mounts::device(&folder.handle) {
        return None;
    }
    let facts = fstat(handle).ok()?;
    let kind = FileType::from_raw_mode(facts.st_mode);
    let is_plain = match kind {
        FileType::RegularFile => facts.st_nlink == 1 || is_renewed,
        kind => kind == FileType::Directory,
    };
    let mode = facts.st_mode & 0o777;
    let is_open = is_plain && mode & OTHERS != 0 && folder.rules.is_own(&facts);
    is_open.then_some((kind, mode))
}

fn close_entry(folder: &OwnFolder, name: &CStr, mode: u32) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = openat(&folder.handle, name, flags, Mode::empty());
    opened
        .and_then(|opened| fchmod(opened, Mode::from_raw_mode(mode & !OTHERS)))
        .is_ok()
}
