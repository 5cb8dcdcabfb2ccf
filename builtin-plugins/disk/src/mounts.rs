//! Mounts and the space on them. Source: `/proc/‹pid›/mountinfo` (kernel: `Documentation/filesystems/proc.rst` §3.5).

use std::collections::BTreeMap;

use gpud_builtin_shared::mounts::{is_network, unescape};
use gpud_sdk::AccessError;
use gpud_sdk::sysfs::FsUsage;
use serde::Serialize;

/// Filesystems on local disks that hold data.
const DISK_TYPES: [&str; 10] = [
    "ext4", "xfs", "btrfs", "ext3", "ext2", "zfs", "f2fs", "bcachefs", "jfs", "nilfs2",
];
/// Images: always full, never written.
const IMAGE_TYPES: [&str; 5] = ["squashfs", "iso9660", "erofs", "cramfs", "romfs"];

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Where.
    pub point: String,
    /// Filesystem type.
    pub fstype: String,
    /// Device, or whatever the filesystem calls its source.
    pub source: String,
    /// Major device number.
    pub major: u32,
    /// Minor device number.
    pub minor: u32,
}

impl Mount {
    /// Whether the source is a second name of a device node.
    pub fn has_alias(&self) -> bool {
        self.source == "/dev/root" || self.source.starts_with("/dev/mapper/")
    }

    /// Takes the device's own name from its link in `/sys/dev/block`.
    pub fn resolve(&mut self, link_target: &str) {
        if let Some((_, name)) = link_target.rsplit_once('/') {
            self.source = format!("/dev/{name}");
        }
    }
}

/// Reads mountinfo: `‹id› ‹parent› ‹major›:‹minor› ‹root› ‹point› ‹options› [‹tags›…] - ‹type› ‹source› ‹options›`.
/// Lines that cannot be read are left out. Of several mounts at one place the last is seen, and kept.
pub fn parse(text: &str) -> Vec<Mount> {
    // A node has thousands of mounts, so none is looked for among all others.
    let mut at = BTreeMap::new();
    let mut mounts: Vec<Mount> = Vec::new();
    for mount in text.lines().filter_map(parse_line) {
        let place = *at.entry(mount.point.clone()).or_insert(mounts.len());
        match mounts.get_mut(place) {
            Some(hidden) => *hidden = mount,
            None => mounts.push(mount),
        }
    }
    mounts
}

fn parse_line(line: &str) -> Option<Mount> {
    let (before, after) = line.split_once(" - ")?;
    let mut fields = before.split(' ').skip(2);
    let (major, minor) = fields.next()?.split_once(':')?;
    let point = unescape(fields.nth(1)?);
    let mut fields = after.split(' ');
    let (fstype, source) = (fields.next()?, fields.next()?);
    if !counts(&point, fstype) {
        return None;
    }
    Some(Mount {
        point,
        fstype: fstype.to_owned(),
        source: unescape(source),
        major: major.parse().ok()?,
        minor: minor.parse().ok()?,
    })
}

/// Whether a mount is looked at. Per-container mounts and cloud-init's are nobody's disks.
pub fn counts(point: &str, fstype: &str) -> bool {
    !point.starts_with("/mnt/cloud-metadata")
        && !point.contains("/kubelet/pods")
        && (is_local(point, fstype) || is_network(fstype))
}

/// At `/` anything counts that can fill up, an overlay or a RAM disk too: whatever the root is, programs write to it.
fn is_local(point: &str, fstype: &str) -> bool {
    DISK_TYPES.contains(&fstype)
        || (point == "/" && !IMAGE_TYPES.contains(&fstype) && !is_network(fstype))
}

/// The mounts of local filesystems.
pub fn local(mounts: &[Mount]) -> impl Iterator<Item = &Mount> {
    mounts
        .iter()
        .filter(|mount| is_local(&mount.point, &mount.fstype))
}

/// The mounts of network filesystems.
pub fn network(mounts: &[Mount]) -> impl Iterator<Item = &Mount> {
    mounts.iter().filter(|mount| is_network(&mount.fstype))
}

/// A mount as the `data` document shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Partition {
    /// Device.
    pub device: String,
    /// Filesystem type.
    pub fstype: String,
    /// Where.
    pub mount_point: String,
    /// Whether it could be looked at.
    pub mounted: bool,
    /// Whether it did not answer in time.
    pub stat_timed_out: bool,
    /// Whether it is mounted read-only; not part of the document.
    #[serde(skip)]
    pub read_only: bool,
    /// Its space.
    pub usage: Option<Usage>,
}

/// Space in bytes. Free and used do not add up to the total: root's reserve is in neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// All.
    pub total_bytes: u64,
    /// The bytes that ordinary users can still write.
    pub free_bytes: u64,
    /// The used bytes.
    pub used_bytes: u64,
}

