//! Why something is not opened: what is wrong with which part of the path, and what to do.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use crate::local_file;

/// Why a path was not opened.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The system refused, in words such as `open /x: no such file or directory`.
    #[error("{}", local_file::open_error(path, source))]
    Io {
        /// The requested path.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// Somebody else could change it.
    #[error("{0}")]
    Refused(Box<Refusal>),
    /// A script whose interpreter may run something else than it says.
    #[error(
        "{} is not run: its first line has quotes or other marks that a shell or `env -S` expands, so what it runs cannot be checked; write it without",
        .0.display()
    )]
    Expanded(PathBuf),
    /// Somebody else could have changed what is in gpud's own folder, and it cannot be moved out of the way.
    #[error(
        "other users could open or change {}, and it cannot be moved away: {source}; do so, or unmount it",
        path.display()
    )]
    NotSetAside {
        /// The folder, or what is in it.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
}

/// A part of a path that another user could change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The requested path.
    pub asked: PathBuf,
    /// The part of the path that is wrong, without links.
    pub part: PathBuf,
    /// Its kind: `folder`, `link` or `file`; `entry` if it was not looked at.
    pub kind: &'static str,
    /// The problem with it.
    pub wrong: TrustProblem,
    /// The user that gpud runs as.
    pub us: u32,
}

/// The problem with a part of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustProblem {
    /// It belongs to this user.
    Owner(u32),
    /// Others than its owner can write to it: these are its permissions.
    Mode(u32),
    /// An access control list lets others write to it.
    AccessList,
    /// It is in a file system that this user serves and can change at any time.
    ServedBy(u32),
    /// It has more than one name, and so belongs to another folder as well.
    HardLinks,
    /// It is a link where none is followed, or one too many.
    Link,
}

impl TrustError {
    /// The system's answer about a path.
    pub(super) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io {
            path: path.to_owned(),
            source,
        }
    }

    /// Whether it is refused since others can change this folder, which is gpud's own. Then checking what is in it would be the wrong
    /// advice.
    pub fn is_of_open_folder(&self, folder: &Path) -> bool {
        let Self::Refused(refusal) = self else {
            return false;
        };
        let is_open = matches!(
            refusal.wrong,
            TrustProblem::Mode(_) | TrustProblem::AccessList
        );
        is_open
            && folder
                .canonicalize()
                .is_ok_and(|folder| folder == refusal.part)
    }

    /// Whether there is nothing of that name.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    /// Whether what is there, or on the way to it, is no folder.
    pub(super) fn is_not_folder(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotADirectory)
    }

    /// Whether another user could change it, as opposed to an answer of the system.
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Refused(_) | Self::Expanded(_) | Self::NotSetAside { .. }
        )
    }
}

impl From<TrustError> for io::Error {
    fn from(error: TrustError) -> Self {
        match error {
            TrustError::Io { source, .. } => source,
            refused => Self::new(io::ErrorKind::PermissionDenied, refused.to_string()),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            asked, part, kind, ..
        } = self;
        let (asked, part) = (asked.display(), part.display());
        let us = match self.us {
            0 => "root".to_owned(),
            us => us.to_string(),
        };
        write!(f, "{asked} is not trusted: {kind} {part} ")?;
        match self.wrong {
            TrustProblem::Owner(owner) => {
                write!(f, "belongs to user {owner}; ")?;
                match *kind {
                    // Whose a link is says nothing of what it leads to.
                    "link" => write!(f, "remove it, or name what it leads to"),
                    _ => write!(
                        f,
                        "check its content, then `chown {us} {part}`, or use a copy in a folder of {us}"
                    ),
                }
            }
            TrustProblem::Mode(mode) => write!(
                f,
                "can be changed by others than its owner (mode {mode:04o}); check its content, then `chmod go-w {part}`"
            ),
            TrustProblem::AccessList => write!(
                f,
                "can be changed by other users, whom its access control list names; check its content, then remove them from the list (`setfacl -b {part}`)"
            ),
            TrustProblem::ServedBy(user) => write!(
                f,
                "is in a file system that user {user} serves; use a copy elsewhere"
            ),
            TrustProblem::HardLinks => write!(
                f,
                "has more than one name; use a file of its own, or remove the other names"
            ),
            TrustProblem::Link => write!(f, "is not followed; name what it leads to"),
        }
    }
}
