//! The machine's files: sysfs, procfs, configuration, and the state of mounted filesystems.
//!
//! [`Files`] reads small files below one root folder (`/`, or a copy of a machine in a test), every call with a bound on
//! size and a deadline, on threads that a dead mount may keep. [`Files::within`] narrows it to what an operator
//! granted; `tree.rs` has the rule for links, `denied_paths.rs` what no grant reaches.

mod denied_paths;
mod file_identity;
pub mod machine_mounts;
pub mod names;
mod nonblocking;
mod pattern;
mod pci;
mod read;
mod roots;
mod tree;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

pub use pattern::{MAX_PATH_BYTES, Pattern, normalized, segments_of};
pub use roots::Roots;

use self::{
    read::View,
    tree::{AccessKind, Tree},
};
use super::{
    error::SourceError,
    hang_pool::{HangPool, StuckCall},
};

/// How long a call may take unless [`Files::with_deadline`] says otherwise.
pub const DEFAULT_DEADLINE: Duration = Duration::from_secs(5);
/// Threads for `/proc` and `/sys`.
const KERNEL_THREADS: usize = 8;
/// Threads for all other files: each dead mount blocks one, and calls to working mounts must still be answered.
const MOUNT_THREADS: usize = 32;

/// Access to the machine's files. Cheap to clone; clones share their threads.
///
/// Paths are absolute and without `..`; they are taken below the root, and in a root other than `/` links cannot lead
/// out of it. Bytes of names that are not UTF-8 are shown as `\xff`, and opened by that: see `names.rs`.
#[derive(Clone)]
pub struct Files {
    tree: Arc<Tree>,
    roots: Option<Roots>,
    deadline: Duration,
    /// Threads for `/proc` and `/sys`: a dead network mount must never block reads of these.
    kernel: HangPool,
    mounts: HangPool,
    /// The same for checks that are not built in: one that asks a dead mount in ever new ways must never keep the built-in
    /// checks from their files.
    kernel_of_plugins: HangPool,
    mounts_of_plugins: HangPool,
    devices: Arc<pci::Devices>,
}

/// One answer for each path, sorted by path.
pub type Answers<T> = Vec<(String, Result<T, SourceError>)>;

/// The kind of file that a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// Regular file.
    File,
    /// Directory.
    Directory,
    /// Symbolic link.
    Link,
    /// Device node, pipe, socket or unknown.
    Special,
}

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    /// Its name, without the directory.
    pub name: String,
    /// The kind of the entry itself: a link is not followed.
    pub kind: FileKind,
}

/// Facts about a file, links followed; from stat(2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStat {
    /// Its kind.
    pub kind: FileKind,
    /// Bytes; 0 or 4096 for most kernel files, whatever they hold.
    pub size: u64,
    /// Permission bits, set-id and sticky bits included.
    pub mode: u32,
    /// Last change of the content, Unix milliseconds; 0 for times before 1970.
    pub modified_ms: u64,
    /// Major number of the device that the file is on (`st_dev`).
    pub device_major: u32,
    /// Minor number of it.
    pub device_minor: u32,
    /// Owner.
    pub uid: u32,
}

/// Space of a mounted filesystem, from statvfs(3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FsUsage {
    /// All bytes.
    pub total_bytes: u64,
    /// Free bytes, root's reserve included (`f_bfree`).
    pub free_bytes: u64,
    /// Free bytes for ordinary users (`f_bavail`).
    pub available_bytes: u64,
    /// Bytes per block, the unit that space is counted in (`f_frsize`).
    pub block_size: u64,
    /// All inodes; 0 where the filesystem has no fixed number.
    pub total_inodes: u64,
    /// Free inodes.
    pub free_inodes: u64,
    /// Mounted read-only.
    pub read_only: bool,
}

impl Files {
    /// The files of this machine.
    ///
    /// # Errors
    /// When `/` or `/proc` cannot be opened.
    pub fn live() -> Result<Self, SourceError> {
        Self::rooted(Path::new("/"))
    }

    /// A copy of a machine's files below `root`: `/proc/stat` is `‹root›/proc/stat`, and a link to `/x` means
    /// `‹root›/x`.
    ///
    /// # Errors
    /// When `root` is not a directory that can be opened, and on kernels before 5.6, unless it is `/`.
    pub fn rooted(root: &Path) -> Result<Self, SourceError> {
        Ok(Self::over(Tree::new(root)?))
    }

