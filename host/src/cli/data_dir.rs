//! Which folder holds the state file when several could, and how the daemon closes it to others.

use std::{
    env,
    path::{Path, PathBuf},
};

use crate::{
    node::{
        system::euid,
        trusted::{self, Opener, OwnFolder, TrustError},
    },
    server::TOKEN_FILE,
};

const SHARED: &str = "/var/lib";
/// The folder of a daemon that root runs.
pub const SHARED_DATA_DIR: &str = "/var/lib/gpud";

/// The folder that was asked for, else `/var/lib/gpud` for root, else `~/.gpud`. Nothing is created.
///
/// # Errors
/// There is no home folder.
pub fn data_dir(flag: Option<PathBuf>) -> Result<PathBuf, String> {
    let home = env::var_os("HOME").map(PathBuf::from);
    choose(flag, euid() == 0 && Path::new(SHARED).exists(), home)
        .ok_or_else(|| "no data folder: HOME is not set; use --data-dir".to_owned())
}

fn choose(flag: Option<PathBuf>, shared: bool, home: Option<PathBuf>) -> Option<PathBuf> {
    let given = |path: &PathBuf| !path.as_os_str().is_empty();
    match flag.filter(given) {
        Some(path) => Some(path),
        None if shared => Some(SHARED_DATA_DIR.into()),
        None => home.filter(given).map(|home| home.join(".gpud")),
    }
}

/// Closes the data folder to everybody but gpud's user, makes it if it is missing, and says in the log what was open. A user who
/// can read it knows everything that gpud knows, and one who can open a file in it can hold a lock that gpud needs.
///
/// A folder that cannot be made or read is no error here: the daemon then runs from memory.
///
/// # Errors
/// Somebody else could change it, or owns a file in it that gpud is about to use.
pub fn close(folder: &Path) -> Result<(), TrustError> {
    let closed = OwnFolder::open(folder).and_then(|own| {
        let files = trusted::close_files(&own, is_ours)?;
        Ok((own, files))
    });
    let (own, files) = match closed {
        Ok(closed) => closed,
        Err(refused) if refused.is_refusal() => return Err(refused),
        Err(problem) => {
            tracing::warn!("the data folder cannot be closed to others: {problem}");
            return Ok(());
        }
    };
    if own.was_open().is_some() || !files.is_empty() {
        let mode = own.was_open().map(|mode| format!("{mode:03o}"));
        tracing::warn!(
            folder = %own.path().display(),
            mode,
            ?files,
            "the data folder was open to other users and is closed now; a process that has a file of it open keeps it open"
        );
    }
    Ok(())
}

/// Checks a folder in which a command is about to open the state file. SQLite follows a link in the place of that file, and
/// makes, changes and removes others beside it: in a folder of another user, root would do so wherever that user likes.
///
/// A folder that is missing or cannot be looked at is no error here: opening the file says so.
///
/// # Errors
/// The command is root's, and another user could change the folder.
pub fn check(folder: &Path) -> Result<(), TrustError> {
    match Opener::of_command().check_folder(folder) {
        Err(refused) if refused.is_refusal() => Err(refused),
        _ => Ok(()),
    }
}

/// Whether the daemon itself reads what has this name in its data folder.
fn is_ours(name: &str) -> bool {
    name.starts_with("gpud.") || name == TOKEN_FILE
}

#[cfg(test)]
mod tests {
    use std::{
        fs::{self, Permissions},
        os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown},
    };

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn an_open_folder_is_closed_with_what_is_in_it() {
        let home = tempfile::tempdir().unwrap();
        let data = home.path().join("a/data");
        close(&data).unwrap();
        assert_eq!(mode(&data), 0o700);
        fs::set_permissions(&data, Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(data.join("packs")).unwrap();
        for name in ["gpud.state", "gpud.state-wal", "gpud.lock", "token", "else"] {
            fs::write(data.join(name), "").unwrap();
            fs::set_permissions(data.join(name), Permissions::from_mode(0o664)).unwrap();
        }
        close(&data).unwrap();
        for name in ["gpud.state", "gpud.state-wal", "gpud.lock", "token", "else"] {
            assert_eq!(mode(&data.join(name)), 0o600, "{name}");
        }
        assert_eq!((mode(&data), mode(&data.join("packs"))), (0o700, 0o700));
    }

    #[test]
    fn what_belongs_to_somebody_else_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let data = home.path().join("data");
        close(&data).unwrap();
        let state = data.join("gpud.state");
        fs::write(&state, "").unwrap();
        if chown(&state, Some(12345), None).is_err() {
            eprintln!("skipped the foreign owner: only root can give files away");
            return;
        }
        let refused = close(&data).unwrap_err().to_string();
        assert!(
            refused.contains("gpud.state belongs to user 12345"),
            "{refused}"
        );
        chown(&state, Some(0), None).unwrap();
        for part in [&data, home.path()] {
            chown(part, Some(12345), None).unwrap();
            let refused = close(&data).unwrap_err().to_string();
            assert!(refused.contains("chown root"), "{refused}");
            chown(part, Some(0), None).unwrap();
        }
        close(&data).unwrap();
    }

    #[test]
    fn commands_of_root_refuse_a_folder_of_somebody_else() {
        let home = tempfile::tempdir().unwrap();
        let data = home.path().join("data");
        check(&data).unwrap();
        fs::create_dir(&data).unwrap();
        fs::set_permissions(&data, Permissions::from_mode(0o755)).unwrap();
        check(&data).unwrap();
        if chown(&data, Some(12345), None).is_err() {
            eprintln!("skipped the foreign owner: only root can give folders away");
            return;
        }
        let refused = check(&data).unwrap_err().to_string();
        assert!(refused.contains("belongs to user 12345"), "{refused}");
        chown(&data, Some(0), None).unwrap();
        fs::set_permissions(&data, Permissions::from_mode(0o1777)).unwrap();
        check(&data).unwrap_err();
    }

    #[test]
    fn what_cannot_be_made_is_left_to_the_store() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("file"), "").unwrap();
        close(&home.path().join("file/data")).unwrap();
    }

    #[test]
    fn the_flag_then_root_then_home() {
        for (flag, shared, home, expected) in [
            (Some("/x"), true, Some("/root"), Some("/x")),
            (Some(""), true, Some("/root"), Some("/var/lib/gpud")),
            (None, true, None, Some("/var/lib/gpud")),
            (None, false, Some("/home/u"), Some("/home/u/.gpud")),
            (None, false, Some(""), None),
            (None, false, None, None),
        ] {
            let found = choose(flag.map(Into::into), shared, home.map(Into::into));
            assert_eq!(
                found,
                expected.map(PathBuf::from),
                "{flag:?} {shared} {home:?}"
            );
        }
    }
}
