//! Reads the mount points: the kernel's mount list, and `findmnt`'s answer about one folder.

use serde_json::Value;

use crate::node::{
    error::SourceError,
    files::{Files, names},
};

/// Larger than the list of a machine with ten thousand mounts.
const MAX_BYTES: u64 = 8 << 20;
/// Network mounts that are looked at; further ones are left out.
const MAX_MOUNTS: usize = 10_000;

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Where.
    pub point: String,
    /// Filesystem.
    pub fs_type: String,
    /// Device, or server and path.
    pub source: String,
}

impl Mount {
    /// Whether its data comes over a network, and it is no container's own.
    pub fn is_network(&self) -> bool {
        let fs_type = self.fs_type.as_str();
        let network = matches!(fs_type, "wekafs" | "virtiofs" | "lustre")
            || (fs_type.starts_with("nfs") && fs_type != "nfsd");
        network
            && !self.point.starts_with("/mnt/cloud-metadata")
            && !self.point.contains("/kubelet/pods")
    }
}

/// The mounts of the machine (of process 1, which in a container with the host's processes is the host's), or else those
/// that gpud sees.
pub async fn read(files: &Files) -> Result<Vec<Mount>, SourceError> {
    let content = match files.read("/proc/1/mountinfo", MAX_BYTES).await {
        Ok(content) if !content.is_empty() => content,
        _ => files.read("/proc/self/mountinfo", MAX_BYTES).await?,
    };
    Ok(parse(&names::shown(&content)))
}

/// Lines of `mountinfo` as proc(5) describes them. Of several mounts on one point the last is the one that is seen.
fn parse(mountinfo: &str) -> Vec<Mount> {
    let mut mounts: Vec<Mount> = Vec::new();
    for line in mountinfo.lines().take(MAX_MOUNTS) {
        let Some((place, what)) = line.split_once(" - ") else {
            continue;
        };
        let mut what = what.split(' ');
        let (Some(point), Some(fs_type)) = (place.split(' ').nth(4), what.next()) else {
            continue;
        };
        let mount = Mount {
            point: unescaped(point),
            fs_type: fs_type.to_owned(),
            source: unescaped(what.next().unwrap_or_default()),
        };
        mounts.push(mount);
    }
    let mut seen = std::collections::HashSet::new();
    mounts.reverse();
    mounts.retain(|mount| seen.insert(mount.point.clone()));
    mounts.reverse();
    mounts
}

/// The kernel writes blank, tab, newline and backslash as three octal digits.
fn unescaped(text: &str) -> String {
    let mut plain = text.to_owned();
    for (code, character) in [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ] {
        plain = plain.replace(code, character);
    }
    plain
}

/// The device of the first filesystem in findmnt's JSON, without a subvolume (`/dev/sda1[/sub]`) or further devices.
pub fn first_source(output: &[u8]) -> Option<String> {
    let document: Value = serde_json::from_slice(output).ok()?;
    let source = document.pointer("/filesystems/0/source")?.as_str()?;
    let device = source.split(['[', ',']).next().unwrap_or_default();
    (!device.is_empty()).then(|| device.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_mountinfo() {
        let text = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n\
                    odd line\n\
                    28 27 0:25 / /a\\040b\\134 rw shared:1 master:2 - nfs4 srv:/x\\040y rw\n\
                    29 27 0:26 / /c rw - tmpfs tmpfs rw\n\
                    30 27 0:27 / /c rw - lustre mgs:/fs rw\n";
        let mount = |point: &str, fs_type: &str, source: &str| Mount {
            point: point.into(),
            fs_type: fs_type.into(),
            source: source.into(),
        };
        let found = parse(text);
        assert_eq!(
            found,
            [
                mount("/", "ext4", "/dev/vda"),
                mount("/a b\\", "nfs4", "srv:/x y"),
                mount("/c", "lustre", "mgs:/fs"),
            ]
        );
        let network: Vec<_> = found.iter().map(Mount::is_network).collect();
        assert_eq!(network, [false, true, true]);
        assert!(!mount("/proc/fs/nfsd", "nfsd", "nfsd").is_network());
        assert!(!mount("/var/lib/kubelet/pods/x", "nfs", "s:/x").is_network());
    }

    #[test]
    fn findmnts_source() {
        for (output, source) in [
            (
                r#"{"filesystems":[{"source":"/dev/vda","target":"/"}]}"#,
                Some("/dev/vda"),
            ),
            (
                r#"{"filesystems":[{"source":"/dev/vda[/sub]"},{"source":"b"}]}"#,
                Some("/dev/vda"),
            ),
            (r#"{"filesystems":[{"source":null}]}"#, None),
            (r#"{"filesystems":[]}"#, None),
            ("findmnt: no", None),
        ] {
            assert_eq!(
                first_source(output.as_bytes()).as_deref(),
                source,
                "{output}"
            );
        }
    }
}
