//! The users that may own and change a file and the folders on the way to it.

use std::{os::fd::AsFd, path::Path};

use rustix::{
    fs::{FileType, Stat},
    io::Errno,
};

use super::{Refusal, TrustError, TrustProblem, acl, mounts};

/// Write permission of group and others.
const OTHERS_WRITE: u32 = 0o022;
/// Write permission of others than owner and group.
const WORLD_WRITES: u32 = 0o002;
/// In such a folder only an entry's owner, the folder's owner and root can remove or rename the entry.
const STICKY: u32 = 0o1000;

/// The users that one process trusts: root and its own user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rules {
    us: u32,
}

impl Rules {
    /// Returns the rules of this process.
    pub fn of_process() -> Self {
        Self {
            us: rustix::process::geteuid().as_raw(),
        }
    }

    /// Returns the rules of a process of this user.
    #[cfg(test)]
    pub fn of_user(us: u32) -> Self {
        Self { us }
    }

    pub fn is_root(self) -> bool {
        self.us == 0
    }

    /// Whether a user is root or the one that this process runs as.
    pub fn trusts(self, user: u32) -> bool {
        user == 0 || user == self.us
    }

    pub fn is_own(self, facts: &Stat) -> bool {
        facts.st_uid == self.us
    }

    /// Judges a folder on the way. `groups_may_write` is for log files, which decide nothing: Ubuntu's `/var/log` belongs to
    /// the group of the system's log daemon.
    pub fn judge_folder(
        self,
        asked: &Path,
        part: &Path,
        facts: &Stat,
        groups_may_write: bool,
    ) -> Result<(), TrustError> {
        self.judge_owner(asked, part, facts)?;
        let writers = match groups_may_write {
            true => WORLD_WRITES,
            false => OTHERS_WRITE,
        };
        match facts.st_mode & writers != 0 && facts.st_mode & STICKY == 0 {
            true => Err(self.refuse(asked, part, facts, mode(facts))),
            false => Ok(()),
        }
    }

    /// Judges an entry of a folder: where others can make entries, it has to be root's or ours, and a file may have no other
    /// name, since anybody can give a second name to a file of root's.
    pub fn judge_entry(
        self,
        asked: &Path,
        part: &Path,
        folder: &Stat,
        facts: &Stat,
    ) -> Result<(), TrustError> {
        if folder.st_mode & OTHERS_WRITE == 0 {
            return Ok(());
        }
        self.judge_owner(asked, part, facts)?;
        let is_file = FileType::from_raw_mode(facts.st_mode) == FileType::RegularFile;
        match is_file && facts.st_nlink > 1 {
            true => Err(self.refuse(asked, part, facts, TrustProblem::HardLinks)),
            false => Ok(()),
        }
    }

    /// Judges what permissions do not show: an access control list, by the handle of a file or folder.
    pub fn judge_list(
        self,
        asked: &Path,
        part: &Path,
        facts: &Stat,
        handle: impl AsFd,
    ) -> Result<(), TrustError> {
        match acl::lets_named_write(handle, self.us) {
            Ok(false) => Ok(()),
            Ok(true) => Err(self.refuse(asked, part, facts, TrustProblem::AccessList)),
            Err(error) => Err(TrustError::io(asked, error.into())),
        }
    }

    /// Judges the file system that a handle is of: a user who serves one makes up owners and permissions, or never answers. So it
    /// is not asked.
    pub fn judge_server(
        self,
        asked: &Path,
        part: &Path,
        handle: impl AsFd,
    ) -> Result<(), TrustError> {
        match mounts::served_by(handle).map_err(|error| TrustError::io(asked, error.into()))? {
            Some(user) if self.trusts(user) => Ok(()),
            Some(user) => Err(self.refuse_server(asked, part, user)),
            None => Err(TrustError::io(asked, Errno::ACCESS.into())),
        }
    }

    /// Refuses what is in a file system of this user's.
    pub fn refuse_server(self, asked: &Path, part: &Path, user: u32) -> TrustError {
        TrustError::Refused(Box::new(Refusal {
            asked: asked.to_owned(),
            part: part.to_owned(),
            kind: "entry",
            wrong: TrustProblem::ServedBy(user),
            us: self.us,
        }))
    }

    /// Judges a folder all of whose entries are used: no other user may add one, sticky or not.
    pub fn judge_listed(self, asked: &Path, part: &Path, facts: &Stat) -> Result<(), TrustError> {
        self.judge_file(asked, part, facts)
    }

    /// Judges a file, by what its open handle says of it.
    pub fn judge_file(self, asked: &Path, part: &Path, facts: &Stat) -> Result<(), TrustError> {
        self.judge_owner(asked, part, facts)?;
        match facts.st_mode & OTHERS_WRITE != 0 {
            true => Err(self.refuse(asked, part, facts, mode(facts))),
            false => Ok(()),
        }
    }

    /// Judges the owner of a folder, a link or a file.
    pub fn judge_owner(self, asked: &Path, part: &Path, facts: &Stat) -> Result<(), TrustError> {
        match self.trusts(facts.st_uid) {
            true => Ok(()),
            false => Err(self.refuse(asked, part, facts, TrustProblem::Owner(facts.st_uid))),
        }
    }

    pub fn refuse(
        self,
        asked: &Path,
        part: &Path,
        facts: &Stat,
        wrong: TrustProblem,
    ) -> TrustError {
        TrustError::Refused(Box::new(Refusal {
            asked: asked.to_owned(),
            part: part.to_owned(),
            kind: match FileType::from_raw_mode(facts.st_mode) {
                FileType::Directory => "folder",
                FileType::Symlink => "link",
                _ => "file",
            },
            wrong,
            us: self.us,
        }))
    }
}

fn mode(facts: &Stat) -> TrustProblem {
    TrustProblem::Mode(facts.st_mode & 0o7777)
}
