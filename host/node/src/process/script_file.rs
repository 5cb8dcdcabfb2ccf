//! The file from which bash reads a script: a temporary one, or memory where no folder can be written to.

use std::{
    fs::{File, Permissions},
    io::{self, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    sync::Arc,
};

use rustix::{
    fd::{AsRawFd as _, RawFd},
    fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create},
};

use crate::temporary::TemporaryFolder;

/// A script for bash. Its file is removed when this is dropped.
pub enum ScriptFile {
    /// In a folder, which is removed after it.
    Temporary {
        /// The file, which is removed first.
        path: tempfile::TempPath,
        /// Retained for as long as the file is in it.
        _folder: Arc<TemporaryFolder>,
    },
    /// In memory.
    Memory(File),
}

impl ScriptFile {
    /// Writes a script into a file of this folder, or into memory where there is none.
    ///
    /// # Errors
    /// Neither is possible; says what the reader can do.
    pub fn write(script: &[u8], folder: io::Result<Arc<TemporaryFolder>>) -> io::Result<Self> {
        let problem = match folder.and_then(|folder| temporary(script, folder)) {
            Ok(file) => return Ok(file),
            Err(problem) => problem,
        };
        in_memory(script).map_err(|other| {
            io::Error::new(
                other.kind(),
                format!(
                    "no file for the script: {problem}; in memory: {other}; make the folder for temporary files writable for \
                     gpud, or name another one in TMPDIR"
                ),
            )
        })
    }

    /// Returns the path by which bash opens it.
    pub fn path(&self) -> PathBuf {
        match self {
            Self::Temporary { path, .. } => path.to_path_buf(),
            Self::Memory(file) => PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd())),
        }
    }

    /// Returns the descriptor that bash must inherit for this path to be there.
    pub fn passed(&self) -> Option<RawFd> {
        match self {
            Self::Temporary { .. } => None,
            Self::Memory(file) => Some(file.as_raw_fd()),
        }
    }
}

fn temporary(script: &[u8], folder: Arc<TemporaryFolder>) -> io::Result<ScriptFile> {
    let mut file = tempfile::Builder::new()
        .prefix("gpud-")
        .suffix(".bash")
        .tempfile_in(folder.path())?;
    file.write_all(script)?;
    Ok(ScriptFile::Temporary {
        path: file.into_temp_path(),
        _folder: folder,
    })
}

fn in_memory(script: &[u8]) -> io::Result<ScriptFile> {
    // Kernels before 6.3 do not know the second flag; later ones can be set to refuse memory without it.
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let memory = memfd_create("gpud-script", flags | MemfdFlags::NOEXEC_SEAL)
        .or_else(|_| memfd_create("gpud-script", flags))?;
    let mut file = File::from(memory);
    file.write_all(script)?;
    // What the script starts inherits the descriptor, also as another user: bash reads a script while it runs, so nobody may
    // change it, and only its owner opens it again.
    file.set_permissions(Permissions::from_mode(0o400))?;
    fcntl_add_seals(
        &file,
        SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL,
    )?;
    Ok(ScriptFile::Memory(file))
}

#[cfg(test)]
mod tests {
    use super::{super::child_setup, *};

    #[tokio::test]
    async fn bash_reads_a_script_from_memory_where_no_folder_can_be_written_to() {
        let none = || Err(io::ErrorKind::ReadOnlyFilesystem.into());
        let script = ScriptFile::write(b"echo \"got $1\"\n", none()).unwrap();
        assert!(matches!(script, ScriptFile::Memory(_)));
        let mut process = tokio::process::Command::new("bash");
        process.arg(script.path()).arg("this");
        child_setup::prepare(&mut process, script.passed(), true);
        let output = process.output().await.unwrap();
        assert_eq!(output.stdout, b"got this\n", "{output:?}");
    }

    #[test]
    fn nobody_changes_a_script_in_memory() {
        let script = in_memory(b"true\n").unwrap();
        let again = File::options().write(true).open(script.path());
        let ScriptFile::Memory(mut file) = script else {
            unreachable!("it is in memory");
        };
        for file in std::iter::once(&mut file).chain(again.ok().iter_mut()) {
            assert!(file.write_all(b"x").is_err());
            assert!(file.set_len(0).is_err());
        }
        let mode = file.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o400);
    }

    #[test]
    fn a_folder_is_preferred_and_removed_with_the_script() {
        let folder = Arc::new(TemporaryFolder::create().unwrap());
        let place = folder.path().to_owned();
        let script = ScriptFile::write(b"true\n", Ok(folder)).unwrap();
        assert_eq!(script.passed(), None);
        assert!(script.path().starts_with(&place));
        drop(script);
        assert!(!place.exists());
    }
}
