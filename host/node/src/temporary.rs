//! Temporary files below a folder of this process. It is removed with the last file in it; that of a process which was killed
//! is removed by the next gpud of the same user.

use std::{
    fs::{self, File, Permissions},
    io,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::Path,
    sync::{Arc, Mutex, Once, PoisonError, Weak},
};

use rustix::{
    fs::{CWD, FlockOperation, Mode, OFlags, flock, openat},
    io::Errno,
};
use tempfile::TempDir;

use crate::trusted;

/// The prefix of the names of such folders.
const PREFIX: &str = ".gpud-temporary-";
/// Most attempts to make one, each of which another gpud may have taken for a left-behind one.
const ATTEMPTS: usize = 16;

/// A folder that only this process's user can enter, with a lock that says that its process is there.
#[derive(Debug)]
pub struct TemporaryFolder {
    folder: TempDir,
    /// The kernel releases it when this process ends.
    _lock: File,
}

impl TemporaryFolder {
    /// Makes one in the folder for temporary files ([`trusted::temporary_folder`]). The first call of a process removes what
    /// killed ones left there. Blocks.
    ///
    /// # Errors
    /// The system's.
    pub fn create() -> io::Result<Self> {
        let place = trusted::temporary_folder();
        remove_left_behind_once(&place);
        Self::create_in(&place)
    }

    fn create_in(place: &Path) -> io::Result<Self> {
        for _ in 0..ATTEMPTS {
            let folder = tempfile::Builder::new()
                .prefix(PREFIX)
                .permissions(Permissions::from_mode(0o700))
                .tempdir_in(place)?;
            let Ok(lock) = open(folder.path()) else {
                continue;
            };
            // One that removes what is left behind holds the lock for as long as that takes.
            flock(&lock, FlockOperation::LockExclusive)?;
            if is_at(&lock, folder.path()) {
                return Ok(Self {
                    folder,
                    _lock: lock,
                });
            }
        }
        Err(io::Error::other("its new folders are removed at once"))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Returns the folder of this process, which is made if nothing is in it yet. It exists for as long as a handle to it
/// does. Blocks.
///
/// # Errors
/// The system's.
pub fn shared() -> io::Result<Arc<TemporaryFolder>> {
    static SHARED: Mutex<Weak<TemporaryFolder>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(folder) = shared.upgrade() {
        return Ok(folder);
    }
    let folder = Arc::new(TemporaryFolder::create()?);
    *shared = Arc::downgrade(&folder);
    Ok(folder)
}

/// Removes, once in a process, the folders that killed processes of this user left. Blocks.
pub fn clean() {
    remove_left_behind_once(&trusted::temporary_folder());
}

fn remove_left_behind_once(place: &Path) {
    static CLEANED: Once = Once::new();
    CLEANED.call_once(|| remove_left_behind(place));
}

fn remove_left_behind(place: &Path) {
    let us = rustix::process::geteuid().as_raw();
    let Ok(device) = open(place).and_then(trusted::device) else {
        return;
    };
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_named_so = entry.file_name().to_string_lossy().starts_with(PREFIX);
        // This looks at the entry itself: a link is none of ours. A file system that a user has mounted may never answer.
        let is_ours = || {
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let handle = openat(CWD, &path, flags, Mode::empty()).map_err(io::Error::from)?;
            match trusted::device(&handle)? == device {
                true => File::from(handle).metadata(),
                false => Err(io::ErrorKind::CrossesDevices.into()),
            }
        };
        let is_ours = || is_ours().is_ok_and(|facts| facts.is_dir() && facts.uid() == us);
        if !is_named_so || !is_ours() {
            continue;
        }
        if let Ok(lock) = open(&path)
            && flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok()
            && is_at(&lock, &path)
            && let Err(error) = fs::remove_dir_all(&path)
        {
            tracing::debug!("{} stays: {error}", path.display());
        }
    }
}

fn open(path: &Path) -> Result<File, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(openat(CWD, path, flags, Mode::empty())?))
}

/// Whether an open folder still has this path.
fn is_at(open: &File, path: &Path) -> bool {
    let identity = |facts: fs::Metadata| (facts.dev(), facts.ino());
    let here = open.metadata().map(identity).ok();
    here.is_some() && here == fs::symlink_metadata(path).map(identity).ok()
}

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::symlink, path::PathBuf};

    use super::*;

    fn names(folder: &Path) -> Vec<PathBuf> {
        let mut names: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_folder_is_removed_with_its_owner_and_closed_to_others() {
        let place = tempfile::tempdir().unwrap();
        let folder = TemporaryFolder::create_in(place.path()).unwrap();
        let mode = fs::metadata(folder.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        fs::write(folder.path().join("file"), "").unwrap();
        drop(folder);
        assert_eq!(names(place.path()), Vec::<PathBuf>::new());
    }

    #[test]
    fn what_nobody_holds_is_removed_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(format!("{PREFIX}{name}"));
        let held = TemporaryFolder::create_in(place.path()).unwrap();
        // As a killed process leaves it: the kernel has released the lock.
        fs::create_dir(at("left")).unwrap();
        fs::write(at("left").join("gpud-x.bash"), "true").unwrap();
        fs::create_dir(place.path().join("gpud-data")).unwrap();
        fs::write(at("file"), "").unwrap();
        symlink(place.path().join("gpud-data"), at("link")).unwrap();
        remove_left_behind(place.path());
        let mut expected = vec![
            held.path().to_owned(),
            at("file"),
            at("link"),
            place.path().join("gpud-data"),
        ];
        expected.sort();
        assert_eq!(names(place.path()), expected);
    }

    #[test]
    fn users_of_the_shared_folder_have_the_same_one() {
        let first = shared().unwrap();
        let second = shared().unwrap();
        assert_eq!(first.path(), second.path());
    }
}
