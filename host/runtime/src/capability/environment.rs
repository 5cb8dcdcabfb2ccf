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
mod tests {
    use super::*;

    #[test]
    fn names_of_loaders_shells_and_interpreters_are_refused() {
        for name in [
            "LD_PRELOAD",
            "LD_AUDIT",
            "LD_DEBUG_OUTPUT",
            "DYLD_INSERT_LIBRARIES",
            "GLIBC_TUNABLES",
            "GCONV_PATH",
            "BASH_ENV",
            "BASH_FUNC_ls",
            "ENV",
            "SHELLOPTS",
            "BASHOPTS",
            "PS4",
            "IFS",
            "PATH",
            "HOME",
            "TMPDIR",
            "PYTHONPATH",
            "PYTHONSTARTUP",
            "PERL5OPT",
            "PERL5LIB",
            "RUBYOPT",
            "NODE_OPTIONS",
            "JAVA_TOOL_OPTIONS",
            "_JAVA_OPTIONS",
            "JDK_JAVA_OPTIONS",
            "GIT_SSH_COMMAND",
            "LUA_INIT",
            "PHPRC",
            "PHP_INI_SCAN_DIR",
            "GODEBUG",
            "OPENSSL_CONF",
        ] {
            let problem = check_name(name).unwrap_err();
            assert!(
                problem.contains("no grant may list it"),
                "{name}: {problem}"
            );
        }
        for names in [
            variables::CODE,
            variables::CODE_BEGINNINGS,
            variables::PATHS,
            variables::LIBRARIES,
            variables::ADDRESSES,
        ] {
            for name in names {
                assert!(check_name(name).is_err(), "{name}");
            }
        }
        for name in ["NCCL_DEBUG", "UCX_TLS", "CUDA_VISIBLE_DEVICES"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        for name in ["", "1A", "A B", "A=B", "BASH_FUNC_x%%", "A\0", "ä"] {
            let problem = check_name(name).unwrap_err();
            assert!(problem.contains("is not the name"), "{name:?}: {problem}");
        }
        for name in ["folder", "GPU", "ACME_PORT", "LC_TIME", "TZ", "COLUMNS"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
    }
}
