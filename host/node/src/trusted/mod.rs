//! The one way to open what decides what gpud runs: specs, lists, configuration, packs, keys, plugins, compiled code, tokens,
//! log files and programs.
//!
//! A path is walked part by part with handles of folders. The walk resolves links itself. It refuses a path when somebody
//! other than root and gpud's own user could put something else in its place: a folder on the way that is theirs or that
//! they can write to, a link or a file of theirs, a file that they can write to. A folder with the sticky bit, such as
//! `/tmp`, is good for entries of root and of gpud's user. What is opened is judged by its handle, and read from that handle,
//! so that nothing can change between the judgement and the use.
//!
//! [`Opener::of_daemon`] is strict for every user. [`Opener::of_command`] is strict for root; a user who runs a command on
//! their own files risks nothing but their own account. All of these may wait for the disk.

mod acl;
mod append;
mod build_environment;
mod chown;
mod environment;
mod error;
mod inputs;
mod make;
mod mounts;
pub mod output;
mod own;
mod parent_folders;
mod project;
mod renew;
mod rules;
mod script;
mod set_aside;
#[cfg(test)]
mod tests;
mod tree;
mod walk;

use std::{
    fs::File,
    io::{self, Read as _},
    os::fd::{AsFd, OwnedFd},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{FileType, FsWord, Mode, OFlags, PROC_SUPER_MAGIC, Stat, fstat, fstatfs, openat},
    io::Errno,
};

pub use append::{append, append_shared};
pub use build_environment::{BuildEnvironment, build_environment};
pub use chown::{chown_file, chown_folder};
pub use environment::{check_certificates, inherited, note_parent, search_path, temporary_folder};
pub use error::{Refusal, TrustError, TrustProblem};
pub use inputs::input;
pub use make::{make_file, make_folder, open_mode};
pub use mounts::device;
pub use own::{ClosedEntries, FoundFolder, OwnFolder, close_entries};
pub use project::{ProjectError, check_above_project, check_project};
pub use set_aside::SetAside;

use super::local_file::{self, FileStamp};
use rules::Rules;
use walk::{Entry, Judged, WalkEnd, WalkGoal, walk};

/// File systems of the kernel's (linux/magic.h): procfs, sysfs, debugfs, tracefs.
const KERNEL_FILE_SYSTEMS: [FsWord; 4] = [PROC_SUPER_MAGIC, 0x6265_6572, 0x6462_6720, 0x7472_6163];

/// Opens files for one kind of caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opener {
    rules: Rules,
    is_strict: bool,
}

impl Opener {
    /// Makes the opener of the daemon: it trusts root and the user that this process runs as.
    pub fn of_daemon() -> Self {
        Self {
            rules: Rules::of_process(),
            is_strict: true,
        }
    }

    /// Makes the opener of a command: as strict as the daemon's where root runs it, else like any program.
    pub fn of_command() -> Self {
        let rules = Rules::of_process();
        Self {
            rules,
            is_strict: rules.is_root(),
        }
    }

    /// As the daemon of another user would.
    #[cfg(test)]
    pub(crate) fn of_user(us: u32) -> Self {
        Self {
            rules: Rules::of_user(us),
            is_strict: true,
        }
    }

    /// Opens a regular file for reading.
    ///
    /// # Errors
    /// [`TrustError`].
    pub fn open(self, path: &Path) -> Result<File, TrustError> {
        let wrong = |source| TrustError::io(path, source);
        if !self.is_strict {
            if !std::fs::metadata(path).map_err(wrong)?.is_file() {
                return Err(wrong(not_regular()));
            }
            return File::open(path).map_err(wrong);
        }
        let entry = match walk(path, self.rules, WalkGoal::FILE)? {
            WalkEnd::Folder { .. } => return Err(wrong(io::ErrorKind::IsADirectory.into())),
            WalkEnd::Entry(entry) => entry,
        };
        let (file, facts) = open_entry(path, &entry, OFlags::RDONLY, 0)?;
        if FileType::from_raw_mode(facts.st_mode) != FileType::RegularFile {
            return Err(wrong(not_regular()));
        }
        self.rules.judge_file(path, &entry.path, &facts)?;
        match is_of_kernel(&file) {
            true => Err(wrong(of_kernel())),
            false => Ok(file),
        }
    }

    /// Reads a whole regular file of up to `max` bytes, once.
    ///
    /// # Errors
    /// [`TrustError`]; [`io::ErrorKind::FileTooLarge`] beyond `max` bytes.
    pub fn read(self, path: &Path, max: usize) -> Result<Vec<u8>, TrustError> {
        let file = self.open(path)?;
        let content = read_from(&file, max).map_err(|source| TrustError::io(path, source))?;
        Ok(content)
    }

