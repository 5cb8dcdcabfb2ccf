//! What root takes from the environment that it was started with, which can be another user's (`sudo -E`, `su`).

use std::{
    collections::BTreeSet,
    env,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use super::{
    Opener,
    walk::{Goal, walk},
};

/// Where temporary files go when `TMPDIR` is not good enough.
const TEMPORARY: &str = "/tmp";

/// Folders that the log has named.
static NAMED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// The folders of `path` that only root can put programs into. Each other one is named in the log, once. For other users it
/// is `path` as it is: what they run can do no more than they can.
pub fn search_path(path: &OsStr) -> OsString {
    let opener = Opener::of_command();
    if !opener.is_strict {
        return path.to_owned();
    }
    let folders: Vec<PathBuf> = env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .filter(|folder| match opener.check_folder(folder) {
            Ok(()) => true,
            // One that is missing can be made later, below a sticky folder by anybody.
            Err(error) => {
                let mut named = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
                if named.insert(folder.clone()) && !error.is_not_found() {
                    tracing::warn!("no program is run from {}: {error}", folder.display());
                }
                false
            }
        })
        .collect();
    // What was split at colons holds none.
    env::join_paths(folders).unwrap_or_default()
}

/// The folder for temporary files: that of `TMPDIR`, but for root only if nobody else can change what is put there, else
/// `/tmp`.
pub fn temporary_folder() -> PathBuf {
    let folder = env::temp_dir();
    match is_good(&folder, Opener::of_command()) {
        true => folder,
        false => PathBuf::from(TEMPORARY),
    }
}

pub(super) fn is_good(folder: &Path, opener: Opener) -> bool {
    !opener.is_strict || walk(folder, opener.rules, Goal::FOLDER).is_ok()
}
