//! Files that gpud creates by name: never through a link that somebody else put there.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

/// Writes a new file that only its owner can read and write, whatever the umask is.
///
/// # Errors
/// The system's; [`io::ErrorKind::AlreadyExists`] where something has this name already, a link included.
pub fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    create(path, 0o600)?.write_all(content)
}

/// Writes a file beside the path and renames it, so that readers never see half of it. A link with this name is replaced
/// and not followed. The umask decides who can read the file.
///
/// # Errors
/// The system's.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let mut unique = OsString::from(".");
    unique.push(name);
    unique.push(format!(".{}.tmp", uuid::Uuid::new_v4()));
    let beside = path.with_file_name(unique);
    let written = create(&beside, 0o666)
        .and_then(|mut file| file.write_all(content))
        .and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

/// Creates a file that is not there yet. `O_EXCL` makes a link with this name an error.
fn create(path: &Path, mode: u32) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_link_is_replaced_and_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("other"), "other").unwrap();
        symlink(at("other"), at("link")).unwrap();
        replace(&at("link"), b"new").unwrap();
        assert_eq!(fs::read(at("other")).unwrap(), b"other");
        assert!(fs::symlink_metadata(at("link")).unwrap().is_file());
        assert_eq!(fs::read(at("link")).unwrap(), b"new");
        replace(&at("link"), b"newer").unwrap();
        assert_eq!(fs::read(at("link")).unwrap(), b"newer");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        assert!(replace(Path::new("/"), b"").is_err());
        fs::create_dir(at("folder")).unwrap();
        assert!(replace(&at("folder"), b"").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }

    #[test]
    fn a_private_file_is_new_and_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        write_private(&at("file"), b"content").unwrap();
        let mode = fs::metadata(at("file")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        symlink(at("other"), at("link")).unwrap();
        for name in ["file", "link"] {
            let error = write_private(&at(name), b"x").unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        }
        assert!(!at("other").exists());
    }
}
