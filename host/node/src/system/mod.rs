//! Describes the machine: names, identifiers, processor, operating system, and the daemon's own footprint.

mod cpu;
mod libc_version;
mod nic;
mod os_release;
mod own_usage;
mod virtualization;

use std::{collections::BTreeMap, time::Duration};

use tracing::warn;

pub use cpu::CpuFacts;
pub use libc_version::glibc_version;
pub use nic::{NicAddress, private_interfaces};
pub use os_release::OsRelease;
pub use own_usage::{OwnUsage, own_usage};
pub use virtualization::Virtualization;

use super::{clock::Clock, error::SourceError, files::Files};

/// Largest file read here. `/proc/cpuinfo` of a machine with a thousand threads is 1.5 MB.
const MAX_BYTES: u64 = 8 << 20;

/// Facts about the machine that do not change while it runs. What could not be read is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SystemFacts {
    /// Random identifier of this boot, from `/proc/sys/kernel/random/boot_id`.
    pub boot_id: Option<String>,
    /// When the machine booted, Unix seconds: `btime` of `/proc/stat`. It moves a little when the clock is corrected.
    pub boot_time_unix_s: Option<u64>,
    /// Kernel release, as `uname -r`.
    pub kernel_release: Option<String>,
    /// Machine name of the kernel, as `uname -m`: `x86_64`, `aarch64`.
    pub machine: String,
    /// The same as Go names it: `amd64`, `arm64`.
    pub go_arch: String,
    /// Host name.
    pub hostname: Option<String>,
    /// The content of `/etc/os-release`.
    pub os: OsRelease,
    /// First of `/etc/machine-id` and `/var/lib/dbus/machine-id`.
    pub os_machine_id: Option<String>,
    /// `product_uuid` of the firmware, else the device tree's `system-id` or `vm,uuid`, else `/etc/machine-id`. The
    /// firmware's is readable for root only.
    pub system_uuid: Option<String>,
    /// `product_uuid` in lower case, else the machine id with dashes, else the boot id.
    pub host_id: Option<String>,
    /// The manufacturer of the machine: `sys_vendor` of the firmware.
    pub system_manufacturer: Option<String>,
    /// Processor.
    pub cpu: CpuFacts,
    /// Whether this is a virtual machine or a container. Empty for a copied machine.
    pub virtualization: Virtualization,
}

impl SystemFacts {
    /// Reads everything. A fact that cannot be read is logged (unless its source simply is not there) and left out.
    pub async fn read(files: &Files) -> Self {
        let source = SystemFiles(files);
        let boot_id = source.text("/proc/sys/kernel/random/boot_id").await;
        let product_uuid = source.text("/sys/class/dmi/id/product_uuid").await;
        let etc_machine_id = source.text("/etc/machine-id").await;
        let stat = source.text("/proc/stat").await.unwrap_or_default();
        let cpuinfo = source.text("/proc/cpuinfo").await.unwrap_or_default();
        let machine = match source.text("/proc/sys/kernel/arch").await {
            Some(machine) => machine,
            // Before Linux 6.1 only the system call returns it.
            None => rustix::system::uname()
                .machine()
                .to_string_lossy()
                .into_owned(),
        };
        let host_id = product_uuid
            .as_ref()
            .map(|uuid| uuid.to_lowercase())
            .or_else(|| etc_machine_id.as_deref().and_then(with_dashes))
            .or_else(|| boot_id.clone());
        let system_uuid = match &product_uuid {
            Some(uuid) => Some(uuid.clone()),
            None => {
                let tree = [
                    "/proc/device-tree/system-id",
                    "/proc/device-tree/vm,uuid",
                    "/etc/machine-id",
                ];
                source.first(&tree).await
            }
        };
        let virtualization = if files.is_live() {
            Virtualization::detect().await
        } else {
            Virtualization::default()
        };
        Self {
            boot_id,
            boot_time_unix_s: boot_time(&stat),
            kernel_release: source.text("/proc/sys/kernel/osrelease").await,
            go_arch: go_arch(&machine).to_owned(),
            machine,
            hostname: source.text("/proc/sys/kernel/hostname").await,
            os: OsRelease::parse(
                &source
                    .first(&["/etc/os-release", "/usr/lib/os-release"])
                    .await
                    .unwrap_or_default(),
            ),
            os_machine_id: source
                .first(&["/etc/machine-id", "/var/lib/dbus/machine-id"])
                .await,
            system_uuid,
            host_id,
            system_manufacturer: source.text("/sys/class/dmi/id/sys_vendor").await,
            cpu: CpuFacts::parse(&cpuinfo, &stat),
            virtualization,
        }
    }
}

