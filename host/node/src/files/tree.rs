//! Opening files below one root folder, and below a grant.
//!
//! **The rule for links.** A confined access names a path P that must be granted. Links on the way are followed, and
//! the file that was actually opened, at its real path R, must pass as well. It does when R is P, when R is itself
//! granted, or when P and R are both in `/sys` on a sysfs, or both in `/proc` on a procfs: those links are made by the
//! kernel, never by a user, so `/sys/class/net/eth0/mtu` may lead into `/sys/devices`. The links of `/proc` that jump
//! to where a process is (`root`, `cwd`, `exe`, `fd/N`, `ns/…`) are never followed.
//!
//! Neither P nor R may be one of the paths that no grant reaches (`denied_paths.rs`), nor another name of what is there
//! (`file_identity.rs`).
//!
//! There is no gap between check and use: the file is opened first as a bare handle (`O_PATH`, which has no side
//! effects), R is the kernel's own name for that handle, and reading goes through the handle.
//!
//! Most files of the machine's own `/proc` and `/sys` are opened in one step instead of five, since there are thousands of
//! them in a round: without leaving that filesystem R passes by the rule (on procfs without a link on the way, since
//! users make some of its links, so R is P), and neither of them has pipes or devices.

mod errors;

use std::{
    ffi::OsStr,
    os::{fd::AsRawFd, unix::ffi::OsStrExt as _},
    path::Path,
};

use rustix::{
    fd::OwnedFd,
    fs::{CWD, FileType, Mode, OFlags, ResolveFlags},
    io::Errno,
};

pub use self::errors::failed;
use self::errors::{always_denied, magic_link, not_granted};
use super::{
    denied_paths::{DeniedPaths, WantedPart},
    file_identity,
    machine_mounts::MachineMounts,
    names,
    roots::Roots,
};
use crate::error::SourceError;

/// `SYSFS_MAGIC` of linux/magic.h: what statfs(2) calls a sysfs.
pub const SYSFS: u64 = 0x6265_6572;
/// `PROC_SUPER_MAGIC` of linux/magic.h.
pub const PROCFS: u64 = 0x9fa0;
/// `DEBUGFS_MAGIC`, `TRACEFS_MAGIC` and `SECURITYFS_MAGIC`: reading their files can change something.
const KERNEL_ONLY: [u64; 3] = [0x6462_6720, 0x7472_6163, 0x7363_6673];
/// `openat2` gives up with `EAGAIN` when something was renamed while it resolved a `..`; how often to ask again.
const RESOLVE_ATTEMPTS: usize = 32;

/// The folder that all paths are below, `/` on a live machine.
pub struct Tree {
    root: OwnedFd,
    /// Real path of the root without a final slash; empty for `/`.
    prefix: String,
    /// False on kernels before 5.6 and under seccomp filters that do not know the call.
    openat2: bool,
    /// `/proc` of the live machine, if it is a procfs.
    proc: Option<OwnedFd>,
    /// `/sys` of it, if it is a sysfs.
    sys: Option<OwnedFd>,
    /// The files that no grant reaches.
    denied: DeniedPaths,
    /// The way to the machine's mounts, where gpud has others.
    mounts: Option<MachineMounts>,
}

/// The kind of a confined access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessKind {
    /// Reads a file's content, a link's target or facts: the path must be granted.
    Content,
    /// Searches a directory for names that are granted.
    Traversal,
    /// Counts the names in a directory: its path must be granted.
    Count,
    /// Reads the space of the filesystem: the path must be granted.
    Space,
}

impl AccessKind {
    fn is_granted(self, roots: &Roots, path: &str) -> bool {
        match self {
            Self::Content | Self::Count | Self::Space => roots.allows(path),
            Self::Traversal => roots.leads_to(path),
        }
    }

    fn wanted(self) -> WantedPart {
        match self {
            Self::Content | Self::Traversal => WantedPart::Inside,
            Self::Count => WantedPart::Count,
            Self::Space => WantedPart::Space,
        }
    }
}

