//! Folders and files that gpud makes where no other user can put something in their place.

use std::{
    fs::File,
    io::{self, Write as _},
    os::unix::fs::MetadataExt as _,
    path::Path,
};

use rustix::fs::{Mode, OFlags, fchmod, openat};

use super::{
    Opener, TrustError, open_entry,
    rules::Rules,
    walk::{WalkEnd, WalkGoal, walk},
};

/// Permissions of group and others.
const OTHERS: u32 = 0o077;

/// Makes a folder with this mode, whatever the umask, and missing ones on the way to it. One that is there is left as it is.
///
/// # Errors
/// [`TrustError`]: also where another user can change what the path leads to.
pub fn make_folder(path: &Path, mode: u32) -> Result<(), TrustError> {
    match Opener::of_daemon().check_way(path) {
        Err(error) if error.is_not_found() => {}
        checked => return checked,
    }
    let goal = WalkGoal {
        makes_folders: true,
        is_folder: true,
        ..WalkGoal::FILE
    };
    let failed = |error: rustix::io::Errno| TrustError::io(path, error.into());
    match walk(path, Rules::of_process(), goal)? {
        WalkEnd::Folder { handle, .. } => {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let handle = openat(&handle, ".", flags, Mode::empty()).map_err(failed)?;
            fchmod(&handle, Mode::from_raw_mode(mode)).map_err(failed)
        }
        WalkEnd::Entry(_) => Err(TrustError::io(path, io::ErrorKind::NotADirectory.into())),
    }
}

/// Makes a file that only its owner reads, with this content, in a folder that is there. No link is followed in its place.
///
/// # Errors
/// [`TrustError`]: also where something has this name already.
pub fn make_file(path: &Path, content: &[u8]) -> Result<(), TrustError> {
    let goal = WalkGoal {
        follows_last: false,
        ..WalkGoal::FILE
    };
    let entry = match walk(path, Rules::of_process(), goal)? {
        WalkEnd::Entry(entry) if entry.facts.is_none() && !entry.is_magic => entry,
        _ => return Err(TrustError::io(path, io::ErrorKind::AlreadyExists.into())),
    };
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
    let (mut file, _) = open_entry(path, &entry, flags, 0o600)?;
    let write = |file: &mut File| file.write_all(content).and_then(|()| file.sync_all());
    write(&mut file).map_err(|error| TrustError::io(path, error))
}

/// Returns the permissions of a file that others than its owner may use.
pub fn open_mode(path: &Path) -> Option<u32> {
    let mode = std::fs::metadata(path).ok()?.mode() & 0o777;
    (mode & OTHERS != 0).then_some(mode)
}
