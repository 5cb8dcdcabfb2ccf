//! Which folder holds the state file when several could, and how the daemon closes it to others.

use std::{
    env,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use crate::{
    daemon::CACHE_FOLDER,
    exports::SPOOL_FOLDER,
    node::{
        system::euid,
        trusted::{self, ClosedEntries, FoundFolder, Opener, TrustError},
    },
    pack::PACKS_FOLDER,
    plugins::VERSIONS_FOLDER,
    server::TOKEN_FILE,
    store::{FolderLock, STATE_FILE, StoreError},
};

const SHARED: &str = "/var/lib";
/// The folder of a daemon that root runs.
pub const SHARED_DATA_DIR: &str = "/var/lib/gpud";

/// Longest that closing the folder may take: one with 150,000 files that are set aside takes 4 s.
const LONGEST: Duration = Duration::from_secs(60);

/// What the daemon uses in it beside `gpud.*`.
const USED: [&str; 5] = [
    TOKEN_FILE,
    PACKS_FOLDER,
    CACHE_FOLDER,
    VERSIONS_FOLDER,
    SPOOL_FOLDER,
];

/// Why the daemon does not start with a data folder.
#[derive(Debug, thiserror::Error)]
pub enum CloseError {
    /// Another user could change it, or what others could have changed cannot be set aside.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// Another gpud uses it.
    #[error(transparent)]
    Used(#[from] StoreError),
    /// A command of root's is about to use it, and others can change it.
    #[error(
        "other users can change the data folder {}: start gpud, which closes it and sets aside what is in it, or move it away",
        .0.display()
    )]
    Open(PathBuf),
    /// The system does not answer, or another user's process holds the folder.
    #[error(
        "the data folder {} does not answer within {} s: a process that has it open can hold it (`fuser -v` names them), and so can what \
         is mounted there; end that process, or move the folder away and start again",
        .0.display(), LONGEST.as_secs()
    )]
    Hangs(PathBuf),
    /// Another folder has its path.
    #[error("{} is not the folder that was closed: unmount what is mounted there", .0.display())]
    Replaced(PathBuf),
}

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

/// [`close`] in a thread of its own, which is given up after [`LONGEST`]: who lists a folder into memory that his own file system
/// serves holds the kernel's lock of it, and what is mounted on it may never answer. A folder that was open to others is moved
/// away then, and gpud begins with an empty one.
///
/// # Errors
/// As [`close`]; [`CloseError::Hangs`].
pub async fn close_in_time(folder: &Path) -> Result<(), CloseError> {
    let given_up = Arc::new(AtomicBool::new(false));
    let (closing, ends) = (folder.to_owned(), Arc::clone(&given_up));
    if let Some(closed) = in_time(move || close_unless(&closing, &ends)).await {
        return closed;
    }
    given_up.store(true, Ordering::Release);
    let held = folder.to_owned();
    let move_away = move || {
        let found = FoundFolder::find(&held).ok()?;
        let moved = found.may_be_held().then(|| found.move_away().ok())??;
        Some((moved, close(&held)))
    };
    let Some(Some((moved, closed))) = in_time(move_away).await else {
        return Err(CloseError::Hangs(folder.to_owned()));
    };
    tracing::error!(
        moved = %moved.display(),
        "the data folder was open to other users, and a process holds it (`fuser -v` names those that have it open): it is moved \
         away, and gpud begins without what is in there"
    );
    closed
}

/// What the work returns; `None` if it takes longer than [`LONGEST`]. It then goes on in its thread.
async fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (says, said) = tokio::sync::oneshot::channel();
    thread::spawn(move || says.send(work()));
    tokio::time::timeout(LONGEST, said).await.ok()?.ok()
}

