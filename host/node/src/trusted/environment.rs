//! Limits what root takes from its environment, which can be another user's (`sudo -E`, `su`).

use std::{
    collections::BTreeSet,
    env,
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::{Component, Path, PathBuf},
    process,
    sync::{Mutex, OnceLock, PoisonError},
};

use rustix::fs::FileType;

use super::{
    Opener, TrustError,
    walk::{WalkEnd, WalkGoal, walk},
};
use crate::variables;

/// The folder of temporary files if `TMPDIR` is not trusted.
const TEMPORARY: &str = "/tmp";

/// Variables that name a folder of temporary files, which may be one that everybody writes to.
const TEMPORARY_NAMES: [&str; 3] = ["TMPDIR", "TMP", "TEMP"];
/// Variables of shells and of sudo that no program needs, which often name a folder of the user. The log does not name them.
const UNNAMED: [&str; 6] = ["MAIL", "OLDPWD", "PWD", "SUDO_COMMAND", "SUDO_HOME", "_"];
/// Beginnings of addresses of Unix sockets.
const SOCKETS: [&[u8]; 3] = [b"/", b"unix:/", b"unix:path=/"];
/// Most paths of one variable that are judged. One with more is left out.
const MAX_JUDGED: usize = 256;
/// Most names in one line of the log.
const MAX_NAMES: usize = 40;
/// In place of a `HOME` of another user, as for programs of plugins.
const NO_HOME: &str = "/";
/// The variables that name trusted certificates: a file, and folders.
const CERTIFICATE_FILE: &str = "SSL_CERT_FILE";
const CERTIFICATE_FOLDERS: &str = "SSL_CERT_DIR";

/// Whether init started this process.
static IS_STARTED_BY_INIT: OnceLock<bool> = OnceLock::new();

/// Notes who started this process: init, as a service manager or in a container, has the operator's environment. To be
/// called first, since init also takes the place of a parent that has ended.
pub fn note_parent() {
    let is_init = |id: u32| id == 1;
    let _ = IS_STARTED_BY_INIT
        .set(is_init(process::id()) || is_init(std::os::unix::process::parent_id()));
}

/// Folders and variables that the log has named.
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

/// The folder for temporary files: that of `TMPDIR`, but for root only if no other user can change what is put there, else
/// `/tmp`.
pub fn temporary_folder() -> PathBuf {
    let folder = env::temp_dir();
    match is_good(&folder, Opener::of_command()) {
        true => folder,
        false => PathBuf::from(TEMPORARY),
    }
}

/// Returns the variables that scripts of root do not inherit unchanged from this process's environment: those with
/// which another user could have code run, and those with a path that others can change. `None` is a variable that is
/// removed. The log names each once, all new ones in one line.
pub fn inherited() -> Vec<(OsString, Option<OsString>)> {
    let opener = Opener::of_command();
    if !opener.is_strict {
        return Vec::new();
    }
    let changes: Vec<_> = env::vars_os()
        .filter_map(|(name, value)| Some((change(&name, &value, opener)?, name)))
        .map(|(value, name)| (name, value))
        .collect();
    let mut named = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
    let names: Vec<String> = changes
        .iter()
        .map(|(name, _)| name)
        .filter(|name| name.to_str().is_none_or(|name| !UNNAMED.contains(&name)))
        .filter(|name| named.insert(PathBuf::from(name)))
        .map(|name| name.to_string_lossy().escape_debug().to_string())
        .collect();
    drop(named);
    if !names.is_empty() {
        // For the daemon's log: a person who calls a command as root did not ask for it.
        tracing::info!("{}", left_out(&names));
    }
    changes
}

/// Returns the one line that names variables which scripts do not get as they are.
pub(super) fn left_out(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(MAX_NAMES).map(String::as_str).collect();
    let more = match names.len().saturating_sub(MAX_NAMES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "scripts do not get these variables as they are, since others can change what they name, or they are code: {}{more}",
        shown.join(", ")
    )
}

/// The change to a variable: `None` if there is none, `Some(None)` if it is left out.
pub(super) fn change(name: &OsStr, value: &OsStr, opener: Opener) -> Option<Option<OsString>> {
    let text = name.to_string_lossy();
    let is_from_operator = IS_STARTED_BY_INIT.get().copied().unwrap_or_default();
    if variables::is_code(&text) || (variables::is_proxy(&text) && !is_from_operator) {
        return Some(None);
    }
    // `PATH` has a rule of its own: see `search_path`.
    if value.is_empty() || text == "PATH" {
        return None;
    }
    if TEMPORARY_NAMES.contains(&&*text) {
        let is_good = walk(Path::new(value), opener.rules, WalkGoal::FOLDER).is_ok();
        return (!is_good).then_some(None);
    }
    if !variables::PATHS.contains(&&*text) {
        let bytes = value.as_bytes();
        let is_good = match &*text {
            name if variables::ADDRESSES.contains(&name) => is_socket_address(bytes),
            name if variables::LIBRARIES.contains(&name) => !has_relative_path(bytes),
            _ => true,
        };
        let is_kept = is_good && are_paths_trusted(bytes, opener);
        return (!is_kept).then_some(None);
    }
    // The loader splits `LD_PRELOAD` at blanks as well.
    let ends_part = |byte: &u8| *byte == b':' || (*byte == b' ' && text == "LD_PRELOAD");
    let parts: Vec<&OsStr> = value
        .as_bytes()
        .split(ends_part)
        .map(OsStr::from_bytes)
        .collect();
    let safe = parts.iter().filter(|part| is_safe(Path::new(part), opener));
    let safe: Vec<&[u8]> = safe.map(|part| part.as_bytes()).collect();
    if safe.len() == parts.len() {
        return None;
    }
    Some(match (safe.is_empty(), &*text) {
        (true, "HOME") => Some(NO_HOME.into()),
        (true, _) => None,
        (false, _) => Some(OsString::from_vec(safe.join(&b':'))),
    })
}

