//! A cgroup for each run of a script or of a granted program, where the system has cgroup v2 and lets gpud make them.
//!
//! Nothing that a run starts leaves its cgroup by itself, and `cgroup.kill` ends all of it at once. Where the system
//! hands down the controllers `memory` and `pids`, they bound the run. cgroup v2 gives controllers only to cgroups whose
//! parent holds no process, so gpud moves into a leaf of its own where its cgroup was delegated to it (`Delegate=yes`).

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, OnceLock, PoisonError},
};

/// Folder of the runs' cgroups.
const RUNS: &str = "gpud-runs";
/// Leaf that gpud moves into.
const LEAF: &str = "gpud-daemon";
/// Most processes and threads of a run.
const MAX_PIDS: u64 = 4096;
/// Least memory that a run may take, bytes; else a quarter of the machine's.
const LEAST_MEMORY: u64 = 1 << 30;

/// The place of the runs' cgroups.
#[derive(Debug)]
pub struct Cgroups {
    folder: PathBuf,
    /// The machine's memory if runs are bounded, else `None`.
    bounded_by: Option<u64>,
    /// Cgroups that could not be removed yet.
    left: Mutex<Vec<PathBuf>>,
}

/// The cgroup of one run. Dropped, it ends all that is in it.
#[derive(Debug)]
pub struct Cgroup {
    folder: PathBuf,
    place: &'static Cgroups,
}

impl Cgroups {
    /// Returns the cgroups of this process; `None`, with a line in the log the first time, where there are none.
    pub fn own() -> Option<&'static Self> {
        static OWN: OnceLock<Option<Cgroups>> = OnceLock::new();
        let own = OWN.get_or_init(|| match Self::find() {
            Ok(own) => Some(own),
            Err(error) => {
                tracing::info!(
                    "scripts have no cgroup of their own, limits of processes bound them instead: {error}"
                );
                None
            }
        });
        own.as_ref()
    }

    fn find() -> io::Result<Self> {
        // Users name what they mount, in any bytes.
        let mounts = fs::read("/proc/self/mountinfo")?;
        let mounts = String::from_utf8_lossy(&mounts);
        let own = fs::read_to_string("/proc/self/cgroup")?;
        let missing = |what: &str| io::Error::other(what.to_owned());
        let mount = mount_of(&mounts).ok_or_else(|| missing("cgroup v2 is not mounted"))?;
        let path = own_path(&own).ok_or_else(|| missing("gpud is in no cgroup v2"))?;
        // A gpud that was started again in place is in its leaf already.
        let path = path.strip_suffix(&format!("/{LEAF}")).unwrap_or(path);
        let base = mount.join(path.trim_start_matches('/'));
        let memory = total_memory();
        Self::prepare(&base, std::process::id(), is_delegated(&base), memory)
    }

    /// Makes the place below gpud's own cgroup and takes the controllers that it may have.
    fn prepare(base: &Path, own_pid: u32, is_delegated: bool, memory: u64) -> io::Result<Self> {
        let folder = base.join(RUNS);
        if let Err(error) = fs::create_dir(&folder)
            && error.kind() != io::ErrorKind::AlreadyExists
        {
            return Err(error);
        }
        if !folder.join("cgroup.kill").exists() {
            return Err(io::Error::other(
                "the kernel has no cgroup.kill (Linux 5.14)",
            ));
        }
        let own = Self {
            bounded_by: enable(base, &folder, own_pid, is_delegated).then_some(memory),
            folder,
            left: Mutex::default(),
        };
        own.remove_stale();
        Ok(own)
    }

    /// Makes the cgroup of a run.
    ///
    /// # Errors
    /// The system's.
    pub fn create(&'static self, run: u64) -> io::Result<Cgroup> {
        self.remove_left();
        let folder = self.folder.join(format!("{}-{run}", std::process::id()));
        fs::create_dir(&folder)?;
        if let Some(memory) = self.bounded_by {
            let most = LEAST_MEMORY.max(memory / 4);
            for (file, value) in [
                ("memory.max", most),
                ("memory.oom.group", 1),
                ("pids.max", MAX_PIDS),
            ] {
                // A controller that is not there bounds nothing.
                let _ = set(&folder.join(file), &value.to_string());
            }
        }
        Ok(Cgroup {
            folder,
            place: self,
        })
    }

    /// Whether memory and processes are bounded.
    pub fn bounds(&self) -> bool {
        self.bounded_by.is_some()
    }

    /// Cgroups of a gpud that was killed. Those of one that runs are not empty, or are made again.
    fn remove_stale(&self) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        for entry in entries {
            let name = entry.file_name();
            let pid = name.to_str().and_then(|name| name.split_once('-'));
            let Some((pid, _)) = pid else { continue };
            if !Path::new("/proc").join(pid).exists() {
                let _ = set(&entry.path().join("cgroup.kill"), "1");
                let _ = fs::remove_dir(entry.path());
            }
        }
    }

    fn remove_left(&self) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.retain(|folder| is_busy(fs::remove_dir(folder)));
    }
}

