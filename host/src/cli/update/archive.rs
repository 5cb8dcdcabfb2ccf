//! Takes the program out of an archive. No I/O.

use std::io::{Cursor, Read as _};

use flate2::read::GzDecoder;
use tar::{Archive, EntryType};

/// Largest program, bytes; ours have less than 40 MiB.
const MAX_PROGRAM: u64 = 256 << 20;
/// Most that is unpacked to find it, bytes.
const MAX_UNPACKED: u64 = 1 << 30;

/// Why there is no program.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// It cannot be unpacked.
    #[error("it is no archive, or a damaged one: {0}")]
    Damaged(#[from] std::io::Error),
    /// The program is not where it must be.
    #[error("there is no {0} in it")]
    Missing(String),
    /// The program is too large.
    #[error("the program in it has {0} bytes, more than 256 MiB")]
    TooLarge(u64),
}

/// Returns the file `gpud` of the archive's folder.
///
/// # Errors
/// [`ArchiveError`].
pub fn program(bytes: &[u8], folder: &str) -> Result<Vec<u8>, ArchiveError> {
    let path = format!("{folder}/gpud");
    let unpacked = GzDecoder::new(Cursor::new(bytes)).take(MAX_UNPACKED);
    let mut archive = Archive::new(unpacked);
    for entry in archive.entries()? {
        let mut entry = entry?;
        let is_program = entry.path_bytes().as_ref() == path.as_bytes();
        if !is_program || entry.header().entry_type() != EntryType::Regular {
            continue;
        }
        if entry.size() > MAX_PROGRAM {
            return Err(ArchiveError::TooLarge(entry.size()));
        }
        let mut program = Vec::new();
        entry.read_to_end(&mut program)?;
        return Ok(program);
    }
    Err(ArchiveError::Missing(path))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{Compression, write::GzEncoder};
    use proptest::prelude::*;

    use super::*;

    fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (path, content) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            header.set_mode(0o755);
            builder.append_data(&mut header, path, *content).unwrap();
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&builder.into_inner().unwrap()).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn the_program_is_that_of_the_folder() {
        let bytes = archive(&[
            ("x/gpud", b"other"),
            ("a/LICENSE", b"text"),
            ("a/gpud", b"program"),
        ]);
        assert_eq!(program(&bytes, "a").unwrap(), b"program");
        let missing = program(&bytes, "b").unwrap_err().to_string();
        assert_eq!(missing, "there is no b/gpud in it");
    }

    #[test]
    fn a_link_is_no_program() {
        let mut builder = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(EntryType::Symlink);
        header.set_size(0);
        builder
            .append_link(&mut header, "a/gpud", "/bin/sh")
            .unwrap();
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&builder.into_inner().unwrap()).unwrap();
        let bytes = encoder.finish().unwrap();
        assert!(
            program(&bytes, "a")
                .unwrap_err()
                .to_string()
                .contains("no a/gpud")
        );
    }

    proptest! {
        #[test]
        fn what_is_cut_short_or_damaged_gives_no_program(end in 0_usize..200, flipped in 0_usize..200) {
            let mut bytes = archive(&[("a/gpud", b"program that is longer than the header of a file")]);
            prop_assert!(program(bytes.get(..end.min(20)).unwrap_or_default(), "a").is_err());
            if let Some(byte) = bytes.get_mut(flipped) {
                *byte ^= 0x55;
            }
            let _ = program(&bytes, "a");
        }
    }
}