/// Closes the data folder to everybody but gpud's user, makes it if it is missing, and says in the log what was open. A user who
/// can read it knows everything that gpud knows, and one who can open a file in it can hold a lock that gpud needs. What others
/// could have changed is set aside.
///
/// A folder that cannot be made or read is no error here: the daemon then runs from memory. Nothing is done while another gpud
/// uses the folder.
///
/// # Errors
/// Somebody else could change it, or could have changed something in it that cannot be set aside; or another gpud uses it.
fn close(folder: &Path) -> Result<(), CloseError> {
    close_unless(folder, &AtomicBool::new(false))
}

/// The same, which stops once it is given up: another folder is in use then.
fn close_unless(folder: &Path, given_up: &AtomicBool) -> Result<(), CloseError> {
    let found = match FoundFolder::find(folder) {
        Err(problem) => return refused_or_said(problem),
        Ok(found) => found,
    };
    FolderLock::check_unused(found.path())?;
    if let Err(problem) = found.take_in() {
        tracing::error!("files of the data folder are still where they were moved to: {problem}");
    }
    let closed = found.close();
    if given_up.load(Ordering::Acquire) {
        return Err(CloseError::Hangs(folder.to_owned()));
    }
    let closed = closed.and_then(|own| {
        let was_open = own.was_open().is_some() || own.set_aside().is_some();
        let own = if was_open { own.renewed() } else { own };
        let entries = trusted::close_entries(&own, group, is_renewed)?;
        Ok((own, entries))
    });
    let (own, entries) = match closed {
        Err(problem) => return refused_or_said(problem),
        Ok(closed) => closed,
    };
    let ClosedEntries {
        closed,
        removed,
        set_aside,
    } = entries;
    if !own.is_at_path() {
        return Err(CloseError::Replaced(own.path().to_owned()));
    }
    if let Some(moved) = set_aside {
        tracing::error!(
            set_aside = %moved.folder.display(),
            count = moved.count,
            names = ?moved.names,
            "other users could have changed files in the data folder: they may be theirs and are set aside"
        );
    }
    // What was set aside is said already.
    let is_empty = own.set_aside().is_some();
    if !is_empty && (own.was_open().is_some() || !closed.is_empty() || !removed.is_empty()) {
        let mode = own.was_open().map(|mode| format!("{mode:03o}"));
        tracing::warn!(
            folder = %own.path().display(),
            mode,
            files = ?closed,
            ?removed,
            "the data folder was open to other users and is closed now; a process that has a file of it open keeps it open"
        );
    }
    Ok(())
}

/// A refusal is an error; an answer of the system's is said in the log.
fn refused_or_said(problem: TrustError) -> Result<(), CloseError> {
    if problem.is_refusal() {
        return Err(problem.into());
    }
    tracing::warn!("the data folder cannot be closed to others: {problem}");
    Ok(())
}

/// Checks a folder in which a command is about to open the state file. SQLite follows a link in the place of that file, and
/// makes, changes and removes others beside it: in a folder of another user, root would do so wherever that user likes.
///
/// A folder that is missing or cannot be looked at is no error here: opening the file says so.
///
/// # Errors
/// The command is root's, and another user could change the folder.
pub fn check(folder: &Path) -> Result<(), CloseError> {
    match Opener::of_command().check_folder(folder) {
        Err(open) if open.is_of_open_folder(folder) => Err(CloseError::Open(folder.to_owned())),
        Err(refused) if refused.is_refusal() => Err(refused.into()),
        _ => Ok(()),
    }
}

/// The entries of the data folder that the daemon itself uses, each with what it belongs to: the database is several files.
fn group(name: &str) -> Option<String> {
    if name.starts_with(STATE_FILE) {
        return Some(STATE_FILE.to_owned());
    }
    let is_ours = name.starts_with("gpud.") || USED.contains(&name);
    is_ours.then(|| name.to_owned())
}

/// Whether a file that others could read is removed, and made again where it is needed. They may know the token; and who has a lock
/// open can stop gpud, or end it where SQLite maps its shared memory. Nothing that lasts is in them.
fn is_renewed(name: &str) -> bool {
    name == TOKEN_FILE || name.ends_with(".lock") || name.strip_prefix(STATE_FILE) == Some("-shm")
}

#[cfg(test)]
mod tests;