impl Cgroup {
    /// Puts a process into it; what it starts from then on is in it as well.
    ///
    /// # Errors
    /// The system's.
    pub fn add(&self, pid: i32) -> io::Result<()> {
        set(&self.folder.join("cgroup.procs"), &pid.to_string())
    }

    /// Ends every process in it.
    pub fn kill(&self) {
        let _ = set(&self.folder.join("cgroup.kill"), "1");
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        self.kill();
        if is_busy(fs::remove_dir(&self.folder)) {
            let left = self.place.left.lock();
            let mut left = left.unwrap_or_else(PoisonError::into_inner);
            left.push(std::mem::take(&mut self.folder));
        }
    }
}

/// Whether a cgroup still holds processes that are on their way out.
fn is_busy(removed: io::Result<()>) -> bool {
    removed.is_err_and(|error| error.kind() == io::ErrorKind::ResourceBusy)
}

/// Takes `memory` and `pids` down to the runs. False where the system does not hand them out.
fn enable(base: &Path, folder: &Path, own_pid: u32, is_delegated: bool) -> bool {
    const WANTED: &str = "+memory +pids";
    let offered = fs::read_to_string(base.join("cgroup.controllers")).unwrap_or_default();
    let has = |name: &str| offered.split_ascii_whitespace().any(|word| word == name);
    if !has("memory") || !has("pids") {
        return false;
    }
    if is_delegated {
        let procs = fs::read_to_string(base.join("cgroup.procs")).unwrap_or_default();
        let is_alone = procs
            .split_ascii_whitespace()
            .eq([own_pid.to_string().as_str()]);
        let leaf = base.join(LEAF);
        if is_alone && (leaf.is_dir() || fs::create_dir(&leaf).is_ok()) {
            let _ = set(&leaf.join("cgroup.procs"), &own_pid.to_string());
        }
    }
    set(&base.join("cgroup.subtree_control"), WANTED).is_ok()
        && set(&folder.join("cgroup.subtree_control"), WANTED).is_ok()
}

/// Whether systemd handed this cgroup over to gpud.
fn is_delegated(base: &Path) -> bool {
    ["user.delegate", "trusted.delegate"].iter().any(|name| {
        let mut value = [0; 4];
        rustix::fs::getxattr(base, *name, &mut value)
            .is_ok_and(|size| value.get(..size) == Some(b"1".as_slice()))
    })
}

/// Writes a setting. The kernel's files are there; in a test they are made.
fn set(file: &Path, value: &str) -> io::Result<()> {
    fs::write(file, value)
}

/// Returns the mount point of cgroup v2: a line of `/proc/self/mountinfo` whose filesystem is `cgroup2`.
fn mount_of(mountinfo: &str) -> Option<PathBuf> {
    mountinfo.lines().find_map(|line| {
        let (mount, filesystem) = line.split_once(" - ")?;
        let point = mount.split(' ').nth(4)?;
        filesystem
            .starts_with("cgroup2 ")
            .then(|| PathBuf::from(point))
    })
}

/// This process's place in cgroup v2: the line of hierarchy 0. One that is outside of what is mounted here begins with
/// `/..`.
fn own_path(cgroup: &str) -> Option<&str> {
    let path = cgroup.lines().find_map(|line| line.strip_prefix("0::"))?;
    (!path.starts_with("/..") && !path.ends_with(" (deleted)")).then_some(path)
}

#[allow(
    clippy::unnecessary_cast,
    clippy::useless_conversion,
    reason = "the types differ between platforms"
)]
fn total_memory() -> u64 {
    let facts = rustix::system::sysinfo();
    (facts.totalram as u64).saturating_mul(u64::from(facts.mem_unit))
}

#[cfg(test)]
mod tests;
