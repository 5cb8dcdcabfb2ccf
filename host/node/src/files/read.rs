//! The file operations themselves, as plain blocking calls; [`super::Files`] runs them where they may hang.

mod expand;

use std::{cell::RefCell, sync::OnceLock};

use rustix::{
    fd::OwnedFd,
    fs::{AtFlags, Dir, FileType, OFlags},
    io::Errno,
};

use super::{
    Answers, DirEntry, FileKind, FileStat, FsUsage, names, nonblocking,
    pattern::normalized,
    roots::Roots,
    tree::{AccessKind, PROCFS, Tree, failed, is_on},
};
use crate::error::SourceError;

/// Bytes of all files of one pattern together; what comes after is too large, each for itself.
pub const MAX_GLOB_BYTES: u64 = 64 << 20;
/// Bytes asked for at a time.
const CHUNK: usize = 64 * 1024;

thread_local! {
    /// The buffer into which files are read before their size is known: most hold some hundred bytes, and a round reads
    /// thousands.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A tree as one caller may see it.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub tree: &'a Tree,
    /// `None`: everything, for the daemon's own needs.
    pub roots: Option<&'a Roots>,
}

impl<'a> View<'a> {
    pub fn read(self, path: &str, max_bytes: u64) -> Result<Vec<u8>, SourceError> {
        let file = self.open(&normalized(path)?, OFlags::RDONLY, AccessKind::Content)?;
        read_bounded(path, &file, max_bytes)
    }

    /// The same for a file of the machine's own procfs or sysfs; `None` where it is not one.
    pub fn read_own(self, path: &str, max_bytes: u64) -> Option<Result<Vec<u8>, SourceError>> {
        let path = normalized(path).ok()?;
        let file = self.open_own(&path, OFlags::RDONLY | OFlags::NOCTTY, AccessKind::Content)?;
        Some(file.and_then(|file| read_bounded(&path, &file, max_bytes)))
    }

    pub fn read_glob(
        self,
        pattern: &str,
        max_bytes_each: u64,
        max_files: usize,
    ) -> Result<Answers<Vec<u8>>, SourceError> {
        let mut left = MAX_GLOB_BYTES;
        self.for_each_match(pattern, max_files, "files", AccessKind::Content, |path| {
            let file = self.open_match(path, OFlags::RDONLY, AccessKind::Content)?;
            let content = read_bounded(path, &file, max_bytes_each.min(left))?;
            left = left.saturating_sub(content.len() as u64);
            Ok(content)
        })
    }

    pub fn count_entries(
        self,
        pattern: &str,
        max_dirs: usize,
    ) -> Result<Answers<u32>, SourceError> {
        self.for_each_match(
            pattern,
            max_dirs,
            "directories",
            AccessKind::Count,
            |path| {
                let handle =
                    self.open_match(path, OFlags::PATH | OFlags::DIRECTORY, AccessKind::Count)?;
                if let Some(count) = open_files(path, &handle) {
                    return Ok(count);
                }
                let dir =
                    self.open_match(path, OFlags::RDONLY | OFlags::DIRECTORY, AccessKind::Count)?;
                let mut count = 0u32;
                for_each_name(path, &dir, |_, _| {
                    count = count.saturating_add(1);
                    Ok(())
                })?;
                Ok(count)
            },
        )
    }

    pub fn list(self, path: &str, max_entries: usize) -> Result<Vec<DirEntry>, SourceError> {
        let path = normalized(path)?;
        let dir = self.open(
            &path,
            OFlags::RDONLY | OFlags::DIRECTORY,
            AccessKind::Traversal,
        )?;
        self.entries(&path, &dir, max_entries, usize::MAX)
    }

    /// The same for a directory of the machine's own sysfs; `None` where it is not one, or has more than some names.
    pub fn list_own(
        self,
        path: &str,
        max_entries: usize,
    ) -> Option<Result<Vec<DirEntry>, SourceError>> {
        let path = normalized(path).ok()?;
        let dir = self.open_own(
            &path,
            OFlags::RDONLY | OFlags::DIRECTORY,
            AccessKind::Traversal,
        )?;
        match dir.and_then(|dir| self.entries(&path, &dir, max_entries, nonblocking::MAX_NAMES)) {
            Err(SourceError::TooLarge { .. }) => None,
            answer => Some(answer),
        }
    }