    /// Checks a folder whose entries are about to be listed. Each entry is to be opened by this opener as well.
    ///
    /// # Errors
    /// [`TrustError`].
    pub fn check_folder(self, path: &Path) -> Result<(), TrustError> {
        let not_folder = || TrustError::io(path, io::ErrorKind::NotADirectory.into());
        if !self.is_strict {
            let facts = std::fs::metadata(path).map_err(|error| TrustError::io(path, error))?;
            return facts.is_dir().then_some(()).ok_or_else(not_folder);
        }
        match walk(path, self.rules, WalkGoal::FOLDER)? {
            WalkEnd::Folder { handle, .. } if is_of_kernel(&handle) => {
                Err(TrustError::io(path, of_kernel()))
            }
            WalkEnd::Folder {
                path: found, facts, ..
            } => self.rules.judge_listed(path, &found, &facts),
            WalkEnd::Entry(_) => Err(not_folder()),
        }
    }

    /// Checks that no other user serves a file system on the way to a path: it may never answer, and is not asked. Whether there is
    /// something at the path does not matter.
    ///
    /// # Errors
    /// [`TrustError`], a refusal.
    pub fn check_servers(self, path: &Path) -> Result<(), TrustError> {
        let goal = WalkGoal {
            judged: Judged::Servers,
            ..WalkGoal::FILE
        };
        if !self.is_strict {
            return Ok(());
        }
        match walk(path, self.rules, goal) {
            Err(refused) if refused.is_refusal() => Err(refused),
            _ => Ok(()),
        }
    }

    /// Checks that no other user can change what a folder's path leads to.
    ///
    /// # Errors
    /// [`TrustError`].
    pub fn check_way(self, path: &Path) -> Result<(), TrustError> {
        if !self.is_strict {
            return Ok(());
        }
        match walk(path, self.rules, WalkGoal::FOLDER)? {
            WalkEnd::Folder { .. } => Ok(()),
            WalkEnd::Entry(_) => Err(TrustError::io(path, io::ErrorKind::NotADirectory.into())),
        }
    }

    /// Checks a program or a library that is about to be run or loaded, and everything on the way to it. A script is checked
    /// with its interpreter.
    ///
    /// # Errors
    /// [`TrustError`].
    pub fn check_program(self, path: &Path) -> Result<(), TrustError> {
        if !self.is_strict {
            return Ok(());
        }
        let mut depth = 0;
        let mut pending = vec![path.to_owned()];
        while let Some(program) = pending.pop() {
            let Some(interpreter) = self.check_one_program(&program)? else {
                continue;
            };
            depth += 1;
            if depth > script::MAX_DEPTH {
                return Err(TrustError::io(path, Errno::LOOP.into()));
            }
            if interpreter.is_expanded {
                return Err(TrustError::Expanded(program));
            }
            for name in &interpreter.looked_up {
                pending.extend(self.find_for_env(name)?);
            }
            for path in interpreter.named {
                match path.is_file() {
                    true => pending.push(path),
                    false => self.check_named_folder(&path)?,
                }
            }
            pending.push(interpreter.path);
        }
        Ok(())
    }

    /// Checks a folder that a script names, or if it is missing, the nearest one in which it could be made.
    fn check_named_folder(self, path: &Path) -> Result<(), TrustError> {
        for folder in path.ancestors() {
            match self.check_folder(folder) {
                Err(error) if error.is_not_found() || error.is_not_folder() => {}
                checked => return checked,
            }
        }
        Ok(())
    }

    /// Checks a program as such, and returns what it is run by if it is a script.
    fn check_one_program(self, path: &Path) -> Result<Option<script::Interpreter>, TrustError> {
        let entry = match walk(path, self.rules, WalkGoal::FILE)? {
            WalkEnd::Entry(entry) if entry.facts.is_some() => entry,
            WalkEnd::Entry(_) => return Err(TrustError::io(path, io::ErrorKind::NotFound.into())),
            WalkEnd::Folder { .. } => {
                return Err(TrustError::io(path, io::ErrorKind::IsADirectory.into()));
            }
        };
        let (file, facts) = match open_entry(path, &entry, OFlags::RDONLY, 0) {
            Ok(opened) => opened,
            // One that cannot be read is no script that runs: its interpreter could not read it either.
            Err(TrustError::Io { source, .. })
                if source.kind() == io::ErrorKind::PermissionDenied =>
            {
                let facts = entry.facts.as_ref();
                let judged = facts.map(|facts| self.rules.judge_file(path, &entry.path, facts));
                return judged.transpose().map(|_| None);
            }
            Err(error) => return Err(error),
        };
        self.rules.judge_file(path, &entry.path, &facts)?;
        let mut head = Vec::with_capacity(script::HEAD);
        file.take(script::HEAD as u64)
            .read_to_end(&mut head)
            .map_err(|error| TrustError::io(path, error))?;
        Ok(script::interpreter(&head))
    }

