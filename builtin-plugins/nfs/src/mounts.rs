//! Reads the mount points: `/proc/‹pid›/mountinfo` (kernel: `Documentation/filesystems/proc.rst` §3.5).

pub use gpud_builtin_shared::mounts::is_network;
use gpud_builtin_shared::mounts::unescape;

/// Automounters put this where a filesystem will be mounted on first use.
pub const AUTOFS: &str = "autofs";

/// Type of the filesystem that is mounted exactly at `target` (absolute, without a final slash). Of several the last is
/// seen; container and memory filesystems do not count, and an automounter only when there is nothing else.
pub fn fstype<'a>(mountinfo: &'a str, target: &str) -> Option<&'a str> {
    let mut found = None;
    let here = mountinfo
        .lines()
        .filter_map(line)
        .filter(|(point, _)| point == target);
    for (_, fstype) in here {
        let hides = ["overlay", "tmpfs", "shm"]
            .iter()
            .any(|kind| fstype.contains(kind));
        if !hides && (fstype != AUTOFS || found.is_none()) {
            found = Some(fstype);
        }
    }
    found
}

/// `‹id› ‹parent› ‹major›:‹minor› ‹root› ‹point› ‹options› [‹tags›…] - ‹type› ‹source› ‹options›`
fn line(line: &str) -> Option<(String, &str)> {
    let (before, after) = line.split_once(" - ")?;
    let point = before.split(' ').nth(4)?;
    let mut fields = after.split(' ');
    let fstype = fields.next()?;
    fields.next()?;
    Some((unescape(point), fstype))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_seen_at_a_place() {
        let text = r"27 1 254:0 / / rw,relatime - ext4 /dev/root rw
30 27 0:50 / /auto rw - autofs /etc/auto rw
31 27 0:51 / /auto rw shared:1 - nfs4 srv:/auto rw
32 27 0:52 / /waiting rw - autofs /etc/auto rw
33 27 0:53 / /late rw - nfs srv:/late rw
34 27 0:54 / /late rw - autofs /etc/auto rw
35 27 0:55 / /mnt/my\040data\134 rw - wekafs weka rw
36 27 0:56 / /ram rw - tmpfs tmpfs rw
37 27 0:57 / /layers rw - overlay overlay rw
38 27 0:58 / /hidden rw - nfs srv:/hidden rw
39 27 254:1 / /hidden rw - ext4 /dev/vdb rw
broken
40 27 0:59 / /short rw - nfs
";
        for (target, expected) in [
            ("/", Some("ext4")),
            ("/auto", Some("nfs4")),
            ("/waiting", Some("autofs")),
            ("/late", Some("nfs")),
            (r"/mnt/my data\", Some("wekafs")),
            ("/ram", None),
            ("/layers", None),
            ("/hidden", Some("ext4")),
            ("/short", None),
            ("/auto/below", None),
            ("", None),
        ] {
            assert_eq!(fstype(text, target), expected, "{target}");
        }
    }

    #[test]
    fn network_filesystems() {
        for (fstype, network) in [
            ("nfs", true),
            ("nfs4", true),
            ("wekafs", true),
            ("virtiofs", true),
            ("lustre", true),
            ("ext4", false),
            ("autofs", false),
            ("lustre2", false),
            ("", false),
        ] {
            assert_eq!(is_network(fstype), network, "{fstype}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in r"([0-9]+ [0-9]+ 0:1 / /\PC{0,9} rw - nfs \PC{0,9} rw\n|.*\n){0,5}", target in r"/\PC{0,9}") {
            fstype(&text, &target);
        }
    }
}
