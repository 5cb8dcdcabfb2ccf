//! Files that are read in parts, such as gpud's own binary, to which data was appended.

use std::{fs::File, io, os::unix::fs::FileExt as _, path::Path};

/// The program of this process, even after its file was replaced.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// An open file.
#[derive(Debug)]
pub struct Parts {
    file: File,
    size: u64,
}

impl Parts {
    /// Opens the program of this process.
    ///
    /// # Errors
    /// The system's; without `/proc` there is no such file.
    pub fn own_program() -> io::Result<Self> {
        Self::open(Path::new(OWN_PROGRAM))
    }

    /// Opens a file.
    ///
    /// # Errors
    /// The system's.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let size = file.metadata()?.len();
        Ok(Self { file, size })
    }

    /// Returns its size when it was opened, bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Reads a part of it.
    ///
    /// # Errors
    /// The system's; [`io::ErrorKind::UnexpectedEof`] for what is not in the file, before any memory is allocated for it.
    pub fn read(&self, offset: u64, length: u64) -> io::Result<Vec<u8>> {
        let end = offset.checked_add(length);
        if end.is_none_or(|end| end > self.size) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let length = usize::try_from(length).map_err(io::Error::other)?;
        let mut part = vec![0; length];
        self.file.read_exact_at(&mut part, offset)?;
        Ok(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_in_the_file_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, b"0123456789").unwrap();
        let parts = Parts::open(&path).unwrap();
        assert_eq!(parts.size(), 10);
        assert_eq!(parts.read(3, 4).unwrap(), b"3456");
        assert_eq!(parts.read(10, 0).unwrap(), b"");
        for (offset, length) in [(9, 2), (11, 0), (u64::MAX, 1), (0, u64::MAX)] {
            let error = parts.read(offset, length).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        }
        std::fs::write(&path, b"cut").unwrap();
        assert!(parts.read(3, 4).is_err(), "it became shorter");
    }

    #[test]
    fn the_own_program_is_found() {
        let parts = Parts::own_program().unwrap();
        assert_eq!(parts.read(0, 4).unwrap(), b"\x7fELF");
    }
}