    /// Returns the program of this name that env finds, having checked that no other user can put another one before it.
    fn find_for_env(self, name: &Path) -> Result<Option<PathBuf>, TrustError> {
        let mut folders = Vec::new();
        for (folder, program) in script::places(name, super::process::PATH) {
            folders.extend(folder);
            if program.is_file() {
                for folder in folders {
                    self.check_folder(&folder)
                        .or_else(|error| error.is_not_found().then_some(()).ok_or(error))?;
                }
                return Ok(Some(program));
            }
        }
        Ok(None)
    }
}

/// Reads a file as the daemon: see [`Opener::read`].
///
/// # Errors
/// [`TrustError`].
pub fn read(path: &Path, max: usize) -> Result<Vec<u8>, TrustError> {
    Opener::of_daemon().read(path, max)
}

/// The stamp of a file that the daemon reads; `None` where there is none that could be looked at. One behind a file system
/// of another user, which may never answer, is not looked at: it has a stamp that differs from all others.
pub fn stamp(path: &Path) -> Option<FileStamp> {
    match Opener::of_daemon().check_servers(path) {
        Ok(()) => local_file::stamp(path),
        Err(_) => Some(FileStamp::NOT_LOOKED_AT),
    }
}

/// Checks a program as the daemon: see [`Opener::check_program`].
///
/// # Errors
/// [`TrustError`].
pub fn program(path: &Path) -> Result<(), TrustError> {
    Opener::of_daemon().check_program(path)
}

/// Opens a bare handle (`O_PATH`) of a Unix socket that is where its path says: the last part is no link, and links on the
/// way are such as nobody but root and the daemon's user can change. Otherwise a service could have the daemon talk to
/// another one. Folders and the socket itself may be anybody's.
///
/// # Errors
/// [`TrustError`].
pub fn open_socket(path: &Path) -> Result<OwnedFd, TrustError> {
    let goal = WalkGoal {
        follows_last: false,
        judged: Judged::Links,
        ..WalkGoal::FILE
    };
    let wrong = |source| TrustError::io(path, source);
    let entry = match walk(path, Rules::of_process(), goal)? {
        WalkEnd::Entry(entry) => entry,
        WalkEnd::Folder { .. } => return Err(wrong(io::ErrorKind::IsADirectory.into())),
    };
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = openat(&entry.folder, &entry.name, flags, Mode::empty())
        .map_err(|error| wrong(error.into()))?;
    let facts = fstat(&handle).map_err(|error| wrong(error.into()))?;
    match FileType::from_raw_mode(facts.st_mode) {
        FileType::Socket => Ok(handle),
        _ => Err(wrong(io::Error::new(
            io::ErrorKind::InvalidInput,
            "not a socket",
        ))),
    }
}

/// Returns whether a file or folder is one of the kernel's own. They are root's, and some never end, or take what they give
/// away from others: `/proc/kmsg`.
fn is_of_kernel(handle: impl AsFd) -> bool {
    fstatfs(handle).is_ok_and(|facts| KERNEL_FILE_SYSTEMS.contains(&facts.f_type))
}

fn of_kernel() -> io::Error {
    let text = "a file of the kernel's, which may never end";
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

/// Reads what an open file holds, within a bound.
///
/// # Errors
/// The system's; [`io::ErrorKind::FileTooLarge`] beyond `max` bytes.
pub fn read_from(file: &File, max: usize) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    file.take(max as u64 + 1).read_to_end(&mut content)?;
    match content.len() > max {
        false => Ok(content),
        true => Err(local_file::too_large(max)),
    }
}

/// Opens what the walk found, and looks at what was opened.
fn open_entry(
    asked: &Path,
    entry: &Entry,
    flags: OFlags,
    mode: u32,
) -> Result<(File, Stat), TrustError> {
    let wrong = |error: rustix::io::Errno| TrustError::io(asked, error.into());
    if let Some(facts) = &entry.facts
        && flags == OFlags::RDONLY
        && !entry.is_magic
        && FileType::from_raw_mode(facts.st_mode) != FileType::RegularFile
    {
        // Opening a device or a pipe can do something, or wait.
        return Err(TrustError::io(asked, not_regular()));
    }
    let mut flags = flags | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    if !entry.is_magic {
        flags |= OFlags::NOFOLLOW;
    }
    let mode = Mode::from_raw_mode(mode);
    let opened = openat(&entry.folder, &entry.name, flags, mode).map_err(wrong)?;
    let facts = fstat(&opened).map_err(wrong)?;
    Ok((File::from(opened), facts))
}

fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")
}