impl Tree {
    /// Opens the root folder.
    ///
    /// # Errors
    /// When it cannot be opened, and [`SourceError::NotSupported`] for a root other than `/` on a kernel without
    /// `openat2`: links of such a tree could not be kept inside.
    pub fn new(root: &Path) -> Result<Self, SourceError> {
        let what = root.display().to_string();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(root, flags, Mode::empty()).map_err(|e| failed(&what, e))?;
        let prefix = real_path(&what, &fd)?;
        let probe = rustix::fs::openat2(&fd, ".", flags, Mode::empty(), ResolveFlags::IN_ROOT);
        let mut tree = Self {
            root: fd,
            prefix: prefix.trim_end_matches('/').to_owned(),
            openat2: probe.is_ok(),
            proc: None,
            sys: None,
            denied: DeniedPaths::default(),
            mounts: None,
        };
        if tree.is_live() {
            tree.denied = DeniedPaths::live();
            tree.mounts = MachineMounts::find();
        }
        if tree.openat2 && tree.is_live() {
            let own = |name, magic| {
                let opened = rustix::fs::openat(&tree.root, name, flags, Mode::empty()).ok();
                opened.filter(|folder| is_on(folder, magic))
            };
            (tree.proc, tree.sys) = (own("proc", PROCFS), own("sys", SYSFS));
        }
        if !tree.openat2 && !tree.is_live() {
            return Err(SourceError::NotSupported(format!(
                "{what}: a folder as the machine's root (needs openat2, Linux 5.6)"
            )));
        }
        Ok(tree)
    }

    /// Whether this is the machine itself and not a copy of some of its files.
    pub fn is_live(&self) -> bool {
        self.prefix.is_empty()
    }

    /// The same tree, of which no grant reaches these files and folders either.
    #[must_use]
    pub fn denying(mut self, own_files: &[std::path::PathBuf]) -> Self {
        self.denied = self.denied.with(own_files);
        self
    }

    /// The same, with the machine's `/` mounted at this folder. Without effect where gpud has the machine's mounts.
    pub fn below(mut self, host_root: &Path) -> Self {
        self.mounts = self.mounts.map(|mounts| mounts.below(host_root));
        self
    }

    /// Whether gpud has other mounts than the machine.
    pub fn has_other_mounts(&self) -> bool {
        self.mounts.is_some()
    }

    /// Whether no grant reaches a path, for one kind of access.
    pub fn is_denied(&self, path: &str, roots: &Roots, access: AccessKind) -> bool {
        self.denied
            .holds(path, access.wanted(), roots.has_environments())
    }

    #[cfg(test)]
    pub(super) fn without_openat2(mut self) -> Self {
        self.openat2 = false;
        (self.proc, self.sys) = (None, None);
        self
    }

    /// Opens a normalised path with `flags`; with `roots`, only inside them. The handle is close-on-exec and never
    /// becomes a controlling terminal.
    ///
    /// # Errors
    /// [`SourceError::Denied`] names the path to grant. Otherwise what the kernel says.
    pub fn open(
        &self,
        path: &str,
        flags: OFlags,
        within: Option<(&Roots, AccessKind)>,
    ) -> Result<OwnedFd, SourceError> {
        if let Some((roots, access)) = within
            && !access.is_granted(roots, path)
        {
            return Err(not_granted(path, path));
        }
        self.open_granted(path, flags, within)
    }

    /// Opens a bare handle for what is on the machine at this path: see `machine_mounts.rs`. It is good for facts of the
    /// filesystem only.
    ///
    /// # Errors
    /// As for [`Tree::open`].
    pub fn open_of_machine(
        &self,
        path: &str,
        within: Option<(&Roots, AccessKind)>,
    ) -> Result<OwnedFd, SourceError> {
        let is_granted = within.is_none_or(|(roots, access)| access.is_granted(roots, path));
        match &self.mounts {
            Some(mounts) if is_granted => mounts.open(path),
            _ => self.open(path, OFlags::PATH, within),
        }
    }