    fn over(tree: Tree) -> Self {
        Self {
            tree: Arc::new(tree),
            roots: None,
            deadline: DEFAULT_DEADLINE,
            kernel: HangPool::new("kernel-files", KERNEL_THREADS),
            mounts: HangPool::new("files", MOUNT_THREADS),
            kernel_of_plugins: HangPool::new("plugin-kernel", KERNEL_THREADS),
            mounts_of_plugins: HangPool::new("plugin-files", MOUNT_THREADS),
            devices: Arc::default(),
        }
    }

    /// Whether these are the machine's own files and not a copy.
    pub fn is_live(&self) -> bool {
        self.tree.is_live()
    }

    /// The same files with another deadline for each call.
    #[must_use]
    pub fn with_deadline(&self, deadline: Duration) -> Self {
        Self {
            deadline,
            ..self.clone()
        }
    }

    /// The same files, but only those that `roots` grant. Everything else is [`SourceError::Denied`], naming the path
    /// to add. Contents are read from regular files only: pipes and devices are [`SourceError::Invalid`].
    #[must_use]
    pub fn within(&self, roots: &Roots) -> Self {
        Self {
            roots: Some(roots.clone()),
            ..self.clone()
        }
    }

    /// The files of this machine, of which no grant reaches `own_files`: gpud's own files and folders. In a container the
    /// machine's `/` is mounted at `host_root`; `None` is as [`machine_mounts::ROOT_VARIABLE`] says.
    ///
    /// # Errors
    /// As for [`Files::live`].
    pub fn live_denying(
        own_files: &[PathBuf],
        host_root: Option<&Path>,
    ) -> Result<Self, SourceError> {
        let tree = Tree::new(Path::new("/"))?.denying(own_files);
        Ok(Self::over(match host_root {
            Some(folder) => tree.below(folder),
            None => tree,
        }))
    }

    /// Whether gpud has other mounts than the machine, as in a container that sees the machine's processes.
    pub fn has_other_mounts(&self) -> bool {
        self.tree.has_other_mounts()
    }

    /// Calls that a dead mount or driver still holds.
    pub fn stuck(&self) -> Vec<StuckCall> {
        let pools = [
            &self.kernel,
            &self.mounts,
            &self.kernel_of_plugins,
            &self.mounts_of_plugins,
        ];
        pools.into_iter().flat_map(HangPool::stuck).collect()
    }

    /// The whole content of a file.
    ///
    /// # Errors
    /// [`SourceError::TooLarge`] beyond `max_bytes`, without partial content; [`SourceError::NotFound`], also when the
    /// process or device of a kernel file went away in the meantime; as for every call here, [`SourceError::Denied`],
    /// [`SourceError::Invalid`] for an unusable path, and [`SourceError::TimedOut`].
    pub async fn read(&self, path: &str, max_bytes: u64) -> Result<Vec<u8>, SourceError> {
        if let Some(answer) = self.view().read_now(path, max_bytes) {
            return answer;
        }
        self.run("read", path, move |view, path| view.read(path, max_bytes))
            .await
    }

    /// The content of every file that matches `pattern` (`*`, `?`, `[a-z]` within a segment, no `**`), sorted by path,
    /// in one go. Files that vanish in the meantime are left out; no match is an empty answer. A directory on the way
    /// that cannot be listed appears with its error. Confined, only granted matches are returned.
    ///
    /// # Errors
    /// [`SourceError::TooLarge`] counting files when there are more than `max_files`; [`SourceError::Denied`] when
    /// nothing that matches is granted. An error of one file is in its own result.
    pub async fn read_glob(
        &self,
        pattern: &str,
        max_bytes_each: u64,
        max_files: usize,
    ) -> Result<Answers<Vec<u8>>, SourceError> {
        if let Some(attribute) = pci::of_all(pattern)
            && let Some(answer) =
                (self.devices).read(self.view(), attribute, max_bytes_each, max_files)
        {
            return answer;
        }
        if let Some(answer) = (self.view()).read_glob_now(pattern, max_bytes_each, max_files) {
            return answer;
        }
        self.run("read_glob", pattern, move |view, pattern| {
            view.read_glob(pattern, max_bytes_each, max_files)
        })
        .await
    }

    /// The names in a directory, sorted. Confined, only those that are granted or lead to something that is.
    ///
    /// # Errors
    /// [`SourceError::TooLarge`] counting entries when there are more than `max_entries`; [`SourceError::NotFound`]
    /// also for what is not a directory.
    pub async fn list(&self, path: &str, max_entries: usize) -> Result<Vec<DirEntry>, SourceError> {
        if let Some(answer) = self.view().list_now(path, max_entries) {
            return answer;
        }
        self.run("list", path, move |view, path| view.list(path, max_entries))
            .await
    }

