//! Log files: opened to append, made if they are missing, never through something that others made.

use std::{fs::File, io, path::Path};

use rustix::fs::{FileType, Mode, OFlags, fchmod};

use super::{
    TrustError, TrustProblem, open_entry,
    rules::Rules,
    walk::{WalkEnd, WalkGoal, walk},
};

/// The permissions that an existing log file may retain: none for others than owner and group, and the group may read.
const LOG_MODE: u32 = 0o640;

/// Opens a file to append to it. A missing one is made with mode 0600, missing folders with 0755. One that is there is
/// closed to others, and its group can read it if it could before. A pipe, a terminal or a device is taken as it is.
///
/// # Errors
/// [`TrustError`]: also for a file of another user, for one with a second name, and for a link of another user.
pub fn append(path: &Path) -> Result<File, TrustError> {
    append_to(path, Kind::Own)
}

/// Opens a file of an operator's choosing to append to it. A missing one is made with mode 0644, missing folders are not
/// made. One that is there keeps its mode. Nothing is waited for: a pipe without a reader is an error.
///
/// # Errors
/// As [`append`].
pub fn append_shared(path: &Path) -> Result<File, TrustError> {
    append_to(path, Kind::Shared)
}

/// The owner of a log file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A log file of gpud itself.
    Own,
    /// A log file of a plugin, which others read.
    Shared,
}

fn append_to(path: &Path, kind: Kind) -> Result<File, TrustError> {
    let rules = Rules::of_process();
    let is_own = kind == Kind::Own;
    let goal = WalkGoal {
        makes_folders: is_own,
        groups_may_write: true,
        ..WalkGoal::FILE
    };
    let entry = match walk(path, rules, goal)? {
        WalkEnd::Folder { .. } => {
            return Err(TrustError::io(path, io::ErrorKind::IsADirectory.into()));
        }
        WalkEnd::Entry(entry) => entry,
    };
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE;
    let mode = match kind {
        Kind::Own => 0o600,
        Kind::Shared => 0o644,
    };
    let (file, facts) = open_entry(path, &entry, flags, mode)?;
    let failed = |error: rustix::io::Errno| TrustError::io(path, error.into());
    let kind_of_file = FileType::from_raw_mode(facts.st_mode);
    if kind_of_file != FileType::RegularFile {
        // A terminal belongs to its user; a named pipe of another user could block the daemon.
        if !entry.is_magic && kind_of_file != FileType::CharacterDevice {
            rules.judge_owner(path, &entry.path, &facts)?;
        }
        if !is_own {
            return Ok(file);
        }
        // Writing is to wait where a terminal or a pipe is slow.
        let flags = rustix::fs::fcntl_getfl(&file).map_err(failed)?;
        rustix::fs::fcntl_setfl(&file, flags - OFlags::NONBLOCK).map_err(failed)?;
        return Ok(file);
    }
    rules.judge_owner(path, &entry.path, &facts)?;
    if facts.st_nlink > 1 {
        return Err(rules.refuse(path, &entry.path, &facts, TrustProblem::HardLinks));
    }
    let mode = facts.st_mode & 0o777;
    if is_own && mode & !LOG_MODE != 0 && rules.is_own(&facts) {
        fchmod(&file, Mode::from_raw_mode(mode & LOG_MODE)).map_err(failed)?;
    }
    Ok(file)
}
