//! Who may own and change what is on the way to a file, and the file.

use std::path::Path;

use rustix::fs::{FileType, Stat};

use super::{Refusal, TrustError, Wrong};

/// Write permission of group and others.
const OTHERS_WRITE: u32 = 0o022;
/// Write permission of others than owner and group.
const WORLD_WRITES: u32 = 0o002;
/// In such a folder only an entry's owner, the folder's owner and root can remove or rename the entry.
const STICKY: u32 = 0o1000;

/// Whom one process trusts: root and its own user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rules {
    us: u32,
}

impl Rules {
    /// Of this process.
    pub fn of_process() -> Self {
        Self {
            us: rustix::process::geteuid().as_raw(),
        }
    }

    /// Of a process of this user.
    #[cfg(test)]
    pub fn of_user(us: u32) -> Self {
        Self { us }
    }

    pub fn is_root(self) -> bool {
        self.us == 0
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

    /// Judges an entry of a folder: where others can make entries, it has to be root's or ours.
    pub fn judge_entry(
        self,
        asked: &Path,
        part: &Path,
        folder: &Stat,
        facts: &Stat,
    ) -> Result<(), TrustError> {
        match folder.st_mode & OTHERS_WRITE != 0 {
            true => self.judge_owner(asked, part, facts),
            false => Ok(()),
        }
    }

    /// Judges a folder all of whose entries are used: nobody else may add one, sticky or not.
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
        match facts.st_uid == 0 || facts.st_uid == self.us {
            true => Ok(()),
            false => Err(self.refuse(asked, part, facts, Wrong::Owner(facts.st_uid))),
        }
    }

    pub fn refuse(self, asked: &Path, part: &Path, facts: &Stat, wrong: Wrong) -> TrustError {
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

fn mode(facts: &Stat) -> Wrong {
    Wrong::Mode(facts.st_mode & 0o7777)
}
