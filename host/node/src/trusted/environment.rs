//! Limits what root takes from its environment, which can be another user's (`sudo -E`, `su`).

use std::{
    collections::BTreeSet,
    env,
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::{Component, Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use super::{
    Opener, TrustError,
    walk::{Goal, walk},
};

/// The folder of temporary files if `TMPDIR` is not trusted.
const TEMPORARY: &str = "/tmp";

/// Variables whose value loaders, shells and interpreters run as such, or expand before they use it, and those that make a
/// program start another one or write a file: ld.so(8), bash(1), node(1), java(1), less(1), curl(1).
const CODE: &[&str] = &[
    "BASHOPTS",
    // bash expands both, command substitutions included.
    "BASH_ENV",
    "BASH_XTRACEFD",
    "BROWSER",
    "CDPATH",
    "EDITOR",
    "ENV",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "LESSCLOSE",
    "LESSOPEN",
    "MANPAGER",
    "MEMUSAGE_OUTPUT",
    "NODE_OPTIONS",
    "PAGER",
    "PCPROFILE_OUTPUT",
    "PROMPT_COMMAND",
    "PS4",
    "SEGFAULT_OUTPUT_NAME",
    "SHELLOPTS",
    "SSLKEYLOGFILE",
    "VISUAL",
    "_JAVA_OPTIONS",
];
/// Beginnings of such names, except for names of [`PATHS`] and [`HARMLESS`]: git(1), python(1), perlrun(1), ruby(1), the
/// loader, the allocator, sanitizers, openssl(1), curl(1).
const CODE_BEGINNINGS: &[&str] = &[
    "ASAN_",
    "BASH_FUNC_",
    "CURL_",
    "GCOV_",
    "GIT_",
    "GLIBC_",
    "LD_",
    "LSAN_",
    "LUA_",
    "MALLOC_",
    "MSAN_",
    "OPENSSL_",
    "PERL",
    "PHP",
    "PYTHON",
    "RUBY",
    "TSAN_",
    "UBSAN_",
];
/// Names with such a beginning that images of containers set, and that change only how a program prints and reads text.
const HARMLESS: &[&str] = &[
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONHASHSEED",
    "PYTHONIOENCODING",
    "PYTHONUNBUFFERED",
    "PYTHONUTF8",
    "PYTHON_VERSION",
];

/// Variables that name files and folders from which these run or load something, or certificates that they trust.
const PATHS: &[&str] = &[
    "BASH_LOADABLES_PATH",
    "CLASSPATH",
    "CURL_CA_BUNDLE",
    "GCONV_PATH",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "HOME",
    "JAVA_HOME",
    "KUBECONFIG",
    "LD_AUDIT",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "LOCPATH",
    "NODE_PATH",
    "OPENSSL_CONF",
    "PERL5LIB",
    "PERLLIB",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PYTHONUSERBASE",
    "RUBYLIB",
    "TMPDIR",
    "XDG_CONFIG_DIRS",
    "XDG_CONFIG_HOME",
    "XDG_DATA_DIRS",
    "XDG_DATA_HOME",
    "ZDOTDIR",
];
/// In place of a `HOME` of somebody else, as for programs of plugins.
const NO_HOME: &str = "/";
/// The variables that name trusted certificates: a file, and folders.
const CERTIFICATE_FILE: &str = "SSL_CERT_FILE";
const CERTIFICATE_FOLDERS: &str = "SSL_CERT_DIR";

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

/// The folder for temporary files: that of `TMPDIR`, but for root only if nobody else can change what is put there, else
/// `/tmp`.
pub fn temporary_folder() -> PathBuf {
    let folder = env::temp_dir();
    match is_good(&folder, Opener::of_command()) {
        true => folder,
        false => PathBuf::from(TEMPORARY),
    }
}

/// What scripts that root runs do not inherit as it is from this process's environment: variables by which somebody else
/// could have their own code run. `None` is a variable that they do not get. Each is named in the log, once.
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
    for (name, _) in &changes {
        if named.insert(PathBuf::from(name)) {
            tracing::warn!(
                "scripts do not get the variable {} as it is: others can change what it names, or it is code itself",
                name.display()
            );
        }
    }
    changes
}

/// The change to a variable: `None` if there is none, `Some(None)` if it is left out.
pub(super) fn change(name: &OsStr, value: &OsStr, opener: Opener) -> Option<Option<OsString>> {
    let text = name.to_string_lossy();
    let is_path = PATHS.contains(&&*text);
    let begins_so = CODE_BEGINNINGS.iter().any(|part| text.starts_with(part));
    if CODE.contains(&&*text) || (begins_so && !is_path && !HARMLESS.contains(&&*text)) {
        return Some(None);
    }
    if !is_path || value.is_empty() {
        return None;
    }
    if text == "TMPDIR" {
        let is_good = walk(Path::new(value), opener.rules, Goal::FOLDER).is_ok();
        return (!is_good).then_some(None);
    }
    // The loader splits `LD_PRELOAD` at blanks as well.
    let is_separator = |byte: &u8| *byte == b':' || (*byte == b' ' && text == "LD_PRELOAD");
    let parts: Vec<&OsStr> = value
        .as_bytes()
        .split(is_separator)
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

/// Whether nobody else can put code where this path leads, now or later. The empty path is the working folder. Programs that
/// clean a path as text go up from a folder that does not exist, where the kernel does not.
fn is_safe(path: &Path, opener: Opener) -> bool {
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
    !opener.is_strict || walk(folder, opener.rules, Goal::FOLDER).is_ok()
}
