//! `sysfs`: small kernel files and filesystem space, under granted patterns.

use super::{
    Call,
    wire::{
        sysfs::{Entry, EntryCount, FileContent, FileKind, FileStat, FsUsage, Host},
        types::{AccessError, SizeInfo},
    },
};
use crate::node::{
    error::SourceError,
    files::{self, Files, Roots},
    hang_pool::MAX_LOST,
};

/// Largest file, bytes.
const MAX_FILE: u32 = 4 * 1024 * 1024;
/// Most files or entries of one answer.
const MAX_ENTRIES: u32 = 65_536;
/// Most paths of one call.
const MAX_PATHS: usize = 1024;
/// The bytes that the bill counts for an answer about space.
const USAGE_BYTES: usize = 48;

impl Call {
    /// Returns the machine's files, confined to the granted patterns.
    fn files(&mut self, what: &str) -> Result<Files, AccessError> {
        let grants = self.enter(what)?;
        self.touch(1);
        self.confined(what, grants.sysfs.as_ref())
    }

    /// The same for facts and space of a path, which the narrower grant allows as well.
    fn facts(&mut self, what: &str, path: &str) -> Result<Files, AccessError> {
        let grants = self.enter(what)?;
        self.touch(1);
        let narrow = grants.statvfs.as_ref().filter(|roots| roots.allows(path));
        self.confined(what, narrow.or(grants.sysfs.as_ref()))
    }

    fn confined(&self, what: &str, roots: Option<&Roots>) -> Result<Files, AccessError> {
        let roots =
            roots.ok_or_else(|| AccessError::Denied(format!("{what}: no path is granted")))?;
        let deadline = files::DEFAULT_DEADLINE.min(self.remaining());
        Ok(self.node.files.within(roots).with_deadline(deadline))
    }
}

impl Host for Call {
    async fn read(&mut self, path: String, max_bytes: u32) -> Result<Vec<u8>, AccessError> {
        let files = self.files("sysfs.read")?;
        let content = self
            .wait(files.read(&path, u64::from(max_bytes.min(MAX_FILE))))
            .await?;
        self.charge("sysfs.read", content.len())?;
        Ok(content)
    }

    async fn read_glob(
        &mut self,
        pattern: String,
        max_bytes_each: u32,
        max_files: u32,
    ) -> Result<Vec<FileContent>, AccessError> {
        let files = self.files("sysfs.read-glob")?;
        let max_bytes = u64::from(max_bytes_each.min(MAX_FILE));
        let found = self
            .wait(files.read_glob(&pattern, max_bytes, max_files.min(MAX_ENTRIES) as usize))
            .await?;
        self.touch(found.len());
        let size = |content: &Result<Vec<u8>, _>| content.as_ref().map_or(0, Vec::len);
        let bytes = found
            .iter()
            .map(|(path, content)| path.len() + size(content))
            .sum();
        self.charge("sysfs.read-glob", bytes)?;
        Ok(found
            .into_iter()
            .map(|(path, content)| FileContent {
                path,
                content: content.map_err(Into::into),
            })
            .collect())
    }

    async fn list_directory(
        &mut self,
        path: String,
        max_entries: u32,
    ) -> Result<Vec<Entry>, AccessError> {
        let files = self.files("sysfs.list-directory")?;
        let entries = self
            .wait(files.list(&path, max_entries.min(MAX_ENTRIES) as usize))
            .await?;
        self.charge(
            "sysfs.list-directory",
            entries.iter().map(|entry| entry.name.len() + 8).sum(),
        )?;
        Ok(entries
            .into_iter()
            .map(|entry| Entry {
                name: entry.name,
                kind: entry.kind.into(),
            })
            .collect())
    }

    async fn count_entries(
        &mut self,
        pattern: String,
        max_directories: u32,
    ) -> Result<Vec<EntryCount>, AccessError> {
        let files = self.files("sysfs.count-entries")?;
        let limit = max_directories.min(MAX_ENTRIES) as usize;
        let counts = self.wait(files.count_entries(&pattern, limit)).await?;
        self.touch(counts.len());
        self.charge(
            "sysfs.count-entries",
            counts.iter().map(|(path, _)| path.len() + 8).sum(),
        )?;
        Ok(counts
            .into_iter()
            .map(|(path, count)| EntryCount {
                path,
                count: count.map_err(Into::into),
            })
            .collect())
    }