    fn entries(
        self,
        path: &str,
        dir: &OwnedFd,
        max_entries: usize,
        max_names: usize,
    ) -> Result<Vec<DirEntry>, SourceError> {
        let mut entries = Vec::new();
        let mut names = 0;
        for_each_name(path, dir, |name, kind| {
            names += 1;
            check_count(path, "names", names, max_names)?;
            if !self.shows(&join(path, name)) {
                return Ok(());
            }
            // Some filesystems do not tell with the name.
            let kind = match kind {
                FileType::Unknown => {
                    let raw = names::raw(name).unwrap_or_else(|| name.into());
                    rustix::fs::statat(dir, raw, AtFlags::SYMLINK_NOFOLLOW)
                        .map_or(kind, |stat| FileType::from_raw_mode(stat.st_mode))
                }
                kind => kind,
            };
            entries.push(DirEntry {
                name: name.to_owned(),
                kind: kind.into(),
            });
            check_count(path, "entries", entries.len(), max_entries)
        })?;
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    pub fn read_link(self, path: &str) -> Result<String, SourceError> {
        let path = normalized(path)?;
        let link = self.open(&path, OFlags::PATH | OFlags::NOFOLLOW, AccessKind::Content)?;
        target_of(&path, &link)
    }

    /// The same for a link of the machine's own sysfs; `None` where it is not one.
    pub fn read_link_own(self, path: &str) -> Option<Result<String, SourceError>> {
        let path = normalized(path).ok()?;
        let link = self.open_own(&path, OFlags::PATH | OFlags::NOFOLLOW, AccessKind::Content)?;
        Some(link.and_then(|link| target_of(&path, &link)))
    }

    pub fn stat(self, path: &str) -> Result<FileStat, SourceError> {
        let path = normalized(path)?;
        let handle = self.open(&path, OFlags::PATH, AccessKind::Content)?;
        let stat = rustix::fs::fstat(&handle).map_err(|e| failed(&path, e))?;
        let modified_ms = stat
            .st_mtime
            .saturating_mul(1000)
            .saturating_add(i64::try_from(stat.st_mtime_nsec / 1_000_000).unwrap_or(0));
        Ok(FileStat {
            kind: FileType::from_raw_mode(stat.st_mode).into(),
            size: u64::try_from(stat.st_size).unwrap_or(0),
            mode: stat.st_mode & 0o7777,
            modified_ms: u64::try_from(modified_ms).unwrap_or(0),
            device_major: rustix::fs::major(stat.st_dev),
            device_minor: rustix::fs::minor(stat.st_dev),
            uid: stat.st_uid,
        })
    }

    pub fn statvfs(self, path: &str) -> Result<FsUsage, SourceError> {
        let path = normalized(path)?;
        let within = self.roots.map(|roots| (roots, AccessKind::Space));
        let handle = self.tree.open_of_machine(&path, within)?;
        let fs = rustix::fs::fstatvfs(&handle).map_err(|e| failed(&path, e))?;
        // Old network filesystems leave the fragment size at 0; blocks are counted in block sizes then.
        let unit = if fs.f_frsize == 0 {
            fs.f_bsize
        } else {
            fs.f_frsize
        };
        Ok(FsUsage {
            total_bytes: fs.f_blocks.saturating_mul(unit),
            free_bytes: fs.f_bfree.saturating_mul(unit),
            available_bytes: fs.f_bavail.saturating_mul(unit),
            block_size: unit,
            total_inodes: fs.f_files,
            free_inodes: fs.f_ffree,
            read_only: fs.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY),
        })
    }

    fn open(self, path: &str, flags: OFlags, access: AccessKind) -> Result<OwnedFd, SourceError> {
        let within = self.roots.map(|roots| (roots, access));
        self.tree.open(path, flags, within)
    }

    pub fn open_own(
        self,
        path: &str,
        flags: OFlags,
        access: AccessKind,
    ) -> Option<Result<OwnedFd, SourceError>> {
        let within = self.roots.map(|roots| (roots, access));
        self.tree.open_own(path, flags, within)
    }

    /// Opens what [`View::expand`] found, which is granted.
    fn open_match(
        self,
        path: &str,
        flags: OFlags,
        access: AccessKind,
    ) -> Result<OwnedFd, SourceError> {
        let within = self.roots.map(|roots| (roots, access));
        self.tree.open_granted(path, flags, within)
    }