/// Reads small text files whose absence is normal.
struct SystemFiles<'a>(&'a Files);

impl SystemFiles<'_> {
    /// Trimmed content, NULs of the device tree included; `None` when absent, unreadable or empty.
    async fn text(&self, path: &str) -> Option<String> {
        match self.0.read(path, MAX_BYTES).await {
            Ok(content) => {
                let text = String::from_utf8_lossy(&content);
                let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
                (!text.is_empty()).then(|| text.to_owned())
            }
            Err(SourceError::NotFound(_)) => None,
            Err(error) => {
                warn!(%error, "a fact about the machine cannot be read");
                None
            }
        }
    }

    async fn first(&self, paths: &[&str]) -> Option<String> {
        for path in paths {
            if let Some(text) = self.text(path).await {
                return Some(text);
            }
        }
        None
    }
}

/// Time since boot, suspended time included; from sysinfo(2), whole seconds.
pub fn uptime() -> Duration {
    Duration::from_secs(u64::try_from(rustix::system::sysinfo().uptime).unwrap_or(0))
}

/// When the machine booted according to [`uptime`], Unix seconds: for machines whose `/proc/stat` does not say.
pub fn boot_time_from_uptime(clock: &Clock) -> u64 {
    (clock.now_ms() / 1000).saturating_sub(uptime().as_secs())
}

/// The daemon's effective user; 0 is root.
pub fn euid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Memory that the daemon occupies (resident set), in bytes.
///
/// # Errors
/// When `/proc/self/statm` cannot be read or is not as documented.
pub fn own_rss_bytes() -> Result<u64, SourceError> {
    let path = "/proc/self/statm";
    let text = std::fs::read_to_string(path).map_err(|e| SourceError::from_io(path, &e))?;
    let pages = text
        .split_ascii_whitespace()
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok())
        .ok_or_else(|| SourceError::Other(format!("{path}: unexpected content")))?;
    Ok(pages.saturating_mul(rustix::param::page_size() as u64))
}

/// Files that the daemon has open.
///
/// # Errors
/// When `/proc/self/fd` cannot be read.
pub fn own_open_fds() -> Result<u64, SourceError> {
    let path = "/proc/self/fd";
    let failed = |error: std::io::Error| SourceError::from_io(path, &error);
    // Since Linux 6.2 the kernel keeps the count.
    let size = std::fs::metadata(path).map_err(failed)?.len();
    if size > 0 {
        return Ok(size);
    }
    let listed = std::fs::read_dir(path).map_err(failed)?.count() as u64;
    // The listing itself has one open.
    Ok(listed.saturating_sub(1))
}

fn boot_time(proc_stat: &str) -> Option<u64> {
    proc_stat
        .lines()
        .find_map(|line| line.strip_prefix("btime "))
        .and_then(|seconds| seconds.trim().parse().ok())
}

fn go_arch(machine: &str) -> &str {
    match machine {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "i386" | "i486" | "i586" | "i686" => "386",
        other => other,
    }
}

/// A 32-digit machine id in the form of a UUID.
fn with_dashes(machine_id: &str) -> Option<String> {
    let part = |from: usize, to: usize| machine_id.get(from..to);
    if machine_id.len() != 32 {
        return None;
    }
    let parts = [
        part(0, 8)?,
        part(8, 12)?,
        part(12, 16)?,
        part(16, 20)?,
        part(20, 32)?,
    ];
    Some(parts.join("-"))
}

/// `KEY=value` or `key : value` lines, first occurrence of each key, keys trimmed.
fn key_values(text: &str, separator: char) -> BTreeMap<&str, &str> {
    let mut values = BTreeMap::new();
    for (key, value) in text.lines().filter_map(|line| line.split_once(separator)) {
        values.entry(key.trim()).or_insert(value.trim());
    }
    values
}

#[cfg(test)]
mod tests;
