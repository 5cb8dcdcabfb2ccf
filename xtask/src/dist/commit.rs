//! The commit that a release is made from: out of git, or out of the archive of sources that git made.

use std::{env, path::Path, process::Command};

use anyhow::{Context, Result, bail};

/// Filled in by `git archive`: the commit and its time.
const ARCHIVED: &str = include_str!("commit.txt");

/// A commit.
#[derive(Debug, PartialEq, Eq)]
pub struct Commit {
    /// Its name, 40 digits.
    pub name: String,
    /// Its time, in seconds since 1970.
    pub time: u64,
}

impl Commit {
    /// Returns the first digits of its name, as people write it.
    pub fn short(&self) -> &str {
        self.name.get(..12).unwrap_or(&self.name)
    }
}

/// Finds the commit. `SOURCE_DATE_EPOCH` and `GPUD_COMMIT` say otherwise.
///
/// # Errors
/// There is neither git nor a filled-in file, and not both variables are set.
pub fn of(workspace: &Path) -> Result<Commit> {
    let found = parse(ARCHIVED).or_else(|| from_git(workspace));
    let name = env::var("GPUD_COMMIT").ok();
    let name = name.or_else(|| found.as_ref().map(|commit| commit.name.clone()));
    let time = match env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => Some(
            text.parse()
                .with_context(|| format!("SOURCE_DATE_EPOCH is no number: {text}"))?,
        ),
        Err(_) => found.as_ref().map(|commit| commit.time),
    };
    match (name, time) {
        (name, Some(time)) => Ok(Commit {
            name: name.unwrap_or_default(),
            time,
        }),
        (_, None) => bail!(
            "the commit and its time are not known here: set SOURCE_DATE_EPOCH and GPUD_COMMIT"
        ),
    }
}

fn from_git(workspace: &Path) -> Option<Commit> {
    let output = Command::new("git")
        .args(["log", "-1", "--format=%H %ct"])
        .current_dir(workspace)
        .output()
        .ok()?;
    parse(&String::from_utf8_lossy(&output.stdout))
}

/// Reads a name and a time.
fn parse(text: &str) -> Option<Commit> {
    let (name, time) = text.trim().split_once(' ')?;
    let is_name = name.len() >= 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    Some(Commit {
        name: is_name.then(|| name.to_owned())?,
        time: time.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_git_has_not_filled_in_says_nothing() {
        assert_eq!(parse("$Format:%H %ct$\n"), None);
        assert_eq!(parse(""), None);
        assert_eq!(parse("0123 1700000000"), None);
        let name = "0123456789abcdef0123456789abcdef01234567";
        let commit = parse(&format!("{name} 1700000000\n")).unwrap();
        assert_eq!(
            (commit.short(), commit.time),
            ("0123456789ab", 1_700_000_000)
        );
        assert_eq!(commit.name, name);
    }
}
