//! The names of environment variables that a grant may list, and those that it may never list.
//!
//! A loader, a shell and an interpreter run code that a variable names, so a guest that sets one of theirs needs no
//! other grant. Most names are in the table that root's scripts are judged by as well ([`variables`]); the lists here hold
//! what only a guest may not set.

use gpud_node::variables;

/// Names that are refused as they are, besides those of gpud's table.
const REFUSED: &[&str] = &[
    // Shells: what they run before a script, how they split words, where they look for programs.
    "FPATH",
    "GLOBIGNORE",
    "IFS",
    "KSH_VERSION",
    "PATH",
    "PS0",
    "PS1",
    "PS2",
    "SHELL",
    "TMP",
    "TEMP",
    "USERPROFILE",
    // Programs that other programs start.
    "LESSKEY",
    // The C library: modules and files that it loads.
    "NLSPATH",
    "TZDIR",
    "HOSTALIASES",
    "LOCALDOMAIN",
];

/// Beginnings of names that are refused, besides those of gpud's table.
const REFUSED_BEGINNINGS: &[&str] = &[
    // The loader and the allocator.
    "DYLD_",
    "RESOLV_",
    "RES_",
    "LLVM_",
    // Shells.
    "ZSH_",
    "FISH_",
    // Interpreters.
    "NODE_",
    "NPM_",
    "JAVA_",
    "_JAVA_",
    "JDK_",
    "TCL",
    "GUILE_",
    "GODEBUG",
    "GOTRACEBACK",
    "R_",
    "AWK",
    // Programs that run others, or load modules and configuration by name.
    "SSH_",
    "GTK_",
];

/// Words in names of variables by which programs load libraries or start other programs: `XTABLES_LIBDIR`, `LIBSMB_PROG`,
/// `LIBVIRT_DRIVER_DIR`. No list of these names is complete.
const CODE_WORDS: &[&str] = &[
    "ARGS",
    "CMD",
    "COMMAND",
    "DRIVER",
    "DRIVERS",
    "EDITOR",
    "ENG",
    "ENGINE",
    "ENGINES",
    "EPILOG",
    "EXEC",
    "HOOK",
    "HOOKS",
    "INJECTION",
    "LIB",
    "LIBDIR",
    "LIBRARIES",
    "LIBRARY",
    "LIBS",
    "LOADER",
    "MODULE",
    "MODULES",
    "PAGER",
    "PLUGIN",
    "PLUGINS",
    "PRELOAD",
    "PROG",
    "PROGRAM",
    "PROLOG",
    "RSH",
    "SSH",
];

/// Ends of names of variables that hold programs, folders, options and settings of programs: `NMAPDIR`, `KRB5_CONFIG`,
/// `SSL_CERT_FILE`, `ZIPOPT`.
const ENDS: &[&str] = &[
    "ARGS", "CFG", "COMMAND", "CONF", "CONFIG", "DIR", "DIRS", "EDIT", "EDITOR", "FILE", "FLAGS",
    "HOME", "INI", "INIT", "LIB", "OPT", "OPTIONS", "OPTS", "PAGER", "PATH", "PATHS", "PROG", "RC",
    "ROOT", "RSH",
];

/// Checks a name of a grant's `env`.
///
/// # Errors
/// In words: it is not a variable's name, or one that no grant may list.
pub fn check_name(name: &str) -> Result<(), String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let begins_with_digit = name.bytes().next().is_none_or(|byte| byte.is_ascii_digit());
    if begins_with_digit || name.len() > MAX_NAME || !name.bytes().all(plain) {
        return Err(format!(
            "env: {name:?} is not the name of an environment variable (letters, digits and `_`, no digit first)"
        ));
    }
    if is_refused(name) {
        return Err(format!(
            "env: `{name}` decides what a loader, a shell or an interpreter runs; no grant may list it"
        ));
    }
    Ok(())
}

/// Checks a name of a grant that lists programs. Programs, unlike scripts, do with a variable what their makers thought of.
///
/// # Errors
/// Those of [`check_name`], and a name that says that programs find code or settings by it.
pub fn check_name_for_programs(name: &str) -> Result<(), String> {
    check_name(name)?;
    match telling_part(name) {
        None => Ok(()),
        Some(part) => Err(format!(
            "env: `{name}` may name what a program loads or runs (`{part}`); no grant of programs may list it; list the value among the program's arguments"
        )),
    }
}

/// Longest name, bytes.
const MAX_NAME: usize = 128;

/// Whether no guest may set this variable.
pub fn is_refused(name: &str) -> bool {
    variables::decides_what_runs(name)
        || REFUSED.contains(&name)
        || REFUSED_BEGINNINGS
            .iter()
            .any(|beginning| name.starts_with(beginning))
}

/// The part of a name that says that programs find code or settings by this variable.
fn telling_part(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_uppercase();
    let word = |part: &&&str| name.split('_').any(|word| word == **part);
    let end = |part: &&&str| name.ends_with(**part);
    let code = CODE_WORDS.iter().find(word);
    code.or_else(|| ENDS.iter().find(end)).copied()
}

#[cfg(test)]
mod tests;
