//! The project of a plugin that root is about to build: build tools run what its files say, and what they find in the
//! folders above it.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

use super::{Opener, Refusal, TrustError, TrustProblem, parent_folders, tree};
use crate::users;

/// Most files and folders of a project that are looked at.
const MAX_FILES: usize = 1_000_000;

/// Why root builds nothing in a folder.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// Others can change what a build would run.
    #[error("{0}")]
    Refused(Box<RefusedProject>),
    /// It has too many files for a check of all.
    #[error(
        "root builds nothing in {}: it has more than {max} files and folders, and each is checked; remove what earlier builds left, or \
         build as another user",
        folder.display()
    )]
    TooMany {
        /// The folder.
        folder: PathBuf,
        /// Most that are checked.
        max: usize,
    },
    /// It cannot be read.
    #[error(transparent)]
    Unreadable(TrustError),
}

/// A project that others can change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedProject {
    /// Its folder.
    folder: PathBuf,
    /// The first part that others can change.
    refusal: Refusal,
    /// The user that the part belongs to, by name where there is one, as `sudo -u` takes it.
    owner: Option<String>,
    /// The part is in a folder above, where build tools look for it.
    is_found_above: bool,
}

/// Checks, where root asks, that no other user can change a project: its folder, what is in it and what links in it lead to,
/// each folder above it, and what build tools look for in these. A folder with the sticky bit above it, such as `/tmp`, is
/// good if nothing that build tools look for is in it. Nothing is checked for other users. Blocks.
///
/// # Errors
/// [`ProjectError`], with the first path that others can change.
pub fn check_project(folder: &Path) -> Result<(), ProjectError> {
    let opener = Opener::of_command();
    match opener.is_strict {
        true => check(folder, opener, MAX_FILES),
        false => Ok(()),
    }
}

/// Checks only what build tools look for above a project that was checked before: in a folder with the sticky bit others
/// can put something at any time. Blocks.
///
/// # Errors
/// As [`check_project`].
pub fn check_above_project(folder: &Path) -> Result<(), ProjectError> {
    let opener = Opener::of_command();
    match opener.is_strict {
        true => check_above(&resolved(folder)?, opener),
        false => Ok(()),
    }
}

fn check(folder: &Path, opener: Opener, max: usize) -> Result<(), ProjectError> {
    // The way as it is named: a link of another user on it is refused.
    opener
        .check_way(folder)
        .map_err(|error| refused(folder, error, false))?;
    let folder = resolved(folder)?;
    check_above(&folder, opener)?;
    let whole = tree::check(&folder, opener, max);
    match whole.map_err(|error| refused(&folder, error, false))? {
        true => Ok(()),
        false => Err(ProjectError::TooMany { folder, max }),
    }
}

fn check_above(folder: &Path, opener: Opener) -> Result<(), ProjectError> {
    parent_folders::check(folder, opener).map_err(|error| refused(folder, error, true))
}

fn resolved(folder: &Path) -> Result<PathBuf, ProjectError> {
    let resolved = fs::canonicalize(folder);
    resolved.map_err(|error| ProjectError::Unreadable(TrustError::io(folder, error)))
}

fn refused(folder: &Path, error: TrustError, is_found_above: bool) -> ProjectError {
    let refusal = match error {
        TrustError::Refused(refusal) => *refusal,
        error => return ProjectError::Unreadable(error),
    };
    let owner = match refusal.wrong {
        TrustProblem::Owner(uid) | TrustProblem::ServedBy(uid) => {
            Some(users::name_of(uid).unwrap_or_else(|| format!("'#{uid}'")))
        }
        _ => None,
    };
    ProjectError::Refused(Box::new(RefusedProject {
        folder: fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned()),
        refusal,
        owner,
        is_found_above,
    }))
}

impl fmt::Display for RefusedProject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refusal { part, kind, .. } = &self.refusal;
        let (folder, part) = (self.folder.display(), part.display());
        write!(f, "root builds nothing in {folder}: {kind} {part} ")?;
        match self.refusal.wrong {
            TrustProblem::Owner(uid) => write!(f, "belongs to user {uid}")?,
            TrustProblem::Mode(mode) => write!(
                f,
                "can be changed by others than its owner (mode {mode:04o})"
            )?,
            TrustProblem::AccessList => {
                f.write_str("can be changed by users whom its access control list names")?;
            }
            TrustProblem::ServedBy(uid) => {
                write!(f, "is in a file system that user {uid} serves")?;
            }
            TrustProblem::HardLinks => f.write_str("has more than one name")?,
            TrustProblem::Link => f.write_str("leads to where others can put files")?,
        }
        if self.is_found_above {
            return f.write_str(
                ", and build tools look for it in all folders above a project; remove it, or build a copy of the project in a \
                 folder that only root can change, such as /root",
            );
        }
        let is_above = self
            .folder
            .parent()
            .is_some_and(|above| above.starts_with(&self.refusal.part));
        match self.refusal.wrong {
            TrustProblem::Owner(_) if is_above => {
                f.write_str("; use a copy in a folder of root")?;
            }
            TrustProblem::Owner(_) => write!(f, "; check its content, then `chown root {part}`")?,
            TrustProblem::Mode(_) => write!(f, "; check its content, then `chmod go-w {part}`")?,
            TrustProblem::AccessList => {
                write!(f, "; check its content, then `setfacl -b {part}`")?;
            }
            TrustProblem::Link => write!(f, "; remove it")?,
            TrustProblem::ServedBy(_) | TrustProblem::HardLinks => {
                f.write_str("; use a copy in a folder of root")?;
            }
        }
        match &self.owner {
            Some(owner) => write!(
                f,
                "; or build as that user: `sudo -u {owner} gpud plugin build {folder}`"
            ),
            None => f.write_str("; or build as another user"),
        }
    }
}

#[cfg(test)]
mod tests;
