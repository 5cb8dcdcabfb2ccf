//! Walks a path part by part, holding a handle of each folder, and judges every part.

use std::{
    env,
    ffi::{OsStr, OsString},
    os::{
        fd::OwnedFd,
        unix::ffi::{OsStrExt as _, OsStringExt as _},
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{CWD, FileType, Mode, OFlags, Stat, fstat, fstatfs, mkdirat, openat, readlinkat},
    io::Errno,
};

use super::{TrustError, TrustProblem, mounts, rules::Rules};

/// Most links on the way, as the kernel has it.
const MAX_LINKS: usize = 40;
/// `PROC_SUPER_MAGIC`: links of this file system, such as `/proc/self/fd/1`, lead to open files and not to paths.
const PROC: u64 = 0x9fa0;

/// The goal of a walk.
#[derive(Debug, Clone, Copy)]
pub(super) struct WalkGoal {
    /// Missing folders on the way are made.
    pub makes_folders: bool,
    /// The last part is a folder, which is made with mode 0700 (0755 where not everything is judged) if it is missing and
    /// folders are made.
    pub is_folder: bool,
    /// The last part may be a link.
    pub follows_last: bool,
    /// A folder on the way may be open to its group.
    pub groups_may_write: bool,
    /// What others may not be able to change.
    pub judged: Judged,
}

/// What a walk judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judged {
    /// Each part.
    Everything,
    /// Links, and the folders that they are in. Other folders and the last part may be anybody's.
    Links,
    /// Who serves the file systems. All else may be anybody's.
    Servers,
}

impl WalkGoal {
    /// A file that is there.
    pub const FILE: Self = Self {
        makes_folders: false,
        is_folder: false,
        follows_last: true,
        groups_may_write: false,
        judged: Judged::Everything,
    };
    /// A folder that is there.
    pub const FOLDER: Self = Self {
        is_folder: true,
        ..Self::FILE
    };
}

/// The end of a walk.
#[derive(Debug)]
pub(super) enum WalkEnd {
    /// The walk ended at a folder.
    Folder {
        /// Its handle, for looking up entries.
        handle: OwnedFd,
        /// Its path, without links.
        path: PathBuf,
        /// Its owner and mode.
        facts: Stat,
    },
    /// The walk ended at something else, or at nothing.
    Entry(Entry),
}

/// The last part of a path, which is no folder.
#[derive(Debug)]
pub(super) struct Entry {
    /// The folder that it is in.
    pub folder: OwnedFd,
    /// Its name in there.
    pub name: OsString,
    /// Its path, without links.
    pub path: PathBuf,
    /// Its owner, kind and mode; `None` where nothing has this name.
    pub facts: Option<Stat>,
    /// A link to an open file of a process, which only the kernel can follow.
    pub is_magic: bool,
}

struct Folder {
    handle: OwnedFd,
    path: PathBuf,
    facts: Stat,
}

struct Walk<'a> {
    asked: &'a Path,
    rules: Rules,
    goal: WalkGoal,
    /// The folders from the root to the present one; never empty.
    folders: Vec<Folder>,
    /// Parts that are still to be walked, the next one last.
    pending: Vec<OsString>,
    links: usize,
}

