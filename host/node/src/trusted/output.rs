//! Makes files and folders at paths that a caller names, through no link of another user.
//!
//! Root may be asked to write into a folder of another user, who can put a link in the place of any part of the path, at any
//! moment. So the folder is reached by a walk that follows only links which nobody else can change, and everything is made
//! below its handle, as something new. Other users' commands follow links as any program does.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Write as _},
    os::fd::OwnedFd,
    path::{Component, Path},
};

use rustix::{
    fs::{AtFlags, CWD, Mode, OFlags, fchmod, mkdirat, openat, renameat, unlinkat},
    io::Errno,
};

use super::{
    Opener, TrustError,
    walk::{Judged, WalkEnd, WalkGoal, walk},
};

/// Mode of what the umask decides about.
const FILE: u32 = 0o666;
const FOLDER: u32 = 0o777;

/// The permissions of a file that is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileMode {
    /// As the umask of the caller has it.
    ByUmask,
    /// These, whatever the umask.
    Exact(u32),
}

/// A folder in which something is made, held open.
#[derive(Debug)]
pub struct OutputFolder(OwnedFd);

impl OutputFolder {
    /// Opens a folder, and makes it and those above it that are missing.
    ///
    /// # Errors
    /// The system's; [`io::ErrorKind::PermissionDenied`] where root would follow a link that others can change.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::reach(path, true, Opener::of_command())
    }

    /// Makes a folder that is not there yet, in one that is.
    ///
    /// # Errors
    /// As [`Self::open`]; [`io::ErrorKind::AlreadyExists`] where something has this name, a link included.
    pub fn create(path: &Path) -> io::Result<Self> {
        let (folder, name) = above(path).ok_or(io::ErrorKind::AlreadyExists)?;
        Self::reach(folder, false, Opener::of_command())?.create_folder(name)
    }

    /// Makes a folder in this one.
    ///
    /// # Errors
    /// The system's; [`io::ErrorKind::AlreadyExists`] where something has this name, a link included.
    pub fn create_folder(&self, name: &OsStr) -> io::Result<Self> {
        mkdirat(&self.0, name, Mode::from_raw_mode(FOLDER))?;
        Ok(Self(enter(&self.0, name)?))
    }

    /// Writes a file that is not there yet. `path` is relative to the folder; folders that are missing below it are made.
    ///
    /// # Errors
    /// The system's; [`io::ErrorKind::AlreadyExists`] where something has this name, a link included, and
    /// [`io::ErrorKind::NotADirectory`] where a link is in the place of a folder.
    pub fn write_new(&self, path: &Path, content: &[u8], mode: FileMode) -> io::Result<()> {
        let mut below = None;
        let mut names = path.components().peekable();
        while let Some(part) = names.next() {
            let Component::Normal(name) = part else {
                break;
            };
            let folder = below.as_ref().unwrap_or(&self.0);
            if names.peek().is_none() {
                return write(&create_file(folder, name, mode)?, content);
            }
            match mkdirat(folder, name, Mode::from_raw_mode(FOLDER)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            below = Some(enter(folder, name)?);
        }
        Err(io::ErrorKind::InvalidInput.into())
    }

    /// Writes a file beside this name and renames it, so that readers never see half of it. A link with this name is replaced
    /// and not followed.
    ///
    /// # Errors
    /// The system's.
    pub fn replace(&self, name: &OsStr, content: &[u8], mode: FileMode) -> io::Result<()> {
        self.put(name, mode, |file| write(file, content))
    }

    fn put(
        &self,
        name: &OsStr,
        mode: FileMode,
        fill: impl FnOnce(&File) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut beside = OsString::from(".");
        beside.push(name);
        beside.push(format!(".{}.tmp", uuid::Uuid::new_v4()));
        let written = create_file(&self.0, &beside, mode)
            .and_then(|file| fill(&file))
            .and_then(|()| Ok(renameat(&self.0, &beside, &self.0, name)?));
        if written.is_err() {
            let _ = unlinkat(&self.0, &beside, AtFlags::empty());
        }
        written
    }

    fn reach(path: &Path, makes_folders: bool, opener: Opener) -> io::Result<Self> {
        if !opener.is_strict {
            if makes_folders {
                std::fs::create_dir_all(path)?;
            }
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            return Ok(Self(openat(CWD, path, flags, Mode::empty())?));
        }
        let goal = WalkGoal {
            makes_folders,
            judged: Judged::Links,
            ..WalkGoal::FOLDER
        };
        match walk(path, opener.rules, goal).map_err(refused)? {
            WalkEnd::Folder { handle, .. } => Ok(Self(handle)),
            WalkEnd::Entry(_) => Err(io::ErrorKind::NotADirectory.into()),
        }
    }
}