/// Whether an address is that of one Unix socket with an absolute path.
fn is_socket_address(value: &[u8]) -> bool {
    SOCKETS.iter().any(|socket| value.starts_with(socket)) && !value.contains(&b';')
}

/// Whether a list of libraries has one with a path that begins at the working folder.
fn has_relative_path(value: &[u8]) -> bool {
    let mut parts = value.split(|byte| is_separator(*byte));
    parts.any(|part| part.contains(&b'/') && !part.starts_with(b"/"))
}

/// Whether no other user can change what the paths in a value lead to.
fn are_paths_trusted(value: &[u8], opener: Opener) -> bool {
    let mut paths = paths_in(value);
    let are_good = paths
        .by_ref()
        .take(MAX_JUDGED)
        .all(|path| is_trusted(path, opener));
    are_good && paths.next().is_none()
}

/// Whether no other user can change what a path leads to, a device or a socket included.
pub(super) fn is_trusted(path: &Path, opener: Opener) -> bool {
    is_safe(path, opener) || is_device_or_socket(path, opener)
}

/// Whether the log has not named a folder or a variable yet.
pub(super) fn is_first(named: PathBuf) -> bool {
    let mut known = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
    known.insert(named)
}

/// Returns the absolute paths of a value: as a whole, in a list, in options, and in addresses such as `unix:///run/x`.
fn paths_in(value: &[u8]) -> impl Iterator<Item = &Path> {
    value.split(|byte| is_separator(*byte)).filter_map(|part| {
        let begin = match *part.first()? {
            // As in `-I/folder`.
            b'-' => part.iter().position(|byte| *byte == b'/')?,
            _ => part.iter().position(|byte| !QUOTES.contains(byte))?,
        };
        let path = part.get(begin..).filter(|path| path.starts_with(b"/"))?;
        // An address of a file may name this machine before the path.
        let of_this_machine = path.strip_prefix(b"//localhost");
        let path = of_this_machine
            .filter(|rest| rest.starts_with(b"/"))
            .unwrap_or(path);
        Some(Path::new(OsStr::from_bytes(path)))
    })
}

fn is_separator(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b":=,;".contains(&byte)
}

/// The characters that may precede a path.
const QUOTES: &[u8] = b"\"'`([{<>|&@!+";

/// Whether a path leads to a device, a socket or a pipe of root or of this process's user. Everybody may write to many of
/// these, such as `/dev/null`.
fn is_device_or_socket(path: &Path, opener: Opener) -> bool {
    let facts = match walk(path, opener.rules, WalkGoal::FILE) {
        Ok(WalkEnd::Entry(entry)) => entry.facts,
        Ok(WalkEnd::Folder { .. }) | Err(_) => None,
    };
    facts.is_some_and(|facts| {
        FileType::from_raw_mode(facts.st_mode) != FileType::RegularFile
            && opener.rules.judge_owner(path, path, &facts).is_ok()
    })
}

/// Whether no other user can put code where this path leads, now or later. The empty path is the working folder. Programs that
/// clean a path as text go up from a folder that does not exist, where the kernel does not.
pub(super) fn is_safe(path: &Path, opener: Opener) -> bool {
    if !path.is_absolute() || path.components().any(|part| part == Component::ParentDir) {
        return false;
    }
    for part in path.ancestors() {
        match opener.check_folder(part) {
            Ok(()) => return true,
            // A folder further up decides who can make it later.
            Err(error) if error.is_not_found() => {}
            Err(_) => return part == path && opener.check_program(path).is_ok(),
        }
    }
    false
}

/// Checks the certificates that the environment names: a user who can choose them can read what is sent to a registry.
///
/// # Errors
/// [`TrustError`], for root only.
pub fn check_certificates() -> Result<(), TrustError> {
    let opener = Opener::of_command();
    if !opener.is_strict {
        return Ok(());
    }
    let is_named = |path: &PathBuf| !path.as_os_str().is_empty();
    let file = env::var_os(CERTIFICATE_FILE).map(PathBuf::from);
    let file = file.filter(is_named);
    let file = file.map(|file| opener.open(&file).map(drop));
    let folders = env::var_os(CERTIFICATE_FOLDERS).unwrap_or_default();
    let folders = env::split_paths(&folders).filter(is_named);
    let folders = folders.map(|folder| opener.check_folder(&folder));
    let mut checked = file.into_iter().chain(folders);
    // What is missing holds none.
    let refused = checked.find(|checked| matches!(checked, Err(error) if !error.is_not_found()));
    refused.unwrap_or(Ok(()))
}

pub(super) fn is_good(folder: &Path, opener: Opener) -> bool {
    !opener.is_strict || walk(folder, opener.rules, WalkGoal::FOLDER).is_ok()
}