/// Walks to the end of a path.
///
/// # Errors
/// [`TrustError`], naming the part.
pub(super) fn walk(path: &Path, rules: Rules, goal: WalkGoal) -> Result<WalkEnd, TrustError> {
    let mut pending = Vec::new();
    push(&mut pending, path.as_os_str());
    if !path.is_absolute() {
        let here = env::current_dir().map_err(|error| TrustError::io(path, error))?;
        push(&mut pending, here.as_os_str());
    }
    let mut walk = Walk {
        asked: path,
        rules,
        goal,
        folders: Vec::new(),
        pending,
        links: 0,
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = openat(CWD, "/", flags, Mode::empty()).map_err(|error| walk.failed(error))?;
    walk.enter(root, PathBuf::from("/"))?;
    while let Some(part) = walk.pending.pop() {
        if let Some(entry) = walk.step(part)? {
            return Ok(WalkEnd::Entry(entry));
        }
    }
    let Folder {
        handle,
        path,
        facts,
    } = walk.leave()?;
    Ok(WalkEnd::Folder {
        handle,
        path,
        facts,
    })
}

/// Puts the parts of a path before those that are pending.
fn push(pending: &mut Vec<OsString>, path: &OsStr) {
    let parts = path.as_bytes().rsplit(|byte| *byte == b'/');
    let parts = parts.filter(|part| !part.is_empty() && *part != b".");
    pending.extend(parts.map(|part| OsStr::from_bytes(part).to_owned()));
}

impl Walk<'_> {
    /// Walks one part; gives the entry if the walk ends there.
    fn step(&mut self, part: OsString) -> Result<Option<Entry>, TrustError> {
        let is_last = self.pending.is_empty();
        if part == ".." {
            // The folder above the root is the root.
            if self.folders.len() > 1 {
                self.folders.pop();
            }
            return Ok(None);
        }
        let path = self.here()?.path.join(&part);
        let Some(handle) = self.look_up(&part, is_last)? else {
            return self.entry(part, path, None, false).map(Some);
        };
        self.judge_server(&path, &handle)?;
        let facts = fstat(&handle).map_err(|error| self.failed(error))?;
        if self.judges_everything() {
            let folder = &self.here()?.facts;
            self.rules.judge_entry(self.asked, &path, folder, &facts)?;
        }
        match FileType::from_raw_mode(facts.st_mode) {
            FileType::Symlink => self.follow(part, path, &handle, &facts, is_last),
            FileType::Directory => {
                // A second look-up, since the first does not mount what is mounted on demand.
                let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let handle = openat(&self.here()?.handle, &part, flags, Mode::empty())
                    .map_err(|error| self.failed(error))?;
                self.enter(handle, path).map(|()| None)
            }
            kind if is_last => {
                if self.judges_everything() && kind == FileType::RegularFile {
                    self.rules.judge_list(self.asked, &path, &facts, &handle)?;
                }
                self.entry(part, path, Some(facts), false).map(Some)
            }
            _ => Err(self.failed(Errno::NOTDIR)),
        }
    }

    /// Judges who serves an entry's file system, where another one begins: owners and permissions are as that user says.
    fn judge_server(&self, path: &Path, handle: &OwnedFd) -> Result<(), TrustError> {
        if self.goal.judged == Judged::Links {
            return Ok(());
        }
        let device = match mounts::device(handle) {
            // Only its user may enter it.
            Err(Errno::ACCESS) => {
                let server = mounts::served_at(path);
                return Err(server.map_or_else(
                    || self.failed(Errno::ACCESS),
                    |user| self.rules.refuse_server(self.asked, path, user),
                ));
            }
            device => device.map_err(|error| self.failed(error))?,
        };
        let above = self.folders.last();
        match above.is_none_or(|folder| folder.facts.st_dev == device) {
            true => Ok(()),
            false => self.rules.judge_server(self.asked, path, handle),
        }
    }

    /// The handle of an entry of this folder, by which nothing but its facts can be had. `None` where nothing has this name
    /// and nothing has to.
    fn look_up(&self, part: &OsStr, is_last: bool) -> Result<Option<OwnedFd>, TrustError> {
        let here = &self.here()?.handle;
        let open = || {
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            openat(here, part, flags, Mode::empty())
        };
        let found = match open() {
            Err(Errno::NOENT) if is_last && !self.goal.is_folder => return Ok(None),
            Err(Errno::NOENT) if self.goal.makes_folders => {
                let is_private = is_last && self.judges_everything();
                let mode = if is_private { 0o700 } else { 0o755 };
                match mkdirat(here, part, Mode::from_raw_mode(mode)) {
                    Ok(()) | Err(Errno::EXIST) => open(),
                    Err(error) => Err(error),
                }
            }
            found => found,
        };
        found.map(Some).map_err(|error| self.failed(error))
    }

    fn follow(
        &mut self,
        part: OsString,
        path: PathBuf,
        link: &OwnedFd,
        facts: &Stat,
        is_last: bool,
    ) -> Result<Option<Entry>, TrustError> {
        if self.goal.judged == Judged::Links {
            let folder = self.here()?;
            let (place, folder) = (&folder.path, &folder.facts);
            self.rules.judge_folder(self.asked, place, folder, false)?;
            self.rules
                .judge_server(self.asked, place, &self.here()?.handle)?;
        }
        if self.goal.judged != Judged::Servers {
            self.rules.judge_owner(self.asked, &path, facts)?;
        }
        self.links += 1;
        let is_refused = is_last && !self.goal.follows_last;
        if is_refused || self.links > MAX_LINKS {
            return Err(self
                .rules
                .refuse(self.asked, &path, facts, TrustProblem::Link));
        }
        let system = fstatfs(&self.here()?.handle).map_err(|error| self.failed(error))?;
        let is_of_proc = u64::try_from(system.f_type).is_ok_and(|kind| kind == PROC);
        if is_last && is_of_proc {
            return self.entry(part, path, None, true).map(Some);
        }
        let target = readlinkat(link, "", Vec::new()).map_err(|error| self.failed(error))?;
        let target = OsString::from_vec(target.into_bytes());
        if target.is_empty() {
            return Err(self.failed(Errno::NOENT));
        }
        if target.as_bytes().starts_with(b"/") {
            // The text of such a link (`/proc/PID/cwd`, `root`, `fd`) is not where it leads: that may be in another view of
            // the file systems, which a user has made.
            if is_of_proc {
                return Err(self
                    .rules
                    .refuse(self.asked, &path, facts, TrustProblem::Link));
            }
            self.folders.truncate(1);
        }
        push(&mut self.pending, &target);
        Ok(None)
    }

    /// Goes into a folder, if it is a good one.
    fn enter(&mut self, handle: OwnedFd, path: PathBuf) -> Result<(), TrustError> {
        self.judge_server(&path, &handle)?;
        let facts = fstat(&handle).map_err(|error| self.failed(error))?;
        let is_goal = self.pending.is_empty() && self.goal.is_folder && self.goal.makes_folders;
        if self.judges_everything() {
            match is_goal {
                // It is about to be closed to others, which its owner can do.
                true => self.rules.judge_owner(self.asked, &path, &facts)?,
                false => {
                    let groups = self.goal.groups_may_write;
                    self.rules.judge_folder(self.asked, &path, &facts, groups)?;
                    self.rules.judge_list(self.asked, &path, &facts, &handle)?;
                }
            }
        }
        self.folders.push(Folder {
            handle,
            path,
            facts,
        });
        Ok(())
    }

    fn entry(
        &mut self,
        name: OsString,
        path: PathBuf,
        facts: Option<Stat>,
        is_magic: bool,
    ) -> Result<Entry, TrustError> {
        Ok(Entry {
            folder: self.leave()?.handle,
            name,
            path,
            facts,
            is_magic,
        })
    }

    fn judges_everything(&self) -> bool {
        self.goal.judged == Judged::Everything
    }

    fn here(&self) -> Result<&Folder, TrustError> {
        self.folders.last().ok_or_else(|| self.failed(Errno::NOENT))
    }

    fn leave(&mut self) -> Result<Folder, TrustError> {
        self.folders.pop().ok_or_else(|| self.failed(Errno::NOENT))
    }

    fn failed(&self, error: Errno) -> TrustError {
        TrustError::io(self.asked, error.into())
    }
}
