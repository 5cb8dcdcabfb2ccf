//! Which filesystem is behind a connection, from `/proc/‹pid›/mountinfo` (kernel: `Documentation/filesystems/proc.rst`
//! §3.5).

use std::collections::BTreeMap;

use gpud_builtin_shared::mounts::unescape;

/// Bits of the minor number in the kernel's own device numbers (`MINORBITS`, `include/linux/kdev_t.h`).
const MINOR_BITS: u32 = 20;

/// A mounted filesystem.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Mount {
    /// Type, for example `fuse.sshfs`.
    pub fstype: String,
    /// The source, by the filesystem's own name.
    pub source: String,
    /// Where it is mounted.
    pub point: String,
}

/// All mounts by the kernel's device number (major × 2^20 + minor), the first of each. Lines that cannot be read are
/// left out.
pub fn by_device(mountinfo: &str) -> BTreeMap<u32, Mount> {
    let mut mounts = BTreeMap::new();
    for (device, mount) in mountinfo.lines().filter_map(line) {
        mounts.entry(device).or_insert(mount);
    }
    mounts
}

/// `‹id› ‹parent› ‹major›:‹minor› ‹root› ‹point› ‹options› [‹tags›…] - ‹type› ‹source› ‹options›`
fn line(line: &str) -> Option<(u32, Mount)> {
    let (before, after) = line.split_once(" - ")?;
    let mut fields = before.split(' ').skip(2);
    let (major, minor) = fields.next()?.split_once(':')?;
    let (major, minor): (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
    if major >> (u32::BITS - MINOR_BITS) != 0 || minor >> MINOR_BITS != 0 {
        return None;
    }
    let point = fields.nth(1)?;
    let mut fields = after.split(' ');
    let (fstype, source) = (fields.next()?, fields.next()?);
    let mount = Mount {
        fstype: fstype.to_owned(),
        source: unescape(source),
        point: unescape(point),
    };
    Some((major << MINOR_BITS | minor, mount))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_first_mount_of_a_device_counts() {
        let text = r"22 27 0:21 / /proc rw,relatime - proc proc rw
40 27 0:42 / /mnt/my\040data rw,nosuid shared:9 - fuse.sshfs me@host:/a\040b rw,user_id=0
41 27 0:42 / /mnt/again rw - fuse.sshfs other rw
42 27 8:1 / /win rw - fuseblk /dev/sda1 rw
43 27 8:42 / /data rw - ext4 /dev/sdb rw
broken
44 27 x:y / /odd rw - fuse odd rw
45 27 4096:1 / /odd rw - fuse odd rw
46 27 0:77 / /short rw - fuse
";
        let mounts = by_device(text);
        let show = |device: u32| {
            mounts
                .get(&device)
                .map(|m| [&*m.fstype, &*m.source, &*m.point])
        };
        assert_eq!(
            show(42),
            Some(["fuse.sshfs", "me@host:/a b", "/mnt/my data"])
        );
        // A filesystem on a block device has that device's number, 8:1.
        assert_eq!(show(8_388_609), Some(["fuseblk", "/dev/sda1", "/win"]));
        assert_eq!((show(1), show(77)), (None, None));
        assert_eq!(mounts.len(), 4);
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in r"([0-9]+ [0-9]+ [0-9]{1,9}:[0-9]{1,9} / /\PC{0,9} rw - fuse \PC{0,9} rw\n|.*\n){0,5}") {
            by_device(&text);
        }
    }
}
