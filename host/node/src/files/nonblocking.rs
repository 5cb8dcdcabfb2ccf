//! Reads that cannot block, made on the caller's own thread: of files that the kernel has in memory. All other reads
//! are made on threads that may hang.
//!
//! | what | why it does not wait |
//! |---|---|
//! | `/proc` files of [`FILES`], `/proc/sys/kernel`, `/proc/sys/net` | counters and settings of the kernel's own (`fs/proc`, `kernel/sysctl.c`); the mount table prints memory, also for mounts that hang (`fs/proc_namespace.c`) |
//! | names, links and absent files of `/sys` | kernfs has its tree in memory, and asks a driver only for what is in a file (`fs/kernfs/dir.c`, `file.c`) |
//! | `/sys` folders of [`FOLDERS`]; `thermal_throttle` of processors | counters of the kernel's own: `drivers/base/node.c`, `drivers/edac`, `mm`; `arch/x86/kernel/cpu/mce/therm_throt.c` |
//! | `/sys/class/net/‹interface›` attributes of [`INTERFACE`], `statistics/*` | `net/core/net-sysfs.c` prints the first from memory; a driver must give statistics without sleeping (`Documentation/networking/netdevices.rst`, `ndo_get_stats`) |
//! | other absent files | the kernel says so with `RESOLVE_CACHED` only where its name cache knows, also of a network filesystem (`fs/namei.c`, `LOOKUP_CACHED`) |

use rustix::fs::OFlags;

use super::{
    Answers, DirEntry,
    pattern::{Segment, normalized},
    pci,
    read::{MAX_GLOB_BYTES, View, for_each_name, leads_on, read_bounded},
    tree::AccessKind,
};
use crate::error::SourceError;

/// Names in a directory, and matches of a pattern, that are looked at without going to a thread: some tens of microseconds.
pub const MAX_NAMES: usize = 512;
/// Files of procfs, only where nothing is mounted over them.
pub const FILES: [&str; 12] = [
    "/proc/1/mountinfo",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/pressure/cpu",
    "/proc/pressure/io",
    "/proc/pressure/irq",
    "/proc/pressure/memory",
    "/proc/stat",
    "/proc/sys/fs/file-max",
    "/proc/sys/fs/file-nr",
    "/proc/uptime",
    "/proc/vmstat",
];
/// Folders with all that is below them.
const FOLDERS: [&str; 6] = [
    "/proc/sys/kernel/",
    "/proc/sys/net/",
    "/sys/devices/system/edac/",
    "/sys/devices/system/machinecheck/",
    "/sys/devices/system/node/",
    "/sys/kernel/mm/",
];
/// The one file below them for which a driver is asked.
const ASKS_DRIVER: &str = "/sdram_scrub_rate";
/// Folder of the processors. For much that is in it (frequencies, `acpi_cppc`) drivers or the firmware are asked.
const PROCESSORS: &str = "/sys/devices/system/cpu/";
/// Attributes of a network interface. Not `carrier`, `speed` and `duplex`: they wait for the lock of all interfaces; nor
/// `address`, which waits for a driver that sets it.
const INTERFACE: [&str; 6] = [
    "carrier_changes",
    "carrier_down_count",
    "carrier_up_count",
    "flags",
    "mtu",
    "type",
];

/// Whether what is in a file is in the kernel's memory.
fn is_nonblocking(path: &str) -> bool {
    FILES.contains(&path)
        || (FOLDERS.iter().any(|folder| path.starts_with(folder)) && !path.ends_with(ASKS_DRIVER))
        || (path.starts_with(PROCESSORS) && path.contains("/thermal_throttle/"))
        || is_of_interface(path)
}

fn is_of_interface(path: &str) -> bool {
    let inside = path.strip_prefix("/sys/class/net/");
    match inside.and_then(|inside| inside.split_once('/')) {
        Some((_, attribute)) => {
            INTERFACE.contains(&attribute)
                || attribute
                    .strip_prefix("statistics/")
                    .is_some_and(|name| !name.contains('/'))
        }
        None => false,
    }
}

fn is_in_sys(path: &str) -> bool {
    path.starts_with("/sys/")
}

