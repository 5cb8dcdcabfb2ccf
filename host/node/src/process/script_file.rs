//! The file from which bash reads a script: a temporary one, or memory where no folder can be written to.

use std::{
    fs::File,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use rustix::{
    fd::{AsRawFd as _, RawFd},
    fs::{MemfdFlags, memfd_create},
};

/// A script for bash. It is gone when this is dropped.
pub enum ScriptFile {
    /// In a folder.
    Temporary(tempfile::TempPath),
    /// In memory.
    Memory(File),
}

impl ScriptFile {
    /// Writes a script into a file of this folder, or into memory.
    ///
    /// # Errors
    /// Neither is possible; says what the reader can do.
    pub fn write(script: &[u8], folder: &Path) -> io::Result<Self> {
        let problem = match temporary(script, folder) {
            Ok(file) => return Ok(file),
            Err(problem) => problem,
        };
        in_memory(script).map_err(|other| {
            io::Error::new(
                other.kind(),
                format!(
                    "no file for the script: {}: {problem}; in memory: {other}; make the folder writable for gpud, or \
                     name another one in TMPDIR",
                    folder.display()
                ),
            )
        })
    }

    /// Returns the path by which bash opens it.
    pub fn path(&self) -> PathBuf {
        match self {
            Self::Temporary(path) => path.to_path_buf(),
            Self::Memory(file) => PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd())),
        }
    }

    /// Returns the descriptor that bash must inherit for this path to be there.
    pub fn passed(&self) -> Option<RawFd> {
        match self {
            Self::Temporary(_) => None,
            Self::Memory(file) => Some(file.as_raw_fd()),
        }
    }
}

/// In a folder that others can change, somebody could put another script in its place before bash opens it; the caller
/// chooses the folder.
fn temporary(script: &[u8], folder: &Path) -> io::Result<ScriptFile> {
    let mut file = tempfile::Builder::new()
        .prefix("gpud-")
        .suffix(".bash")
        .tempfile_in(folder)?;
    file.write_all(script)?;
    Ok(ScriptFile::Temporary(file.into_temp_path()))
}

fn in_memory(script: &[u8]) -> io::Result<ScriptFile> {
    // Kernels before 6.3 do not know the second flag; later ones can be set to refuse memory without it.
    let sealed = MemfdFlags::CLOEXEC | MemfdFlags::NOEXEC_SEAL;
    let memory = memfd_create("gpud-script", sealed)
        .or_else(|_| memfd_create("gpud-script", MemfdFlags::CLOEXEC))?;
    let mut file = File::from(memory);
    file.write_all(script)?;
    Ok(ScriptFile::Memory(file))
}

#[cfg(test)]
mod tests {
    use super::{super::clean_start, *};

    #[tokio::test]
    async fn bash_reads_a_script_from_memory_where_no_folder_can_be_written_to() {
        let script = ScriptFile::write(b"echo \"got $1\"\n", Path::new("/nonexistent")).unwrap();
        assert!(matches!(script, ScriptFile::Memory(_)));
        let mut process = tokio::process::Command::new("bash");
        process.arg(script.path()).arg("this");
        clean_start::prepare(&mut process, script.passed(), true);
        let output = process.output().await.unwrap();
        assert_eq!(output.stdout, b"got this\n", "{output:?}");
    }

    #[test]
    fn a_folder_is_preferred_and_left_empty() {
        let folder = tempfile::tempdir().unwrap();
        let script = ScriptFile::write(b"true\n", folder.path()).unwrap();
        assert_eq!(script.passed(), None);
        assert!(script.path().starts_with(folder.path()));
        drop(script);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