    /// The same for a path that is known to be granted: where links lead is looked at all the same.
    ///
    /// # Errors
    /// As for [`Tree::open`].
    pub fn open_granted(
        &self,
        path: &str,
        flags: OFlags,
        within: Option<(&Roots, AccessKind)>,
    ) -> Result<OwnedFd, SourceError> {
        let mut flags = flags | OFlags::CLOEXEC;
        // openat2 refuses flags that mean nothing for a bare handle.
        if !flags.contains(OFlags::PATH) {
            flags |= OFlags::NOCTTY;
        }
        let Some((roots, access)) = within else {
            return self.open_any(path, flags);
        };
        if self.is_denied(path, roots, access) {
            return Err(always_denied(path, path));
        }
        if let Some(opened) = self.open_plainly(path, flags) {
            return opened;
        }
        if !self.openat2 && passes_magic_link(path) {
            return Err(magic_link(path));
        }
        let keep = flags & OFlags::NOFOLLOW;
        let handle = self.open_any(path, OFlags::PATH | OFlags::CLOEXEC | keep)?;
        let real = real_path(path, &handle)?;
        let real = match real.strip_prefix(&self.prefix) {
            Some("") => "/",
            Some(inside) => inside,
            None => &real,
        };
        if self.is_denied(real, roots, access) || self.is_denied_elsewhere(real, &handle, access) {
            return Err(always_denied(path, real));
        }
        // Without openat2 a user's link might lead through a magic one, so only the kernel's links are followed then.
        if real != path
            && !(self.openat2 && access.is_granted(roots, real))
            && !self.is_kernel_link(path, real, &handle)
        {
            return Err(not_granted(path, real));
        }
        if flags.contains(OFlags::PATH) {
            return Ok(handle);
        }
        self.reopen(path, &handle, flags)
    }

    /// Opens what is granted, if it is on the live machine's own procfs or sysfs and nothing is mounted over it (as
    /// lxcfs does, a FUSE that can hang), or says that it is not there. `None`: use
    /// [`Tree::open`].
    pub fn open_own(
        &self,
        path: &str,
        flags: OFlags,
        within: Option<(&Roots, AccessKind)>,
    ) -> Option<Result<OwnedFd, SourceError>> {
        let is_out = |(roots, access): (&Roots, AccessKind)| {
            !access.is_granted(roots, path) || self.is_denied(path, roots, access)
        };
        if within.is_some_and(is_out) {
            return None;
        }
        self.open_plainly(path, flags | OFlags::CLOEXEC)
    }

    /// Whether the kernel has it in memory that nothing is at a normalised path of the live machine, which is granted: it
    /// asks no disk and no server. False where it does not know, and on kernels before 5.12.
    pub fn is_known_absent(&self, path: &str, within: Option<(&Roots, AccessKind)>) -> bool {
        let is_out = |(roots, access): (&Roots, AccessKind)| {
            !access.is_granted(roots, path) || self.is_denied(path, roots, access)
        };
        // An escape represents bytes that would have to be tried as well.
        if !self.openat2
            || !self.is_live()
            || within.is_some_and(is_out)
            || names::raw(path).is_some()
        {
            return false;
        }
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let resolve = ResolveFlags::NO_MAGICLINKS | ResolveFlags::CACHED;
        let relative = path.trim_start_matches('/');
        // To the kernel an empty name is not there; it is the root folder.
        let opened = rustix::fs::openat2(&self.root, relative, flags, Mode::empty(), resolve);
        !relative.is_empty() && matches!(opened, Err(Errno::NOENT))
    }

    /// Opens a file of the live machine's `/proc` that no link leads to, or of its `/sys`, that nothing is mounted over.
    /// `None`: it is not such a file, or cannot be opened for another reason than that it is not there; the long way
    /// tells.
    fn open_plainly(&self, path: &str, flags: OFlags) -> Option<Result<OwnedFd, SourceError>> {
        let mut resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV;
        let (folder, inside) = match path.strip_prefix("/sys/") {
            Some(inside) => (&self.sys, inside),
            None => {
                resolve |= ResolveFlags::NO_SYMLINKS;
                (&self.proc, path.strip_prefix("/proc/")?)
            }
        };
        match rustix::fs::openat2(folder.as_ref()?, inside, flags, Mode::empty(), resolve) {
            Ok(opened) => Some(Ok(opened)),
            // The long way tries the bytes that an escape stands for.
            Err(Errno::NOENT) if names::raw(path).is_some() => None,
            Err(error @ Errno::NOENT) => Some(Err(failed(path, error))),
            Err(_) => None,
        }
    }

