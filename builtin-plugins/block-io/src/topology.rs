//! Maps mount points to the devices below them.
//!
//! A mount names its device by number; `/sys/dev/block/‹major›:‹minor›` is a link whose path says where the device hangs
//! (`…/ata1/host0/target0:0:0/0:0:0:0/block/sda/sda1`, `…/nvme/nvme0/nvme0n1/nvme0n1p2`), so that a disk, a controller, a
//! SCSI address and an ATA port are all found as a segment of it. Mapped devices (dm, md) name what they stand on in
//! `slaves/`. Sources: `Documentation/filesystems/proc.rst` section 3.5, `Documentation/ABI/stable/sysfs-block`.

use std::collections::{BTreeMap, BTreeSet};

use gpud_builtin_shared::mounts::unescape;

/// Devices that are looked at.
const MAX_DEVICES: usize = 64;
/// Levels of mapped devices: a crypt volume on a logical volume on an array on partitions is three.
const MAX_DEPTH: usize = 6;
/// Mount points that an event names.
const MAX_POINTS: usize = 4;

/// Devices with mounts, and where each hangs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Topology {
    mounted: Vec<Mounted>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Mounted {
    points: Vec<String>,
    /// All segments of the links of the device and of those below it.
    segments: BTreeSet<String>,
}

impl Topology {
    /// From mountinfo; `read_link` gives a link's target, `slaves` the names of the devices below one.
    pub fn new(
        mountinfo: &str,
        mut read_link: impl FnMut(&str) -> Option<String>,
        mut slaves: impl FnMut(&str) -> Vec<String>,
    ) -> Self {
        let mut devices: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (link, point) in mountinfo.lines().filter_map(mount) {
            if devices.len() == MAX_DEVICES && !devices.contains_key(&link) {
                continue;
            }
            let points = devices.entry(link).or_default();
            if points.len() < MAX_POINTS && !points.contains(&point) {
                points.push(point);
            }
        }
        let mut budget = 4 * MAX_DEVICES;
        let mounted = devices
            .into_iter()
            .filter_map(|(link, points)| {
                let target = read_link(&link)?;
                let mut segments = BTreeSet::new();
                let mut wave = vec![target];
                for _ in 0..MAX_DEPTH {
                    let names: Vec<String> = wave
                        .iter()
                        .filter_map(|target| target.rsplit('/').next())
                        .map(str::to_owned)
                        .collect();
                    let parts = wave.iter().flat_map(|target| target.split('/'));
                    segments.extend(parts.filter(|part| *part != "..").map(str::to_owned));
                    wave.clear();
                    for name in names.iter().filter(|name| is_mapped(name)) {
                        for below in slaves(name) {
                            if budget == 0 {
                                break;
                            }
                            budget -= 1;
                            wave.extend(read_link(&format!("/sys/class/block/{below}")));
                        }
                    }
                    if wave.is_empty() {
                        break;
                    }
                }
                Some(Mounted { points, segments })
            })
            .collect();
        Self { mounted }
    }

    /// Mount points on a device: a block device, an NVMe controller, a SCSI address or an ATA device.
    pub fn points(&self, device: &str) -> Vec<&str> {
        // `ata1.00` is a device at the port `ata1`; a port that serves several has no name of its own for each.
        let port = device
            .split_once('.')
            .map(|(port, _)| port)
            .filter(|port| port.starts_with("ata"));
        let name = port.unwrap_or(device);
        // With NVMe multipathing the controller is not in the path, but the name begins with it.
        let namespace = device
            .strip_prefix("nvme")
            .filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
            .map(|_| format!("{device}n"));
        let below = |mounted: &&Mounted| {
            mounted.segments.contains(name)
                || namespace.as_ref().is_some_and(|namespace| {
                    mounted
                        .segments
                        .iter()
                        .any(|part| part.starts_with(namespace))
                })
        };
        let found = self.mounted.iter().filter(below);
        found
            .flat_map(|mounted| mounted.points.iter().map(String::as_str))
            .take(MAX_POINTS)
            .collect()
    }
}

fn is_mapped(name: &str) -> bool {
    name.starts_with("dm-") || name.starts_with("md") || name.starts_with("bcache")
}