/// Writes a file that is not there yet, in a folder that is.
///
/// # Errors
/// The system's; [`io::ErrorKind::AlreadyExists`] where something has this name, a link included;
/// [`io::ErrorKind::PermissionDenied`] where root would follow a link that others can change.
pub fn write_new(path: &Path, content: &[u8], mode: FileMode) -> io::Result<()> {
    let (folder, name) = above(path).ok_or(io::ErrorKind::InvalidInput)?;
    let folder = OutputFolder::reach(folder, false, Opener::of_command())?;
    let file = create_file(&folder.0, name, mode)?;
    write(&file, content).and_then(|()| file.sync_all())
}

/// Writes a new file that only its owner can read and write.
///
/// # Errors
/// As [`write_new`].
pub fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    let (folder, name) = above(path).ok_or(io::ErrorKind::InvalidInput)?;
    let folder = OutputFolder::reach(folder, false, Opener::of_command())?;
    folder.write_new(Path::new(name), content, FileMode::Exact(0o600))
}

/// Puts a file in place at once or not at all, also across a power cut. Missing folders are made; a link with this name is
/// replaced and not followed.
///
/// # Errors
/// The system's; [`io::ErrorKind::PermissionDenied`] where root would follow a link that others can change.
pub fn replace(path: &Path, content: &[u8], mode: FileMode) -> io::Result<()> {
    let (folder, name) = above(path).ok_or(io::ErrorKind::InvalidInput)?;
    let folder = OutputFolder::open(folder)?;
    folder.put(name, mode, |file| {
        write(file, content).and_then(|()| file.sync_all())
    })
}

/// Splits a path into the folder and the name in it.
fn above(path: &Path) -> Option<(&Path, &OsStr)> {
    let name = path.file_name()?;
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    Some((folder.unwrap_or(Path::new(".")), name))
}

fn enter(folder: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(folder, name, flags, Mode::empty())?)
}

fn create_file(folder: &OwnedFd, name: &OsStr, mode: FileMode) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let asked = match mode {
        FileMode::ByUmask => FILE,
        FileMode::Exact(mode) => mode,
    };
    let file = openat(folder, name, flags, Mode::from_raw_mode(asked))?;
    if let FileMode::Exact(mode) = mode {
        fchmod(&file, Mode::from_raw_mode(mode))?;
    }
    Ok(File::from(file))
}

fn write(mut file: &File, content: &[u8]) -> io::Result<()> {
    file.write_all(content)
}

/// Says which link root does not follow, and what to do.
fn refused(error: TrustError) -> io::Error {
    let refusal = match error {
        TrustError::Refused(refusal) => refusal,
        other => return other.into(),
    };
    let (kind, part) = (refusal.kind, refusal.part.display());
    io::Error::new(
        io::ErrorKind::PermissionDenied,
        format!(
            "others can change the {kind} {part}, and root follows no link there when it writes; name the folder that the link \
             leads to"
        ),
    )
}

#[cfg(test)]
#[path = "output_tests.rs"]
mod tests;
