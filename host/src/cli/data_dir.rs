//! Which folder holds the state file when several could, and how the daemon closes it to others.

use std::{
    env,
    path::{Path, PathBuf},
};

use crate::{
    node::{
        system::euid,
        trusted::{self, ClosedEntry, Opener, OwnFolder, TrustError},
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
/// Somebody else could change it, or owns a file in it that gpud is about to use; or a token that others could have written
/// cannot be removed.
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
    let token = files.iter().find(|entry| entry.name == TOKEN_FILE);
    if token.is_some_and(ClosedEntry::could_be_changed) {
        let file = own.path().join(TOKEN_FILE);
        // Nobody is to get in with a token that may be theirs.
        std::fs::remove_file(&file).map_err(|source| TrustError::Io {
            path: file.clone(),
            source,
        })?;
        tracing::warn!(
            file = %file.display(),
            "other users could have written the token: it is removed, and a new one is made where one is needed"
        );
    }
    if own.was_open().is_some() || !files.is_empty() {
        let files: Vec<&str> = files.iter().map(|entry| entry.name.as_str()).collect();
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
mod tests;
