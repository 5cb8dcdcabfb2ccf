//! The installed program: replaced and put back by rename, so that it is whole at any moment.

use std::{
    ffi::OsString,
    fs::{self, File, Permissions},
    io::{self, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::{
    fs::{FlockOperation, OFlags, flock},
    io::Errno,
};
use tempfile::TempPath;

use crate::{
    cli::terminal::printable,
    node::process::{self, Command, Program},
};

/// Mode of the program.
const MODE: u32 = 0o755;
/// The prefix of the names of programs that are not yet installed.
const STAGED: &str = ".gpud-update-";
/// The file beside the program whose lock an update holds.
const LOCK: &str = ".gpud-update.lock";
/// Longest that a program may take to say its version.
const VERSION: Duration = Duration::from_secs(30);

/// The program that the service starts, and where the one before is retained.
#[derive(Debug)]
pub struct InstalledProgram {
    path: PathBuf,
    retained: PathBuf,
    /// Held while an update is under way; the kernel releases it when this process ends.
    _lock: Option<UpdateLock>,
}

/// A program in the folder of the installed one, not yet in its place. Dropped, it is removed.
#[derive(Debug)]
pub struct Staged(TempPath);

/// The lock of an update, a file that is removed when it ends.
#[derive(Debug)]
struct UpdateLock {
    path: PathBuf,
    _file: File,
}

impl Drop for UpdateLock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl InstalledProgram {
    /// The program at this path.
    pub fn new(path: PathBuf, retained: PathBuf) -> Self {
        Self {
            path,
            retained,
            _lock: None,
        }
    }

    /// Keeps other updates away, with the lock of a file that nobody else can open: the folder itself, all can.
    ///
    /// # Errors
    /// Another one is under way.
    pub fn lock(self) -> Result<Self, String> {
        let folder = folder(&self.path);
        let path = folder.join(LOCK);
        let failed = |error: io::Error| format!("cannot lock {}: {error}", path.display());
        let file = loop {
            let file = File::options()
                .create(true)
                .truncate(false)
                .write(true)
                .mode(0o600)
                .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
                .open(&path)
                .map_err(failed)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => return Err("another update is under way".to_owned()),
                Err(error) => return Err(failed(error.into())),
            }
            // One that ended since has removed the file.
            if file.metadata().map_err(failed)?.nlink() > 0 {
                break file;
            }
        };
        let lock = UpdateLock { path, _file: file };
        remove_left_behind(folder);
        Ok(Self {
            _lock: Some(lock),
            ..self
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the one before is retained.
    pub fn retained(&self) -> &Path {
        &self.retained
    }

    /// Returns the version that it prints, if it starts.
    pub async fn version(&self) -> Option<String> {
        version_of(&self.path).await
    }

    /// Whether it has exactly this content.
    pub fn has_content(&self, program: &[u8]) -> bool {
        #[expect(clippy::disallowed_methods, reason = "gpud's own program")]
        let content = fs::read(&self.path);
        content.is_ok_and(|content| content == program)
    }

    /// Writes a program beside it, onto the disk.
    ///
    /// # Errors
    /// It cannot be written; nothing has changed then.
    pub fn stage(&self, program: &[u8]) -> Result<Staged, String> {
        let written = write_beside(&self.path, program);
        written.map_err(|error| {
            format!(
                "cannot write beside {}: {error}; nothing was changed",
                self.path.display()
            )
        })
    }

    /// Copies the installed program to where it is retained.
    ///
    /// # Errors
    /// It cannot be copied; nothing has changed then.
    pub fn retain(&self) -> Result<(), String> {
        copy(&self.path, &self.retained).map_err(|error| {
            format!(
                "cannot retain {} as {}: {error}; nothing was changed",
                self.path.display(),
                self.retained.display()
            )
        })
    }

    /// Puts a staged program in place.
    ///
    /// # Errors
    /// The system's, in words; the former program is there then.
    pub fn put(&self, staged: Staged) -> Result<(), String> {
        rename(staged, &self.path)
            .map_err(|error| format!("cannot replace {}: {error}", self.path.display()))
    }

    /// Puts the retained program back in place.
    ///
    /// # Errors
    /// The system's; the new program is there then.
    pub fn put_back(&self) -> io::Result<()> {
        copy(&self.retained, &self.path)
    }
}

impl Staged {
    /// Returns the version that it prints, if it starts on this machine.
    pub async fn version(&self) -> Option<String> {
        version_of(&self.0).await
    }
}

/// Returns the third word of what `--version` prints, without the `v` that GPUd's has.
async fn version_of(program: &Path) -> Option<String> {
    let argv = [program.as_os_str().to_owned(), OsString::from("--version")];
    let output = process::run(Command::new(Program::Argv(argv.into()), VERSION)).await;
    let output = output.ok().filter(|output| output.exit_code == Some(0))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let word = text.split_whitespace().nth(2)?;
    Some(printable(word.trim_start_matches('v')))
}

fn folder(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
}

/// Removes what an update that was killed has left in the folder.
fn remove_left_behind(folder: &Path) {
    #[expect(
        clippy::disallowed_methods,
        reason = "the folder of gpud's own program"
    )]
    let entries = fs::read_dir(folder);
    for entry in entries.into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(STAGED) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn write_beside(path: &Path, content: &[u8]) -> io::Result<Staged> {
    let mut file = tempfile::Builder::new()
        .prefix(STAGED)
        .permissions(Permissions::from_mode(MODE))
        .tempfile_in(folder(path))?;
    file.write_all(content)?;
    // The temporary file's mode went through the umask.
    file.as_file()
        .set_permissions(Permissions::from_mode(MODE))?;
    file.as_file().sync_all()?;
    // Closed: a program that is open for writing cannot be started.
    Ok(Staged(file.into_temp_path()))
}

fn rename(staged: Staged, path: &Path) -> io::Result<()> {
    staged.0.persist(path)?;
    #[expect(
        clippy::disallowed_methods,
        reason = "the folder of gpud's own program"
    )]
    let handle = File::open(folder(path))?;
    // Whatever was lost with the power, the name leads to one program or the other.
    handle.sync_all()
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(folder(to))?;
    #[expect(clippy::disallowed_methods, reason = "gpud's own program")]
    let content = fs::read(from)?;
    rename(write_beside(to, &content)?, to)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(version: &str) -> Vec<u8> {
        format!("#!/bin/sh\necho gpud version {version} rest\n").into_bytes()
    }

    fn installed(root: &Path) -> InstalledProgram {
        let path = root.join("bin/gpud");
        fs::create_dir_all(folder(&path)).unwrap();
        fs::write(&path, script("v1.0.0")).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(MODE)).unwrap();
        InstalledProgram::new(path, root.join("share/gpud.before"))
    }

    #[test]
    fn a_program_is_replaced_retained_and_put_back() {
        let root = tempfile::tempdir().unwrap();
        let installed = installed(root.path()).lock().unwrap();
        let staged = installed.stage(&script("2.0.0")).unwrap();
        assert!(installed.has_content(&script("v1.0.0")));
        installed.retain().unwrap();
        installed.put(staged).unwrap();
        assert!(installed.has_content(&script("2.0.0")));
        let mode = fs::metadata(installed.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, MODE);
        assert_eq!(fs::read(installed.retained()).unwrap(), script("v1.0.0"));
        installed.put_back().unwrap();
        assert!(installed.has_content(&script("v1.0.0")));
        let folder = folder(installed.path()).to_owned();
        drop(installed);
        assert_eq!(fs::read_dir(folder).unwrap().count(), 1);
    }

    #[test]
    fn an_update_that_ends_early_leaves_the_former_program_alone() {
        let root = tempfile::tempdir().unwrap();
        let installed = installed(root.path());
        let staged = installed.stage(b"half of a pro").unwrap();
        assert_eq!(fs::read_dir(folder(installed.path())).unwrap().count(), 2);
        assert!(installed.has_content(&script("v1.0.0")));
        drop(staged);
        assert_eq!(fs::read_dir(folder(installed.path())).unwrap().count(), 1);
        assert!(installed.has_content(&script("v1.0.0")));
    }

    #[test]
    fn remains_of_a_killed_update_are_removed() {
        let root = tempfile::tempdir().unwrap();
        let installed = installed(root.path());
        fs::write(root.path().join("bin/.gpud-update-x"), "half of a pro").unwrap();
        fs::write(root.path().join("bin/other"), "").unwrap();
        let installed = installed.lock().unwrap();
        assert!(!root.path().join("bin/.gpud-update-x").exists());
        assert!(root.path().join("bin/other").exists());
        assert!(installed.has_content(&script("v1.0.0")));
    }

    #[test]
    fn two_updates_at_once_are_refused() {
        let root = tempfile::tempdir().unwrap();
        let first = installed(root.path()).lock().unwrap();
        let second = installed(root.path()).lock().unwrap_err();
        assert_eq!(second, "another update is under way");
        // Nobody else can open it, and so hold its lock.
        let facts = fs::metadata(root.path().join("bin").join(LOCK)).unwrap();
        assert_eq!(facts.permissions().mode() & 0o777, 0o600);
        let folder = File::open(root.path().join("bin")).unwrap();
        flock(&folder, FlockOperation::NonBlockingLockShared).unwrap();
        drop(first);
        installed(root.path()).lock().unwrap();
    }
}