    async fn read_link(&mut self, path: String) -> Result<String, AccessError> {
        let files = self.files("sysfs.read-link")?;
        let target = self.wait(files.read_link(&path)).await?;
        self.charge("sysfs.read-link", target.len())?;
        Ok(target)
    }

    async fn stat(&mut self, path: String) -> Result<FileStat, AccessError> {
        let files = self.facts("sysfs.stat", &path)?;
        let stat = self.wait(files.stat(&path)).await?;
        Ok(FileStat {
            kind: stat.kind.into(),
            size: stat.size,
            mode: stat.mode,
            modified: stat.modified_ms,
            device_major: stat.device_major,
            device_minor: stat.device_minor,
            uid: stat.uid,
        })
    }

    async fn statvfs(&mut self, path: String) -> Result<FsUsage, AccessError> {
        let files = self.facts("sysfs.statvfs", &path)?;
        let usage = self.wait(files.statvfs(&path)).await?;
        Ok(usage.into())
    }

    async fn statvfs_all(
        &mut self,
        paths: Vec<String>,
    ) -> Result<Vec<Result<FsUsage, AccessError>>, AccessError> {
        const WHAT: &str = "sysfs.statvfs-all";
        let grants = self.enter(WHAT)?;
        if paths.len() > MAX_PATHS {
            return Err(AccessError::TooLarge(SizeInfo {
                what: format!("paths of {WHAT}"),
                size: paths.len() as u64,
                limit: MAX_PATHS as u64,
            }));
        }
        self.touch(paths.len());
        self.charge(WHAT, paths.len().saturating_mul(USAGE_BYTES))?;
        let narrow = grants.statvfs.as_ref();
        let is_narrow = |path: &String| narrow.is_some_and(|roots| roots.allows(path));
        let (of_narrow, of_wide): (Vec<_>, Vec<_>) = paths
            .into_iter()
            .enumerate()
            .partition(|(_, path)| is_narrow(path));
        let mut answers = Vec::new();
        for (roots, asked) in [(narrow, of_narrow), (grants.sysfs.as_ref(), of_wide)] {
            if asked.is_empty() {
                continue;
            }
            let (places, paths): (Vec<_>, Vec<_>) = asked.into_iter().unzip();
            let found = match self.confined(WHAT, roots) {
                Ok(files) => {
                    let whole = self.remaining();
                    let found = self.wait(files.statvfs_all(paths.clone(), whole)).await;
                    found.into_iter().zip(paths).map(answer_of).collect()
                }
                Err(denied) => vec![Err(denied); places.len()],
            };
            answers.extend(places.into_iter().zip(found));
        }
        answers.sort_unstable_by_key(|(place, _)| *place);
        Ok(answers.into_iter().map(|(_, answer)| answer).collect())
    }
}

/// Converts the answer for one of many paths.
fn answer_of(
    (found, path): (Option<Result<files::FsUsage, SourceError>>, String),
) -> Result<FsUsage, AccessError> {
    match found {
        Some(found) => Ok(found?.into()),
        None => Err(AccessError::OverBudget(format!(
            "{path}: not asked, {MAX_LOST} others did not answer in time"
        ))),
    }
}

impl From<files::FsUsage> for FsUsage {
    fn from(usage: files::FsUsage) -> Self {
        Self {
            total_bytes: usage.total_bytes,
            free_bytes: usage.free_bytes,
            available_bytes: usage.available_bytes,
            total_inodes: usage.total_inodes,
            free_inodes: usage.free_inodes,
            read_only: usage.read_only,
        }
    }
}

impl From<files::FileKind> for FileKind {
    fn from(kind: files::FileKind) -> Self {
        match kind {
            files::FileKind::File => Self::File,
            files::FileKind::Directory => Self::Directory,
            files::FileKind::Link => Self::Link,
            files::FileKind::Special => Self::Special,
        }
    }
}