    /// Turns a checked handle into one that can be read.
    fn reopen(&self, path: &str, handle: &OwnedFd, flags: OFlags) -> Result<OwnedFd, SourceError> {
        let stat = rustix::fs::fstat(handle).map_err(|e| failed(path, e))?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => {
                rustix::fs::openat(handle, ".", flags | OFlags::DIRECTORY, Mode::empty())
            }
            FileType::RegularFile => {
                let own = format!("/proc/self/fd/{}", handle.as_raw_fd());
                rustix::fs::openat(CWD, own, flags, Mode::empty())
            }
            // Merely opening a pipe or a device can wait, take data away, or set hardware in motion.
            _ => {
                return Err(SourceError::Invalid(format!(
                    "{path}: neither a regular file nor a directory"
                )));
            }
        }
        .map_err(|e| failed(path, e))
    }

    fn open_any(&self, path: &str, flags: OFlags) -> Result<OwnedFd, SourceError> {
        let opened = self.open_named(path, OsStr::new(path), flags);
        if matches!(opened, Err(SourceError::NotFound(_)))
            && let Some(raw) = names::raw(path)
        {
            return self.open_named(path, &raw, flags);
        }
        opened
    }

    /// Opens a file by its name as the system has it; `path` is how it is shown.
    fn open_named(&self, path: &str, name: &OsStr, flags: OFlags) -> Result<OwnedFd, SourceError> {
        let bytes = name.as_bytes();
        let start = bytes.iter().take_while(|byte| **byte == b'/').count();
        let relative = match bytes.get(start..) {
            None | Some([]) => OsStr::new("."),
            Some(relative) => OsStr::from_bytes(relative),
        };
        let mut resolve = ResolveFlags::NO_MAGICLINKS;
        if !self.is_live() {
            resolve |= ResolveFlags::IN_ROOT;
        }
        for _ in 0..RESOLVE_ATTEMPTS {
            let opened = if self.openat2 {
                rustix::fs::openat2(&self.root, relative, flags, Mode::empty(), resolve)
            } else {
                rustix::fs::openat(&self.root, relative, flags, Mode::empty())
            };
            match opened {
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(Errno::LOOP) => return Err(magic_link(path)),
                opened => return opened.map_err(|e| failed(path, e)),
            }
        }
        Err(SourceError::Other(format!(
            "{path}: moved again and again while it was opened"
        )))
    }

    /// Whether what no grant reaches is here under a path that does not show it: on a procfs that is mounted elsewhere
    /// than at `/proc`, on a filesystem of the kernel's own, or under a second name.
    fn is_denied_elsewhere(&self, real: &str, handle: &OwnedFd, access: AccessKind) -> bool {
        let is_at = |top: &str| real == top || real.strip_prefix(top).is_some_and(is_absolute);
        if !self.is_live() || access == AccessKind::Space || is_at("/proc") {
            return false;
        }
        if is_on(handle, PROCFS) || KERNEL_ONLY.iter().any(|magic| is_on(handle, *magic)) {
            return true;
        }
        // A sysfs has no second names, and thousands of its files are read in a round.
        !(is_at("/sys") && is_on(handle, SYSFS))
            && file_identity::is_among(handle, real, &self.denied.identities())
    }

    /// Whether only links made by the kernel can have led from `path` to `real`.
    fn is_kernel_link(&self, path: &str, real: &str, handle: &OwnedFd) -> bool {
        [("/sys/", SYSFS), ("/proc/", PROCFS)]
            .into_iter()
            .any(|(top, magic)| {
                path.starts_with(top)
                    && real.starts_with(top)
                    // A copied tree has no sysfs; there the folder says it.
                    && (!self.is_live() || is_on(handle, magic))
            })
    }
}

fn is_absolute(path: &str) -> bool {
    path.starts_with('/')
}

/// Whether a file is on a filesystem of this kind.
pub fn is_on(handle: &OwnedFd, magic: u64) -> bool {
    rustix::fs::fstatfs(handle).is_ok_and(|fs| u64::try_from(fs.f_type) == Ok(magic))
}

/// The kernel's own name for an open file.
fn real_path(what: &str, fd: &OwnedFd) -> Result<String, SourceError> {
    let link = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let name = rustix::fs::readlinkat(CWD, link, Vec::new()).map_err(|e| failed(what, e))?;
    Ok(names::shown(name.to_bytes()).into_owned())
}

/// Whether a path names a link of `/proc` that jumps to where a process is, for kernels that cannot refuse those.
fn passes_magic_link(path: &str) -> bool {
    let mut segments = path.split('/').skip(1);
    if segments.next() != Some("proc") || segments.next().is_none() {
        return false;
    }
    let rest: Vec<&str> = segments.collect();
    rest.iter().enumerate().any(|(at, name)| match *name {
        "root" | "cwd" | "exe" => true,
        "fd" | "map_files" | "ns" => at + 1 < rest.len(),
        _ => false,
    })
}

#[cfg(test)]
mod tests;