/// The link that leads to a mount's device, and the mount point. Nothing for filesystems without a device.
fn mount(line: &str) -> Option<(String, String)> {
    let (before, after) = line.split_once(" - ")?;
    let mut fields = before.split(' ').skip(2);
    let number = fields.next()?;
    let point = unescape(fields.nth(1)?);
    let source = after.split(' ').nth(1)?;
    // What containers see again of the machine's mounts.
    if point.contains("/kubelet/pods") || point.contains("/containers/storage") {
        return None;
    }
    let (major, minor) = number.split_once(':')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(major) || !digits(minor) {
        return None;
    }
    if major != "0" {
        return Some((format!("/sys/dev/block/{number}"), point));
    }
    // btrfs has numbers of its own, but names the device.
    let name = source
        .strip_prefix("/dev/")
        .filter(|name| !name.contains('/'))?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'!');
    (!name.is_empty() && name.bytes().all(plain))
        .then(|| (format!("/sys/class/block/{name}"), point))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MOUNTINFO: &str = r"22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 8:1 / / rw,relatime - ext4 /dev/root rw
28 1 8:1 /home /home rw,relatime - ext4 /dev/root rw
30 27 253:3 / /data rw shared:5 - xfs /dev/mapper/vg-data rw
31 27 0:55 / /my\040disk rw - btrfs /dev/nvme1n1p1 rw
32 27 0:56 / /mapped rw - btrfs /dev/mapper/x rw
33 27 259:9 / /var/lib/kubelet/pods/x/volumes rw - ext4 /dev/nvme2n1 rw
34 27 259:2 / /scratch rw - xfs /dev/nvme3n1 rw
broken
38 27 x:y / /odd rw - ext4 /dev/sdd rw
";

    fn topology() -> Topology {
        let links = BTreeMap::from([
            (
                "/sys/dev/block/8:1",
                "../../devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda/sda1",
            ),
            ("/sys/dev/block/253:3", "../../devices/virtual/block/dm-3"),
            (
                "/sys/class/block/md127",
                "../../devices/virtual/block/md127",
            ),
            (
                "/sys/class/block/sdb1",
                "../../devices/pci0000:00/0000:00:17.0/ata2/host1/target1:0:0/1:0:0:0/block/sdb/sdb1",
            ),
            (
                "/sys/class/block/sdc1",
                "../../devices/pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sdc/sdc1",
            ),
            (
                "/sys/class/block/nvme1n1p1",
                "../../devices/pci0000:00/0000:01:00.0/nvme/nvme1/nvme1n1/nvme1n1p1",
            ),
            (
                "/sys/dev/block/259:2",
                "../../devices/virtual/nvme-subsystem/nvme-subsys3/nvme3n1",
            ),
        ]);
        let below = BTreeMap::from([("dm-3", vec!["md127"]), ("md127", vec!["sdb1", "sdc1"])]);
        Topology::new(
            MOUNTINFO,
            |link| links.get(link).map(|target| (*target).to_owned()),
            |name| {
                below
                    .get(name)
                    .into_iter()
                    .flatten()
                    .map(|name| (*name).to_owned())
                    .collect()
            },
        )
    }

    #[test]
    fn filesystems_on_a_device_are_found() {
        let topology = topology();
        for (device, points) in [
            ("sda", vec!["/", "/home"]),
            ("sda1", vec!["/", "/home"]),
            ("ata1.00", vec!["/", "/home"]),
            ("0:0:0:0", vec!["/", "/home"]),
            ("sdb", vec!["/data"]),
            ("2:0:0:0", vec!["/data"]),
            ("dm-3", vec!["/data"]),
            ("md127", vec!["/data"]),
            ("nvme1", vec!["/my disk"]),
            ("nvme1n1", vec!["/my disk"]),
            ("nvme3", vec!["/scratch"]),
            ("nvme2n1", vec![]),
            ("sd", vec![]),
            ("ata10.00", vec![]),
            ("sdd", vec![]),
        ] {
            assert_eq!(topology.points(device), points, "{device}");
        }
    }

    #[test]
    fn is_bounded() {
        // Mapped devices that stand on each other for ever.
        let mut asked = 0;
        Topology::new(
            MOUNTINFO,
            |_| {
                asked += 1;
                Some("../../devices/virtual/block/dm-0".to_owned())
            },
            |_| vec!["dm-0".to_owned(); 50],
        );
        assert!(asked < 1_000, "{asked}");
        let many: String = (0..5_000)
            .map(|n| format!("1 1 8:{n} / /m{n} rw - ext4 /dev/x rw\n"))
            .collect();
        let mut asked = 0;
        Topology::new(
            &many,
            |_| {
                asked += 1;
                None
            },
            |_| vec![],
        );
        assert_eq!(asked, MAX_DEVICES);
    }

    proptest! {
        #[test]
        fn reads_anything(text in any::<String>(), device in any::<String>(), line in "[0-9: /a-z\\\\-]{0,60}") {
            let topology = Topology::new(&format!("{text}\n{line} - ext4 {line}"), |link| Some(link.to_owned()), |_| vec![]);
            let _ = topology.points(&device);
        }
    }
}
