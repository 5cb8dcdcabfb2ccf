//! `df -T -B1 -P` in the words of the operator (`--blockdev-usage-commands`): network mounts and their space where gpud
//! cannot see them itself.

use super::mounts::Mount;

/// Arguments of the call: with types, in bytes, one line a filesystem (POSIX).
pub const ARGUMENTS: [&str; 3] = ["-T", "-B1", "-P"];
/// Rows that are read.
const MAX_ROWS: usize = 10_000;

/// Space in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// All.
    pub total: u64,
    /// The used bytes.
    pub used: u64,
}

/// The network mounts among the rows `‹source› ‹type› ‹total› ‹used› ‹available› ‹percent› ‹mount point›`. The header
/// and rows whose sizes are no numbers are left out.
pub fn network_mounts(printed: &str) -> Vec<(Mount, Space)> {
    let rows = printed.lines().take(MAX_ROWS).filter_map(row);
    rows.filter(|(mount, _)| mount.is_network()).collect()
}

fn row(line: &str) -> Option<(Mount, Space)> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let [
        source,
        fs_type,
        total,
        used,
        _available,
        _percent,
        point @ ..,
    ] = words.as_slice()
    else {
        return None;
    };
    let space = Space {
        total: total.parse().ok()?,
        used: used.parse().ok()?,
    };
    let mount = Mount {
        point: point.join(" "),
        fs_type: (*fs_type).to_owned(),
        source: (*source).to_owned(),
    };
    mount.point.starts_with('/').then_some((mount, space))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rows_of_network_mounts() {
        let printed = "Filesystem Type 1-blocks Used Available Capacity Mounted on\n\
                       /dev/vda ext4 100 60 40 60% /\n\
                       10.0.0.1:/vol nfs4 5000 1000 4000 20% /a b\n\
                       x nfs4 - - - - /dead\n\
                       x nfs4 1 1 1 1% /var/lib/kubelet/pods/x\n\
                       short nfs4 1\n";
        let found = network_mounts(printed);
        let [(mount, space)] = found.as_slice() else {
            panic!("{found:?}");
        };
        assert_eq!(
            (mount.point.as_str(), mount.source.as_str()),
            ("/a b", "10.0.0.1:/vol")
        );
        let expected = Space {
            total: 5000,
            used: 1000,
        };
        assert_eq!(*space, expected);
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in r"(\PC{0,9} nfs4 [0-9]{0,21} [0-9]{0,9} 1 1% \PC{0,9}\n|.*\n){0,5}") {
            prop_assert!(network_mounts(&text).iter().all(|(mount, _)| mount.point.starts_with('/')));
        }
    }
}
