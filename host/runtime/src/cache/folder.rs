//! The folder of compiled code.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use sha2::{Digest, Sha256};

use crate::{
    archive::Key,
    node::{
        temporary::TemporaryFolder,
        trusted::{OwnFolder, output},
    },
};

/// Entries that were not used for this long are removed.
const MAX_AGE: Duration = Duration::from_secs(30 * 24 * 3600);
/// Total size beyond which the oldest entries are removed, bytes.
const MAX_TOTAL: u64 = 1 << 30;
/// Less room than this, in bytes, is a full disk: code takes about 1 MiB, that of an interpreter guest 60.
const FULL: u64 = 8 << 20;

/// A folder that only our user can change.
pub(super) struct Folder {
    pub(super) own: OwnFolder,
    /// The temporary folder that holds it, if it replaces another one; both are removed together.
    _temporary: Option<TemporaryFolder>,
}

impl Folder {
    /// Opens the folder, else one in a temporary folder; `None` if neither can be used.
    pub(super) fn open(
        path: &Path,
        temporary: impl FnOnce() -> io::Result<TemporaryFolder>,
    ) -> Option<Self> {
        let problem = match private_folder(path) {
            Ok(own) => {
                return Some(Self {
                    own,
                    _temporary: None,
                });
            }
            Err(problem) => problem,
        };
        let shown = path.display();
        let instead = temporary().and_then(|temporary| {
            let own = private_folder(&temporary.path().join("cache"))?;
            Ok((own, temporary))
        });
        match instead {
            Ok((own, temporary)) => {
                tracing::warn!(
                    "compiled code cannot be kept in {shown}: {problem}; it is kept in {} until gpud stops",
                    own.path().display()
                );
                Some(Self {
                    own,
                    _temporary: Some(temporary),
                })
            }
            Err(other) => {
                tracing::warn!(
                    "compiled code cannot be kept in {shown}: {problem}; nor in a temporary folder: {other}"
                );
                None
            }
        }
    }

    /// Returns where a component's code is.
    pub(super) fn entry(&self, key: Key) -> PathBuf {
        let Key { component, engine } = key;
        self.own
            .path()
            .join(format!("{}-{engine:016x}.cwasm", hex(&component)))
    }

    /// Puts code into the folder, under its name.
    pub(super) fn place(&self, key: Key, code: &[u8]) -> io::Result<()> {
        let part = self.temporary_file("cwasm");
        let _remove = RemoveOnDrop(&part);
        output::write_private(&part, code)?;
        publish(&part, &self.entry(key), code)
    }

    /// Returns a new name for a temporary file.
    pub(super) fn temporary_file(&self, kind: &str) -> PathBuf {
        let unique = uuid::Uuid::new_v4();
        self.own.path().join(format!("{unique}.{kind}.tmp"))
    }

    /// Whether the filesystem has no room for code.
    pub(super) fn is_full(&self) -> bool {
        rustix::fs::statvfs(self.own.path())
            .is_ok_and(|room| room.f_bavail.saturating_mul(room.f_frsize) < FULL)
    }

    /// Removes leftovers, files that were not used for long, and the oldest beyond the total size.
    pub(super) fn clean(&self) {
        let Ok(entries) = fs::read_dir(self.own.path()) else {
            return;
        };
        let mut kept: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
        for entry in entries.flatten() {
            let path = entry.path();
            let Ok(facts) = entry.metadata() else {
                continue;
            };
            let used = facts.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            let age = used.elapsed().unwrap_or_default();
            let leftover = path.extension().is_some_and(|extension| extension == "tmp");
            if age > MAX_AGE || (leftover && age > Duration::from_secs(3600)) {
                let _ = fs::remove_file(&path);
            } else {
                kept.push((used, facts.len(), path));
            }
        }
        kept.sort();
        let mut total: u64 = kept.iter().map(|(_, size, _)| size).sum();
        for (_, size, path) in kept {
            if total <= MAX_TOTAL {
                break;
            }
            total = total.saturating_sub(size);
            let _ = fs::remove_file(path);
        }
    }
}

/// Removes a file when dropped.
pub(super) struct RemoveOnDrop<'a>(pub(super) &'a Path);

impl Drop for RemoveOnDrop<'_> {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.0);
    }
}

/// Makes the folder private to gpud, or returns why that is not possible.
pub(super) fn private_folder(folder: &Path) -> io::Result<OwnFolder> {
    let own = OwnFolder::open_unlinked(folder)?;
    let probe = own.path().join(format!("{}.tmp", uuid::Uuid::new_v4()));
    output::write_private(&probe, b"")?;
    fs::remove_file(&probe)?;
    Ok(own)
}

/// Returns bytes in hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Returns the path of an entry's checksum.
pub(super) fn sum_file(entry: &Path) -> PathBuf {
    entry.with_extension("sha256")
}

/// Puts an entry in place: the sum first, then the code by rename, so that neither is ever seen half written. What a
/// power cut leaves of it does not have that sum, so nobody waits for the disk.
pub(super) fn publish(code_file: &Path, entry: &Path, code: &[u8]) -> io::Result<()> {
    let sum = code_file.with_extension("sum.tmp");
    output::write_private(&sum, hex(&Sha256::digest(code)).as_bytes())?;
    fs::rename(&sum, sum_file(entry))?;
    fs::rename(code_file, entry)
}

/// Removes an entry and its checksum.
pub(super) fn remove(entry: &Path) {
    let _ = fs::remove_file(entry);
    let _ = fs::remove_file(sum_file(entry));
}
