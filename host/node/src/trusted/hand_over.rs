//! Gives root's folders and files to the user that gpud is about to become.
//!
//! Only what nobody but root can reach or change is given away: a user who could put a link or a second name in the way would
//! get a file of root's. What belongs to the user already, or is in a folder of the user's, is left as it is; gpud judges it
//! again as that user.

use std::{io, os::fd::OwnedFd, path::Path};

use rustix::{
    fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, chownat, fchown, fstat, openat},
    io::Errno,
    process::{Gid, Uid},
};

use super::{
    TrustError,
    append::append,
    rules::Rules,
    walk::{Arrival, Goal, walk},
};
use crate::users::User;

/// Write permission of group and others.
const OTHERS_WRITE: u32 = 0o022;
/// Deepest folder that is looked into.
const MAX_DEPTH: usize = 16;

/// Gives a folder of root's to a user, with all that is in it; makes it, with mode 0700, if it is missing. Blocks.
///
/// # Errors
/// [`TrustError`] of the system.
pub fn hand_over_folder(path: &Path, user: &User) -> Result<(), TrustError> {
    let goal = Goal {
        makes_folders: true,
        ..Goal::FOLDER
    };
    let failed = |error: Errno| TrustError::io(path, error.into());
    let (handle, facts) = match walk(path, Rules::of_process(), goal) {
        Ok(Arrival::Folder { handle, facts, .. }) => (handle, facts),
        Ok(Arrival::Entry(_)) => {
            return Err(TrustError::io(path, io::ErrorKind::NotADirectory.into()));
        }
        Err(refused) if refused.is_refusal() => return Ok(()),
        Err(error) => return Err(error),
    };
    if !is_roots(&facts) || facts.st_mode & OTHERS_WRITE != 0 {
        return Ok(());
    }
    let folder = open_folder(&handle, c".").map_err(failed)?;
    // The folder itself comes last: until then nobody else gets in, and an interrupted start begins again.
    give_entries(&folder, facts.st_dev, user, 0).map_err(failed)?;
    fchown(
        &folder,
        Some(Uid::from_raw(user.uid)),
        Some(Gid::from_raw(user.gid)),
    )
    .map_err(failed)
}

/// Gives a log file of root's to a user; makes it, with mode 0600, if it is missing. Blocks.
///
/// # Errors
/// [`TrustError`] of the system.
pub fn hand_over_file(path: &Path, user: &User) -> Result<(), TrustError> {
    let failed = |error: Errno| TrustError::io(path, error.into());
    let file = match append(path) {
        Ok(file) => file,
        Err(refused) if refused.is_refusal() => return Ok(()),
        Err(error) => return Err(error),
    };
    let facts = fstat(&file).map_err(failed)?;
    let is_file = FileType::from_raw_mode(facts.st_mode) == FileType::RegularFile;
    if !is_file || !is_roots(&facts) {
        return Ok(());
    }
    fchown(
        &file,
        Some(Uid::from_raw(user.uid)),
        Some(Gid::from_raw(user.gid)),
    )
    .map_err(failed)
}

fn is_roots(facts: &Stat) -> bool {
    facts.st_uid == 0
}

fn open_folder(above: &OwnedFd, name: &std::ffi::CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(above, name, flags, Mode::empty())
}

