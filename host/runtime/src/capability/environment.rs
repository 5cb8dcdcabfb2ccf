//! The names of environment variables that a grant may list, and those that it may never list.
//!
//! A loader, a shell and an interpreter run code that a variable names, so a guest that sets one of theirs needs no
//! other grant. The lists hold what the manual pages of these programs say: ld.so(8), bash(1), perlrun(1), python(1),
//! ruby(1), node(1), java(1), git(1), and others of their kind.

/// Names that are refused as they are.
const REFUSED: &[&str] = &[
    // Shells: what they run before a script, how they split words, where they look for programs.
    "BASHOPTS",
    "BASH_ENV",
    "BASH_LOADABLES_PATH",
    "BASH_XTRACEFD",
    "CDPATH",
    "ENV",
    "FPATH",
    "GLOBIGNORE",
    "HOME",
    "IFS",
    "KSH_VERSION",
    "PATH",
    "PROMPT_COMMAND",
    "PS0",
    "PS1",
    "PS2",
    "PS4",
    "SHELL",
    "SHELLOPTS",
    "TMP",
    "TEMP",
    "TMPDIR",
    "USERPROFILE",
    "XDG_CONFIG_HOME",
    "XDG_CONFIG_DIRS",
    "XDG_DATA_HOME",
    "XDG_DATA_DIRS",
    "ZDOTDIR",
    // Programs that other programs start.
    "BROWSER",
    "EDITOR",
    "LESSOPEN",
    "LESSCLOSE",
    "LESSKEY",
    "MANPAGER",
    "PAGER",
    "SYSTEMD_EDITOR",
    "VISUAL",
    // The C library: modules and files that it loads.
    "GCONV_PATH",
    "LOCPATH",
    "NLSPATH",
    "TZDIR",
    "HOSTALIASES",
    "LOCALDOMAIN",
];

/// Beginnings of names that are refused.
const REFUSED_BEGINNINGS: &[&str] = &[
    // The loader and the allocator.
    "LD_",
    "DYLD_",
    "GLIBC_",
    "MALLOC_",
    "RESOLV_",
    "RES_",
    "ASAN_",
    "LSAN_",
    "MSAN_",
    "TSAN_",
    "UBSAN_",
    "GCOV_",
    "LLVM_",
    // Shells.
    "BASH_FUNC_",
    "ZSH_",
    "FISH_",
    // Interpreters.
    "PYTHON",
    "PERL",
    "RUBY",
    "GEM_",
    "BUNDLE_",
    "NODE_",
    "NPM_",
    "JAVA_",
    "_JAVA_",
    "JDK_",
    "CLASSPATH",
    "LUA_",
    "PHP",
    "TCL",
    "GUILE_",
    "GODEBUG",
    "GOTRACEBACK",
    "DOTNET_",
    "COMPLUS_",
    "R_",
    "AWK",
    // Programs that run others, or load modules and configuration by name.
    "GIT_",
    "SSH_",
    "OPENSSL_",
    "SYSTEMD_PAGER",
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
    REFUSED.contains(&name)
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
        for name in ["", "1A", "A B", "A=B", "BASH_FUNC_x%%", "A\0", "ä"] {
            let problem = check_name(name).unwrap_err();
            assert!(problem.contains("is not the name"), "{name:?}: {problem}");
        }
        for name in ["folder", "GPU", "ACME_PORT", "LC_TIME", "TZ", "COLUMNS"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
    }
}