impl Partition {
    /// A mount with what statvfs said of it; nothing if it is gone.
    pub fn new(mount: &Mount, usage: Result<FsUsage, AccessError>) -> Option<Self> {
        if matches!(usage, Err(AccessError::NotFound(_))) {
            return None;
        }
        Some(Self {
            device: mount.source.clone(),
            fstype: mount.fstype.clone(),
            mount_point: mount.point.clone(),
            mounted: usage.is_ok(),
            stat_timed_out: matches!(usage, Err(AccessError::TimedOut(_))),
            read_only: usage.as_ref().is_ok_and(|usage| usage.read_only),
            usage: usage.ok().map(|usage| Usage {
                total_bytes: usage.total_bytes,
                free_bytes: usage.available_bytes,
                used_bytes: usage.total_bytes.saturating_sub(usage.free_bytes),
            }),
        })
    }
}

/// Largest first, those without known space last.
pub fn sort(partitions: &mut [Partition]) {
    partitions
        .sort_by_key(|partition| std::cmp::Reverse(partition.usage.map(|usage| usage.total_bytes)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpud_sdk::types::TimeoutInfo;
    use proptest::prelude::*;

    const MOUNTINFO: &str = r"22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/root rw
30 27 253:3 / /data rw shared:5 master:1 - xfs /dev/mapper/vg-data rw
31 27 259:1 / /mnt/my\040disk\134 rw - btrfs /dev/nvme0n1p1 rw
32 27 0:99 / /nfs rw - nfs4 10.0.0.1:/vol rw,addr=10.0.0.1
33 27 0:98 / /var/lib/kubelet/pods/x/volumes rw - ext4 /dev/sdb rw
34 27 8:1 / /mnt/cloud-metadata rw - ext4 /dev/sda rw
35 27 7:1 / /snap/core rw - squashfs /dev/loop1 ro
36 27 8:2 / /data rw - ext4 /dev/sdc rw
37 27 0:1 / /run rw - tmpfs tmpfs rw
broken
38 27 x:y / /odd rw - ext4 /dev/sdd rw
";

    #[test]
    fn mounts_are_read_and_chosen() {
        let mounts = parse(MOUNTINFO);
        let show = |mount: &Mount| format!("{} {} {}", mount.point, mount.fstype, mount.source);
        let shown: Vec<_> = local(&mounts).map(show).collect();
        assert_eq!(
            shown,
            [
                "/ ext4 /dev/root",
                "/data ext4 /dev/sdc",
                r"/mnt/my disk\ btrfs /dev/nvme0n1p1"
            ]
        );
        let shown: Vec<_> = network(&mounts).map(show).collect();
        assert_eq!(shown, ["/nfs nfs4 10.0.0.1:/vol"]);
    }

    #[test]
    fn any_root_that_fills_up_counts() {
        for (fstype, count) in [("overlay", 1), ("tmpfs", 1), ("xfs", 1), ("squashfs", 0)] {
            let mounts = parse(&format!("1 0 0:2 / / rw - {fstype} none rw"));
            assert_eq!(local(&mounts).count(), count, "{fstype}");
        }
        let mounts = parse("1 0 0:2 / / rw - nfs 10.0.0.1:/root rw");
        assert_eq!((local(&mounts).count(), network(&mounts).count()), (0, 1));
    }

    #[test]
    fn aliases_get_the_devices_own_name() {
        let mut mount = parse(MOUNTINFO).remove(0);
        assert!(mount.has_alias() && mount.major == 254 && mount.minor == 0);
        mount.resolve("../../devices/pci0000:00/virtio1/block/vda");
        assert_eq!(mount.source, "/dev/vda");
        assert!(!mount.has_alias());
    }

    #[test]
    fn answers_of_statvfs() {
        let mount = parse(MOUNTINFO).remove(0);
        let good = FsUsage {
            total_bytes: 100,
            free_bytes: 30,
            available_bytes: 20,
            total_inodes: 9,
            free_inodes: 8,
            read_only: false,
        };
        let usage = Usage {
            total_bytes: 100,
            free_bytes: 20,
            used_bytes: 70,
        };
        let timed_out = TimeoutInfo {
            what: "/".into(),
            after_ms: 5000,
            last_good: None,
        };
        let cases = [
            (Ok(good), Some((true, false, Some(usage)))),
            (
                Err(AccessError::TimedOut(timed_out)),
                Some((false, true, None)),
            ),
            (
                Err(AccessError::Denied("/".into())),
                Some((false, false, None)),
            ),
            (Err(AccessError::NotFound("/".into())), None),
        ];
        for (answer, expected) in cases {
            let found = Partition::new(&mount, answer);
            assert_eq!(
                found.map(|p| (p.mounted, p.stat_timed_out, p.usage)),
                expected
            );
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in r"([0-9]+ [0-9]+ [0-9]:[0-9] / /\PC{0,9} rw - ext4 \PC{0,9} rw\n|.*\n){0,5}") {
            parse(&text);
        }
    }
}