/// Gives away what is in a folder, on its file system only. Links, sockets and the like stay root's.
fn give_entries(folder: &OwnedFd, device: u64, user: &User, depth: usize) -> Result<(), Errno> {
    if depth > MAX_DEPTH {
        return Err(Errno::LOOP);
    }
    let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = openat(folder, name, flags, Mode::empty())?;
        let facts = fstat(&handle)?;
        if !is_roots(&facts) || facts.st_dev != device {
            continue;
        }
        match FileType::from_raw_mode(facts.st_mode) {
            FileType::Directory => {
                let inner = open_folder(&handle, c".")?;
                give_entries(&inner, device, user, depth + 1)?;
                fchown(&inner, Some(uid), Some(gid))?;
            }
            FileType::RegularFile => {
                chownat(&handle, c"", Some(uid), Some(gid), AtFlags::EMPTY_PATH)?;
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{
        fs::{self, Permissions},
        os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink},
        path::PathBuf,
    };

    use super::*;

    const USER: u32 = 12_345;

    fn user() -> User {
        User {
            name: "somebody".to_owned(),
            uid: USER,
            gid: USER,
            groups: Vec::new(),
            home: PathBuf::from("/"),
        }
    }

    fn owner(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().uid()
    }

    /// A folder of root's, and whether root runs this.
    fn place() -> Option<tempfile::TempDir> {
        let place = tempfile::tempdir().unwrap();
        if owner(place.path()) != 0 {
            eprintln!("skipped: only root gives files away");
            return None;
        }
        Some(place)
    }

    #[test]
    fn a_folder_is_given_with_what_is_in_it_but_not_what_it_links_to() {
        let Some(place) = place() else { return };
        let (data, outside) = (place.path().join("a/data"), place.path().join("outside"));
        fs::write(&outside, "").unwrap();
        hand_over_folder(&data, &user()).unwrap();
        assert_eq!((owner(&data), owner(&place.path().join("a"))), (USER, 0));
        assert_eq!(fs::metadata(&data).unwrap().mode() & 0o777, 0o700);
        // As a start that was interrupted leaves it.
        chown(&data, Some(0), Some(0)).unwrap();
        fs::create_dir_all(data.join("packs/x")).unwrap();
        fs::write(data.join("packs/x/file"), "").unwrap();
        fs::write(data.join("gpud.state"), "").unwrap();
        symlink(&outside, data.join("link")).unwrap();
        fs::create_dir(data.join("theirs")).unwrap();
        fs::write(data.join("theirs/file"), "").unwrap();
        chown(data.join("theirs"), Some(54_321), None).unwrap();
        hand_over_folder(&data, &user()).unwrap();
        for name in ["", "packs", "packs/x", "packs/x/file", "gpud.state"] {
            assert_eq!(owner(&data.join(name)), USER, "{name}");
        }
        assert_eq!((owner(&outside), owner(&data.join("link"))), (0, 0));
        assert_eq!(owner(&data.join("theirs")), 54_321);
        assert_eq!(owner(&data.join("theirs/file")), 0);
    }

    #[test]
    fn nothing_is_given_that_the_user_could_have_put_there() {
        let Some(place) = place() else { return };
        let precious = place.path().join("precious");
        fs::create_dir(&precious).unwrap();
        fs::write(precious.join("shadow"), "").unwrap();
        let home = place.path().join("home");
        fs::create_dir(&home).unwrap();
        fs::create_dir(home.join("mine")).unwrap();
        fs::hard_link(precious.join("shadow"), home.join("mine/shadow")).unwrap();
        symlink(&precious, home.join("data")).unwrap();
        symlink(precious.join("shadow"), home.join("log")).unwrap();
        chown(home.join("mine"), Some(USER), None).unwrap();
        chown(&home, Some(USER), None).unwrap();
        for folder in ["data", "mine", "new"] {
            hand_over_folder(&home.join(folder), &user()).unwrap();
        }
        hand_over_file(&home.join("log"), &user()).unwrap();
        hand_over_file(&home.join("mine/shadow"), &user()).unwrap();
        assert_eq!((owner(&precious), owner(&precious.join("shadow"))), (0, 0));
        assert!(!home.join("new").exists());
    }

    #[test]
    fn a_log_file_is_given_and_made() {
        let Some(place) = place() else { return };
        let log = place.path().join("log");
        for _ in 0..2 {
            hand_over_file(&log, &user()).unwrap();
            assert_eq!(owner(&log), USER);
        }
        assert_eq!(fs::metadata(&log).unwrap().mode() & 0o777, 0o600);
        fs::set_permissions(place.path(), Permissions::from_mode(0o777)).unwrap();
        let other = place.path().join("other");
        hand_over_file(&other, &user()).unwrap();
        assert!(!other.exists());
    }
}