    fn shows(self, path: &str) -> bool {
        self.roots.is_none_or(|roots| roots.leads_to(path))
            && !self.is_denied(path, AccessKind::Traversal)
    }

    /// Whether no grant reaches a path; the daemon's own needs are not confined.
    fn is_denied(self, path: &str, access: AccessKind) -> bool {
        self.roots
            .is_some_and(|roots| self.tree.is_denied(path, roots, access))
    }
}

/// Whether there can be something below what has this kind.
pub fn leads_on(kind: FileType) -> bool {
    matches!(
        kind,
        FileType::Directory | FileType::Symlink | FileType::Unknown
    )
}

fn target_of(path: &str, link: &OwnedFd) -> Result<String, SourceError> {
    let stat = rustix::fs::fstat(link).map_err(|e| failed(path, e))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Symlink {
        return Err(SourceError::Invalid(format!("{path}: not a symbolic link")));
    }
    let target = rustix::fs::readlinkat(link, "", Vec::new()).map_err(|e| failed(path, e))?;
    Ok(names::shown(target.to_bytes()).into_owned())
}

/// Reads to the end, or to just beyond `max_bytes`. The file's own size is not asked: sysfs says 4096 and procfs 0.
pub fn read_bounded(path: &str, file: &OwnedFd, max_bytes: u64) -> Result<Vec<u8>, SourceError> {
    SCRATCH.with_borrow_mut(|scratch| {
        // Pages that no file reaches into are never touched.
        scratch.resize(CHUNK, 0);
        let mut content = Vec::new();
        loop {
            match rustix::io::read(file, scratch.as_mut_slice()) {
                Ok(0) => return Ok(content),
                Ok(count) => content.extend_from_slice(scratch.get(..count).unwrap_or_default()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(failed(path, error)),
            }
            let len = content.len() as u64;
            if len > max_bytes {
                let size = rustix::fs::fstat(file).map_or(0, |stat| stat.st_size);
                return Err(SourceError::TooLarge {
                    what: path.to_owned(),
                    size: len.max(u64::try_from(size).unwrap_or(0)),
                    limit: max_bytes,
                });
            }
        }
    })
}

/// Number of open files of a process as the kernel counts it: since 6.2 it is the size of `/proc/‹pid›/fd`. Threads of the
/// kernel have none, and their folders are root's.
fn open_files(path: &str, handle: &OwnedFd) -> Option<u32> {
    if !path.ends_with("/fd") {
        return None;
    }
    let size = rustix::fs::fstat(handle).ok()?.st_size;
    (is_on(handle, PROCFS) && (size > 0 || counts_open_files()))
        .then(|| u32::try_from(size).ok())
        .flatten()
}

/// Whether the kernel counts open files: this process has some, and before 6.2 the folder's size is 0 all the same.
fn counts_open_files() -> bool {
    static COUNTS: OnceLock<bool> = OnceLock::new();
    *COUNTS.get_or_init(|| {
        let own = rustix::fs::stat("/proc/self/fd");
        own.is_ok_and(|facts| facts.st_size > 0)
    })
}

/// Calls `each` with the names in a directory, in the order that the kernel gives them.
pub fn for_each_name(
    path: &str,
    dir: &OwnedFd,
    mut each: impl FnMut(&str, FileType) -> Result<(), SourceError>,
) -> Result<(), SourceError> {
    for entry in Dir::read_from(dir).map_err(|e| failed(path, e))? {
        let entry = entry.map_err(|e| failed(path, e))?;
        let name = names::shown(entry.file_name().to_bytes());
        if name != "." && name != ".." {
            each(&name, entry.file_type())?;
        }
    }
    Ok(())
}

fn check_count(what: &str, unit: &str, count: usize, max: usize) -> Result<(), SourceError> {
    if count <= max {
        return Ok(());
    }
    Err(SourceError::TooLarge {
        what: format!("{unit} of {what}"),
        size: count as u64,
        limit: max as u64,
    })
}

fn join(directory: &str, name: &str) -> String {
    format!("{}/{name}", directory.trim_end_matches('/'))
}

impl From<FileType> for FileKind {
    fn from(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Directory,
            FileType::Symlink => Self::Link,
            _ => Self::Special,
        }
    }
}
