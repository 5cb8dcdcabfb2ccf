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

#[cfg(test)]
mod tests;
