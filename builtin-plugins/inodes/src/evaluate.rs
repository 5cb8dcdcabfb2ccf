//! Which filesystems count, and the verdict.

use std::collections::BTreeSet;

use gpud_builtin_shared::mounts::Mount;
use gpud_sdk::files::{gauge, percent};
use gpud_sdk::findings::{self, Finding, Memory};
use gpud_sdk::settings::Settings;
use gpud_sdk::sysfs::FsUsage;
use gpud_sdk::{CheckContext, Report, Subject};
use serde_json::json;

/// Gauge: all.
pub const TOTAL: &str = "filesystem_inodes";
/// Gauge: free ones.
pub const FREE: &str = "filesystem_free_inodes";
/// Gauge: used ones of all.
pub const PERCENT: &str = "filesystem_used_inodes_percent";

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "degraded_percent": {
      "description": "Share of used inodes from which the state is Degraded.",
      "type": "integer", "minimum": 1, "maximum": 100, "default": 90
    },
    "unhealthy_percent": {
      "description": "Share of used inodes from which the state is Unhealthy.",
      "type": "integer", "minimum": 1, "maximum": 100, "default": 99
    },
    "ignored_mounts": {
      "description": "Mount points that are not judged.",
      "type": "array", "maxItems": 256, "items": { "type": "string" }
    }
  }
}"#;

/// Filesystems of a fixed or limited number of inodes. Btrfs, ZFS and bcachefs have no such number (they say 0).
const TYPES: [&str; 7] = ["ext4", "xfs", "ext3", "ext2", "f2fs", "jfs", "tmpfs"];
/// XFS makes inodes out of free space and counts those that it could still make (`fs/xfs/xfs_super.c`,
/// `xfs_statfs_inodes`): below this share of free space, percent, the disk is full, not its inodes.
const XFS_LEAST_SPACE: f64 = 5.0;
const ADVICE: &str =
    "Look for folders of very many small files (du --inodes -x) and remove what is not needed.";

/// The configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    degraded: u64,
    unhealthy: u64,
    ignored: Vec<String>,
}

impl Config {
    /// Reads the document.
    ///
    /// # Errors
    /// In words, when it is not JSON.
    pub fn parse(document: &str) -> Result<Self, String> {
        let settings = Settings::parse(document)?;
        Ok(Self {
            degraded: settings.number("degraded_percent", 90, 1..=100),
            unhealthy: settings.number("unhealthy_percent", 99, 1..=100),
            ignored: settings.words("ignored_mounts").unwrap_or_default(),
        })
    }
}

/// One filesystem.
#[derive(Debug, Clone, PartialEq)]
pub struct Filesystem {
    point: String,
    fstype: String,
    total: u64,
    free: u64,
    /// Not short of inodes but of space.
    out_of_space: bool,
}

impl Filesystem {
    /// With what statvfs said; nothing where there is no number of inodes.
    pub fn new(mount: &Mount, usage: &FsUsage) -> Option<Self> {
        if usage.total_inodes == 0 || usage.read_only {
            return None;
        }
        let space = percent(usage.available_bytes, usage.total_bytes);
        Some(Self {
            point: mount.point.clone(),
            fstype: mount.fstype.clone(),
            total: usage.total_inodes,
            free: usage.free_inodes.min(usage.total_inodes),
            out_of_space: mount.fstype == "xfs" && space < XFS_LEAST_SPACE,
        })
    }

    fn used_percent(&self) -> f64 {
        percent(self.total - self.free, self.total)
    }
}

/// The mounts to look at: one of each filesystem, the one with the shortest path. Volumes of pods and layers of
/// containers are others' business.
pub fn chosen(mounts: &[Mount]) -> Vec<&Mount> {
    let mut wanted: Vec<&Mount> = mounts
        .iter()
        .filter(|mount| {
            let private = [
                "/kubelet/pods/",
                "/containers/",
                "/containerd/",
                "/run/user/",
                "/netns",
            ];
            let of_system = !private.iter().any(|part| mount.point.contains(part));
            let root_overlay = mount.point == "/" && mount.fstype == "overlay";
            of_system && (TYPES.contains(&mount.fstype.as_str()) || root_overlay)
        })
        .collect();
    wanted.sort_by_key(|mount| (mount.point.len(), mount.point.as_str()));
    let mut seen = BTreeSet::new();
    wanted.retain(|mount| seen.insert(mount.device.as_str()));
    wanted
}

/// Judges one reading. `unread`: mount points that could not be looked at.
pub fn judge(
    context: &CheckContext,
    config: &Config,
    filesystems: &[Filesystem],
    unread: &[String],
    before: &Memory,
) -> (Report, Memory) {
    if filesystems.is_empty() && unread.is_empty() {
        let reason = "no filesystem with a limited number of inodes";
        return (findings::unsupported(context, reason), Memory::default());
    }
    let mut found = Vec::new();
    for one in filesystems {
        let (used, point) = (one.used_percent(), &one.point);
        if one.out_of_space || config.ignored.contains(point) {
            continue;
        }
        let text = format!("{point}: {used:.0} % of {} inodes are used", one.total);
        let finding = if used >= gauge(config.unhealthy) {
            Finding::unhealthy(point.clone(), "inodes_exhausted", text)
        } else if used >= gauge(config.degraded) {
            Finding::degraded(point.clone(), "inodes_low", text)
        } else {
            continue;
        };
        found.push(
            finding
                .advice(ADVICE)
                .subject(Subject::Mount(point.clone())),
        );
    }
    let most = filesystems
        .iter()
        .max_by(|a, b| a.used_percent().total_cmp(&b.used_percent()));
    let mut healthy = most.map_or_else(
        || "no filesystem could be looked at".to_owned(),
        |most| {
            format!(
                "at most {:.0} % of inodes are used ({})",
                most.used_percent(),
                most.point
            )
        },
    );
    if !unread.is_empty() {
        healthy.push_str(&format!("; {} could not be looked at", unread.join(", ")));
    }
    let (mut report, after) = findings::judge(context, &healthy, &found, before);
    for one in filesystems {
        let labels = [("mount_point", one.point.as_str())];
        report = report
            .gauge_with(TOTAL, &labels, gauge(one.total))
            .gauge_with(FREE, &labels, gauge(one.free))
            .gauge_with(PERCENT, &labels, one.used_percent());
    }
    let shown: Vec<_> = filesystems
        .iter()
        .map(|one| json!({"mount_point": one.point, "fstype": one.fstype, "inodes": one.total, "free_inodes": one.free}))
        .collect();
    (
        findings::with_data(report, &json!({ "filesystems": shown })),
        after,
    )
}

#[cfg(test)]
mod tests;
