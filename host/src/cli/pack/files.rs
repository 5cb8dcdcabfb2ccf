//! Files that are read and written on behalf of the user who runs `gpud pack`.

use std::{io, path::Path};

use crate::{
    node::{
        local_file,
        trusted::{
            Opener,
            output::{self, FileMode},
        },
    },
    pack::{PackRefusal, SIGNATURE_FILE, archive::MAX_ARCHIVE},
};

/// A whole text file.
pub fn read_text(path: &Path, max: usize) -> Result<String, PackRefusal> {
    let bytes = Opener::of_command()
        .read(path, max)
        .map_err(|error| PackRefusal(error.to_string()))?;
    String::from_utf8(bytes).map_err(|_| PackRefusal(format!("{} is not UTF-8", path.display())))
}

/// A file that is not there yet.
pub fn write_new(path: &Path, content: &[u8], mode: u32) -> Result<(), PackRefusal> {
    output::write_new(path, content, FileMode::Exact(mode)).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => PackRefusal(format!(
            "{} is there already; it is left as it is",
            path.display()
        )),
        _ => PackRefusal(format!("{}: {error}", path.display())),
    })
}

/// Refuses to put an archive without a signature in the place of one that has one, even of a damaged one.
pub fn keep_signed(path: &Path) -> Result<(), PackRefusal> {
    // What cannot be read says so when it is written.
    let there = local_file::read(path, MAX_ARCHIVE).unwrap_or_default();
    let name = SIGNATURE_FILE.as_bytes();
    match there.windows(name.len()).any(|part| part == name) {
        false => Ok(()),
        true => Err(PackRefusal(format!(
            "{} is signed, and what would replace it is not: sign it with --key, write it elsewhere with --output, or replace \
             the signed one with --replace",
            path.display()
        ))),
    }
}

/// A file that takes the place of another one as a whole.
pub fn write_whole(path: &Path, content: &[u8]) -> Result<(), PackRefusal> {
    output::replace(path, content, FileMode::Exact(0o644))
        .map_err(|error| PackRefusal(format!("{}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use rustix::fs::{CWD, Mode, mkfifoat};

    use super::*;

    /// Tests files that another user can put where root is about to write the archive.
    #[test]
    fn what_is_no_archive_is_neither_waited_for_nor_read_to_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        mkfifoat(CWD, at("pipe"), Mode::RUSR | Mode::WUSR).unwrap();
        symlink("/dev/zero", at("endless")).unwrap();
        for name in ["pipe", "endless"] {
            keep_signed(&at(name)).unwrap();
            write_whole(&at(name), b"archive").unwrap();
            assert!(fs::symlink_metadata(at(name)).unwrap().is_file(), "{name}");
        }
    }
}
