//! Folders of gpud's own: the data folder and the cache. Nobody else gets in.

use std::{
    fs::File,
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use rustix::fs::{Dir, FileType, Mode, OFlags, fchmod, fstat, openat};

use super::{
    TrustError, TrustProblem, read_from,
    rules::Rules,
    walk::{WalkEnd, WalkGoal, walk},
};

/// Permissions of group and others.
const OTHERS: u32 = 0o077;
/// Those with which they change something.
const OTHERS_WRITE: u32 = 0o022;

/// A folder that belongs to this process's user alone, held open.
#[derive(Debug)]
pub struct OwnFolder {
    handle: OwnedFd,
    path: PathBuf,
    rules: Rules,
    /// The permissions that it had, if others had any of them until now.
    was: Option<u32>,
}

impl OwnFolder {
    /// Opens a folder of gpud's own, makes it if it is missing, and closes it to others. Links on the way are followed
    /// where they are root's or our own.
    ///
    /// # Errors
    /// [`TrustError`]; a folder of another user is one, and so is one that cannot be closed.
    pub fn open(path: &Path) -> Result<Self, TrustError> {
        Self::open_as(path, Rules::of_process(), true)
    }

    /// The same, for a folder that itself may not be a link.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_unlinked(path: &Path) -> Result<Self, TrustError> {
        Self::open_as(path, Rules::of_process(), false)
    }

    pub(super) fn open_as(
        path: &Path,
        rules: Rules,
        follows_last: bool,
    ) -> Result<Self, TrustError> {
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
        let failed = |error: rustix::io::Errno| TrustError::io(path, error.into());
        if !rules.is_own(&facts) {
            let wrong = TrustProblem::Owner(facts.st_uid);
            return Err(rules.refuse(path, &found, &facts, wrong));
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = openat(&handle, ".", flags, Mode::empty()).map_err(failed)?;
        let mode = facts.st_mode & 0o777;
        let was = (mode & OTHERS != 0).then_some(mode);
        if was.is_some() {
            let closed = Mode::from_raw_mode(mode & !OTHERS);
            match fchmod(&handle, closed) {
                // Nobody can change a thing on such a disk, and gpud runs on it from memory.
                Ok(()) | Err(rustix::io::Errno::ROFS) => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(Self {
            handle,
            path: found,
            rules,
            was,
        })
    }

    /// Its path, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The permissions that it had, if it was open to others.
    pub fn was_open(&self) -> Option<u32> {
        self.was
    }

    /// Opens a regular file in it for reading: no link, no second name, and nobody's but root's and our own.
    ///
    /// # Errors
    /// [`TrustError`].
    pub fn open_file(&self, name: &str) -> Result<File, TrustError> {
        let path = self.path.join(name);
        let failed = |error: rustix::io::Errno| TrustError::io(&path, error.into());
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

/// What is in a folder of gpud's own, and was open to others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClosedEntry {
    /// Its name.
    pub name: String,
    /// The permissions that it had.
    pub mode: u32,
}

impl ClosedEntry {
    /// Whether others could change it, so that its content may be theirs.
    pub fn could_be_changed(&self) -> bool {
        self.mode & OTHERS_WRITE != 0
    }
}

/// Closes to others what is directly in a folder of gpud's own: files and folders lose every permission of group and others.
/// Links, pipes, what belongs to another user, and second names that others could have given to a file from elsewhere, stay as
/// they are: closed, such a file would look like gpud's own. Gives what was open, by name.
///
/// # Errors
/// The folder cannot be listed; or a file that gpud itself reads (`is_ours`) belongs to another user, or is such a second name.
pub fn close_files(
    folder: &OwnFolder,
    is_ours: impl Fn(&str) -> bool,
) -> Result<Vec<ClosedEntry>, TrustError> {
    let failed = |error: rustix::io::Errno| TrustError::io(&folder.path, error.into());
    let mut closed = Vec::new();
    for entry in Dir::read_from(&folder.handle).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let shown = name.to_string_lossy().into_owned();
        let path = folder.path.join(&shown);
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let seen = openat(
            &folder.handle,
            name,
            OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC,
            Mode::empty(),
        );
        // Gone since, or not to be looked at.
        let Ok(facts) = seen.and_then(fstat) else {
            continue;
        };
        if is_ours(&shown) {
            folder.rules.judge_owner(&folder.path, &path, &facts)?;
        }
        let kind = FileType::from_raw_mode(facts.st_mode);
        let was = folder.was.unwrap_or_default() | facts.st_mode;
        if kind == FileType::RegularFile && facts.st_nlink > 1 && was & OTHERS_WRITE != 0 {
            if is_ours(&shown) {
                let wrong = TrustProblem::HardLinks;
                return Err(folder.rules.refuse(&folder.path, &path, &facts, wrong));
            }
            continue;
        }
        let is_plain = matches!(kind, FileType::RegularFile | FileType::Directory);
        let mode = facts.st_mode & 0o777;
        if !is_plain || mode & OTHERS == 0 || !folder.rules.is_own(&facts) {
            continue;
        }
        let opened = openat(&folder.handle, name, flags, Mode::empty());
        let changed = opened.and_then(|opened| fchmod(opened, Mode::from_raw_mode(mode & !OTHERS)));
        if changed.is_ok() {
            closed.push(ClosedEntry { name: shown, mode });
        }
    }
    closed.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(closed)
}
