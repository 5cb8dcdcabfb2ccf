//! Checks gpud's own files and folders. Another program may have replaced them by devices or pipes, and another user, by links or
//! by files of his own, while the data folder was open to him.

use std::{
    fs::{self, DirBuilder, Metadata, OpenOptions, Permissions},
    io,
    os::unix::fs::{
        DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
    },
    path::Path,
};

/// Permissions of group and others.
const OTHERS: u32 = 0o077;
/// Those with which they change something.
const OTHERS_WRITE: u32 = 0o022;
/// In such a folder others cannot rename or remove what is not theirs.
const STICKY: u32 = 0o1000;
/// What a link in the last part of a path is: refused.
const NO_LINK: i32 = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();

/// Checks that a path leads to a regular file of gpud's own, if it leads to anything. Opening a pipe would wait for ever.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] for anything else than a regular file, a link included; [`io::ErrorKind::PermissionDenied`]
/// for a file of another user, or one that others could change.
pub fn check_own(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(facts) if !facts.is_file() => Err(wrong(
            io::ErrorKind::InvalidInput,
            path,
            "is not a regular file",
        )),
        // One that others could change, or that has another name, may hold records of theirs.
        Ok(facts) if facts.mode() & OTHERS_WRITE != 0 || facts.nlink() > 1 => Err(wrong(
            io::ErrorKind::PermissionDenied,
            path,
            "could be changed by others, or has a second name; move it away",
        )),
        Ok(facts) => check_owner(path, &facts),
        Err(_) => Ok(()),
    }
}

/// Returns options to open a file of gpud's own with, which new ones are made with the permissions of.
pub fn open_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600).custom_flags(NO_LINK);
    options
}

/// Makes a folder of gpud's own, and those above it, and closes it to others.
///
/// # Errors
/// The system's; it is a link, or of another user, or others could write to it.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder.create(folder)?;
    let facts = check_folder(folder)?;
    if facts.mode() & OTHERS != 0 {
        fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Checks that a path leads to a folder of gpud's own, and not by a link in its last part.
///
/// # Errors
/// As [`make_folder`].
pub fn check_folder(folder: &Path) -> io::Result<Metadata> {
    let facts = fs::symlink_metadata(folder)?;
    if !facts.is_dir() {
        return Err(wrong(
            io::ErrorKind::InvalidInput,
            folder,
            "is not a folder",
        ));
    }
    check_owner(folder, &facts)?;
    // Others could have put the records of another export here.
    match facts.mode() & OTHERS_WRITE != 0 && facts.mode() & STICKY == 0 {
        true => Err(wrong(
            io::ErrorKind::PermissionDenied,
            folder,
            "could be changed by others; move it away",
        )),
        false => Ok(facts),
    }
}

fn check_owner(path: &Path, facts: &Metadata) -> io::Result<()> {
    match facts.uid() == rustix::process::geteuid().as_raw() || facts.uid() == 0 {
        true => Ok(()),
        false => {
            let whose = format!("belongs to user {}; move it away", facts.uid());
            Err(wrong(io::ErrorKind::PermissionDenied, path, &whose))
        }
    }
}

fn wrong(kind: io::ErrorKind, path: &Path, what: &str) -> io::Error {
    io::Error::new(kind, format!("{} {what}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{lchown, symlink};

    use super::*;

    #[test]
    fn a_file_and_nothing_are_good_and_a_pipe_and_a_link_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "x").unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(at("pipe"))
            .status();
        assert!(made.unwrap().success());
        symlink(at("file"), at("link")).unwrap();
        assert!(check_own(&at("file")).is_ok());
        assert!(check_own(&at("none")).is_ok());
        for other in [at("pipe"), at("link"), folder.path().to_owned()] {
            let error = check_own(&other).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        }
        assert!(open_options().write(true).open(at("link")).is_err());
        fs::write(at("open"), "x").unwrap();
        fs::set_permissions(at("open"), Permissions::from_mode(0o666)).unwrap();
        fs::write(at("first"), "x").unwrap();
        fs::hard_link(at("first"), at("second")).unwrap();
        for other in [at("open"), at("second")] {
            let error = check_own(&other).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        }
        if lchown(at("file"), Some(4242), None).is_ok() {
            let error = check_own(&at("file")).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        }
    }

    #[test]
    fn a_folder_is_closed_and_no_link_or_folder_of_another_user_is_one() {
        let data = tempfile::tempdir().unwrap();
        let at = |name: &str| data.path().join(name);
        fs::create_dir(at("open")).unwrap();
        fs::set_permissions(at("open"), Permissions::from_mode(0o755)).unwrap();
        for folder in [at("open"), at("new/one")] {
            make_folder(&folder).unwrap();
            assert_eq!(check_folder(&folder).unwrap().mode() & 0o777, 0o700);
        }
        symlink(at("open"), at("link")).unwrap();
        assert!(make_folder(&at("link")).is_err());
        assert!(check_folder(&at("none")).is_err());
        fs::set_permissions(at("open"), Permissions::from_mode(0o720)).unwrap();
        assert!(make_folder(&at("open")).is_err());
        if lchown(at("open"), Some(4242), None).is_ok() {
            assert!(make_folder(&at("open")).is_err());
        }
    }
}