    /// How many entries every directory that matches `pattern` has, sorted by path. For `/proc/‹pid›/fd` on Linux 6.2
    /// and later the kernel knows the number and nothing is listed. Directories that vanish in the meantime, and
    /// matches that are not directories, are left out.
    ///
    /// # Errors
    /// As for [`Files::read_glob`].
    pub async fn count_entries(
        &self,
        pattern: &str,
        max_dirs: usize,
    ) -> Result<Answers<u32>, SourceError> {
        self.run("count_entries", pattern, move |view, pattern| {
            view.count_entries(pattern, max_dirs)
        })
        .await
    }

    /// Returns the target of a symbolic link, as written in it.
    ///
    /// # Errors
    /// [`SourceError::Invalid`] when it is not a link.
    pub async fn read_link(&self, path: &str) -> Result<String, SourceError> {
        if let Some(answer) = self.view().read_link_now(path) {
            return answer;
        }
        self.run("read_link", path, |view, path| view.read_link(path))
            .await
    }

    /// Facts about a file, links followed.
    ///
    /// # Errors
    /// As for [`Files::read`]; on a dead mount [`SourceError::TimedOut`].
    pub async fn stat(&self, path: &str) -> Result<FileStat, SourceError> {
        if let Some(answer) = self.view().absent_now(path, AccessKind::Content) {
            return answer;
        }
        self.run("stat", path, |view, path| view.stat(path)).await
    }

    /// Space of the filesystem that holds `path` on the machine, also where gpud has other mounts (`machine_mounts.rs`). An
    /// automount that nobody uses is not mounted by this.
    ///
    /// # Errors
    /// As for [`Files::stat`].
    pub async fn statvfs(&self, path: &str) -> Result<FsUsage, SourceError> {
        self.run("statvfs", path, |view, path| view.statvfs(path))
            .await
    }

    /// The same for many paths, in one go: an answer for each, in their order. A path that does not answer has its own
    /// deadline and does not keep the others waiting; `None`: not asked, since too many others did not answer. All
    /// together take no longer than `whole`.
    pub async fn statvfs_all(
        &self,
        paths: Vec<String>,
        whole: Duration,
    ) -> Vec<Option<Result<FsUsage, SourceError>>> {
        let (tree, roots) = (Arc::clone(&self.tree), self.roots.clone());
        let calls = paths.iter().map(|path| format!("statvfs {path}")).collect();
        let label = format!("statvfs of {} paths", paths.len());
        self.pool(false)
            .run_all(&label, calls, self.deadline, whole, move |index| {
                let view = View {
                    tree: &tree,
                    roots: roots.as_ref(),
                };
                view.statvfs(paths.get(index).map_or("", String::as_str))
            })
            .await
    }

    /// Returns the files for calls on this thread, where nothing can hang.
    fn view(&self) -> View<'_> {
        View {
            tree: &self.tree,
            roots: self.roots.as_ref(),
        }
    }

    /// Returns the threads for calls about `/proc` and `/sys` (`kernel`), or about anything else.
    fn pool(&self, kernel: bool) -> &HangPool {
        let of_plugin = |roots: &Roots| !roots.has_environments();
        match (self.roots.as_ref().is_some_and(of_plugin), kernel) {
            (false, true) => &self.kernel,
            (false, false) => &self.mounts,
            (true, true) => &self.kernel_of_plugins,
            (true, false) => &self.mounts_of_plugins,
        }
    }

    /// Runs one operation where it may hang.
    async fn run<T: Send + 'static>(
        &self,
        verb: &str,
        path: &str,
        work: impl FnOnce(View<'_>, &str) -> Result<T, SourceError> + Send + 'static,
    ) -> Result<T, SourceError> {
        // However it is spelled, so that a call that hangs is known again.
        let shown = normalized(path).unwrap_or_else(|_| path.to_owned());
        let kernel = ["/proc", "/sys"].iter().any(|top| {
            let below = shown.strip_prefix(top);
            below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        let pool = self.pool(kernel);
        let (tree, roots) = (Arc::clone(&self.tree), self.roots.clone());
        let owned = path.to_owned();
        pool.run(&format!("{verb} {shown}"), self.deadline, move || {
            let view = View {
                tree: &tree,
                roots: roots.as_ref(),
            };
            work(view, &owned)
        })
        .await
    }
}

#[cfg(test)]
mod tests;
