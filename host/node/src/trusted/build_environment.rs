//! The environment of the commands of a build that root runs.
//!
//! It can be another user's (`sudo -E`, `su`), and nothing says whose it is. So a build gets the variables of two short lists
//! ([`variables::BUILD_WORDS`], [`variables::BUILD_PATHS`]) and those that the person at the command line names.

use std::{
    env,
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use super::{Opener, environment};
use crate::{process, users, variables};

/// Root's home where the list of users has none.
const HOME: &str = "/root";
const TEMPORARY_FOLDER: &str = "TMPDIR";
/// The characters that a plain word may have besides letters and digits.
const MARKS: &[u8] = b"_.-@+,";

/// The environment of a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildEnvironment {
    /// All variables.
    pub variables: Vec<(OsString, OsString)>,
    /// Names of variables of toolchains that are not among them as they were, in the order of the alphabet.
    pub left_out: Vec<String>,
}

/// Returns the environment of a build that root runs; `None` for other users, whose environment is their own.
///
/// `named`: variables that are passed as they are, since somebody said so. Blocks.
pub fn build_environment(named: &[String]) -> Option<BuildEnvironment> {
    let opener = Opener::of_command();
    if !opener.is_strict {
        return None;
    }
    let mut environment = select(env::vars_os(), named, opener);
    let has = |environment: &BuildEnvironment, name: &str| {
        environment.variables.iter().any(|(known, _)| known == name)
    };
    if !has(&environment, "HOME") {
        let home = users::home_of(0).unwrap_or_else(|| PathBuf::from(HOME));
        environment.variables.push(("HOME".into(), home.into()));
    }
    if !has(&environment, "PATH") {
        let path = process::search_path();
        environment.variables.push(("PATH".into(), path));
    }
    Some(environment)
}

/// Returns what is passed on of an environment.
fn select(
    variables: impl Iterator<Item = (OsString, OsString)>,
    named: &[String],
    opener: Opener,
) -> BuildEnvironment {
    let is_passed = |name: &OsStr, value: &OsStr| {
        named.iter().any(|known| name == known.as_str()) || is_good(name, value, opener)
    };
    let (variables, left_out): (Vec<_>, Vec<_>) =
        variables.partition(|(name, value)| is_passed(name, value));
    let names = left_out.iter().filter_map(|(name, _)| name.to_str());
    let mut left_out: Vec<String> = names
        .filter(|name| variables::is_for_builds(name))
        .map(str::to_owned)
        .collect();
    left_out.sort_unstable();
    BuildEnvironment {
        variables,
        left_out,
    }
}

/// Whether a variable is of the lists, and nobody else decides by its value what runs.
fn is_good(name: &OsStr, value: &OsStr, opener: Opener) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    if name == TEMPORARY_FOLDER {
        return Path::new(value).is_absolute() && environment::is_good(Path::new(value), opener);
    }
    if variables::BUILD_WORDS.contains(&name) {
        let fits = |byte: &u8| byte.is_ascii_alphanumeric() || MARKS.contains(byte);
        return value.as_bytes().iter().all(fits);
    }
    variables::BUILD_PATHS.contains(&name)
        && env::split_paths(value).all(|path| environment::is_safe(&path, opener))
}

#[cfg(test)]
mod tests;