/// Each answers `None` where it could have to wait, and where something is unusual: the long way says what.
impl View<'_> {
    /// As [`View::read`].
    pub fn read_now(self, path: &str, max_bytes: u64) -> Option<Result<Vec<u8>, SourceError>> {
        if is_nonblocking(path) || pci::is_attribute(path) {
            self.read_own(path, max_bytes)
        } else {
            self.absent_now(path, AccessKind::Content)
        }
    }

    /// Returns the error for a path that is known to be absent.
    pub fn absent_now<T>(self, path: &str, access: AccessKind) -> Option<Result<T, SourceError>> {
        let path = &*normalized(path).ok()?;
        if is_in_sys(path) {
            let opened = self.open_own(path, OFlags::RDONLY | OFlags::NOCTTY, access)?;
            return opened.err().map(Err);
        }
        let within = self.roots.map(|roots| (roots, access));
        self.tree
            .is_known_absent(path, within)
            .then(|| Err(SourceError::NotFound(path.to_owned())))
    }

    /// As [`View::list`].
    pub fn list_now(
        self,
        path: &str,
        max_entries: usize,
    ) -> Option<Result<Vec<DirEntry>, SourceError>> {
        if is_in_sys(path) {
            self.list_own(path, max_entries)
        } else {
            self.absent_now(path, AccessKind::Traversal)
        }
    }

    /// As [`View::read_link`].
    pub fn read_link_now(self, path: &str) -> Option<Result<String, SourceError>> {
        is_in_sys(path).then(|| self.read_link_own(path)).flatten()
    }

    /// As [`View::read_glob`], for patterns of `/sys` of which every match is nonblocking, or which match nothing.
    pub fn read_glob_now(
        self,
        pattern: &str,
        max_bytes_each: u64,
        max_files: usize,
    ) -> Option<Result<Answers<Vec<u8>>, SourceError>> {
        if !is_in_sys(pattern) {
            return None;
        }
        let mut must_wait = false;
        let matches = self.expand_by(pattern, AccessKind::Content, |parent, segment, is_last| {
            let names = match must_wait {
                true => None,
                false => self.names_now(parent, segment, is_last),
            };
            names.unwrap_or_else(|| {
                must_wait = true;
                Err(SourceError::NotFound(parent.to_owned()))
            })
        });
        let matches = matches.ok().filter(|_| !must_wait)?;
        if matches.paths.len() > MAX_NAMES {
            return None;
        }
        let mut left = MAX_GLOB_BYTES;
        let mut answers = Vec::new();
        for path in matches.paths {
            let file =
                match self.open_own(&path, OFlags::RDONLY | OFlags::NOCTTY, AccessKind::Content)? {
                    Ok(file) if is_nonblocking(&path) => file,
                    Err(SourceError::NotFound(_)) => continue,
                    _ => return None,
                };
            let content = read_bounded(&path, &file, max_bytes_each.min(left));
            if let Ok(content) = &content {
                left = left.saturating_sub(content.len() as u64);
            }
            answers.push((path, content));
        }
        answers.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        (answers.len() <= max_files).then_some(Ok(answers))
    }

    /// The names in a directory of `/sys` that fit one segment of a pattern.
    fn names_now(
        self,
        parent: &str,
        segment: &Segment,
        is_last: bool,
    ) -> Option<Result<Vec<String>, SourceError>> {
        let dir = match self.open_own(
            parent,
            OFlags::RDONLY | OFlags::DIRECTORY,
            AccessKind::Traversal,
        )? {
            Ok(dir) => dir,
            Err(error) => return Some(Err(error)),
        };
        let mut names = Vec::new();
        let mut count = 0usize;
        let listed = for_each_name(parent, &dir, |name, kind| {
            count += 1;
            if (is_last || leads_on(kind)) && segment.matches(name) {
                names.push(name.to_owned());
            }
            match count > MAX_NAMES {
                true => Err(SourceError::Other("too many names".to_owned())),
                false => Ok(()),
            }
        });
        listed.ok().map(|()| Ok(names))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_kernel_has_in_memory_is_nonblocking() {
        for path in FILES.into_iter().chain([
            "/proc/sys/net/netfilter/nf_conntrack_count",
            "/proc/sys/kernel/numa_balancing",
            "/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count",
            "/sys/devices/system/edac/mc/mc0/ce_count",
            "/sys/devices/system/node/node0/meminfo",
            "/sys/kernel/mm/transparent_hugepage/enabled",
            "/sys/class/net/eth0/type",
            "/sys/class/net/eth0/statistics/rx_errors",
        ]) {
            assert!(is_nonblocking(path), "{path}");
        }
        for path in [
            // An automount of its own.
            "/proc/sys/fs/binfmt_misc/status",
            // It collects from all processors.
            "/proc/sys/vm/stat_refresh",
            "/proc/1/stat",
            "/proc/net/tcp",
            "/sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq",
            "/sys/devices/system/cpu/cpu0/acpi_cppc/feedback_ctrs",
            "/sys/devices/system/edac/mc/mc0/sdram_scrub_rate",
            "/sys/class/net/eth0/address",
            "/sys/devices/system/clocksource/clocksource0/current_clocksource",
            "/sys/class/hwmon/hwmon0/temp1_input",
            "/sys/class/net/eth0/carrier",
            "/sys/class/net/eth0/speed",
            "/sys/class/net/eth0/device/uevent",
            "/sys/class/net/eth0/statistics/a/b",
            "/sys/class/net/type",
            "/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error",
            "/etc/os-release",
        ] {
            assert!(!is_nonblocking(path), "{path}");
        }
    }
}
