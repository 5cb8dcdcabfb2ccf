//! `df -T -B1 -P`, or the operator's command in its place (`--blockdev-usage-commands`): the space of filesystems where
//! gpud itself cannot see them, as in a container that reaches the host through `nsenter`.

use crate::mounts::{self, Mount, Partition, Usage};

/// Rows that are read; a machine with a thousand containers has some 5,000 mounts.
const MAX_ROWS: usize = 10_000;

/// Arguments of the call: with types, in bytes, one line a filesystem (POSIX).
pub fn arguments() -> Vec<String> {
    ["-T", "-B1", "-P"].map(str::to_owned).to_vec()
}

/// The printed filesystems, selected as mounts are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filesystems {
    /// On disks of the machine.
    pub local: Vec<Partition>,
    /// From servers.
    pub network: Vec<Partition>,
    /// All of them as mounts.
    pub mounts: Vec<Mount>,
}

/// Reads the rows `‹source› ‹type› ‹total› ‹used› ‹available› ‹percent› ‹mount point›`. The header and rows whose sizes
/// are no numbers are left out. Of several filesystems at one place the last is seen, and kept.
pub fn parse(text: &str) -> Filesystems {
    let mut rows: Vec<(Mount, Usage)> = Vec::new();
    for row in text.lines().take(MAX_ROWS).filter_map(parse_line) {
        match rows
            .iter_mut()
            .find(|(mount, _)| mount.point == row.0.point)
        {
            Some(hidden) => *hidden = row,
            None => rows.push(row),
        }
    }
    let mut found = Filesystems::default();
    for (mount, usage) in rows {
        let partition = Partition {
            device: mount.source.clone(),
            fstype: mount.fstype.clone(),
            mount_point: mount.point.clone(),
            mounted: true,
            stat_timed_out: false,
            read_only: false,
            usage: Some(usage),
        };
        if mounts::network(std::slice::from_ref(&mount))
            .next()
            .is_some()
        {
            found.network.push(partition);
        } else {
            found.local.push(partition);
        }
        found.mounts.push(mount);
    }
    found
}

fn parse_line(line: &str) -> Option<(Mount, Usage)> {
    // A source may hold blanks (a share's name), a mount point too: the sizes are what is sure. They are three numbers
    // in a row behind a type, and a percentage, or a dash without one, comes after them.
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let at = (2..words.len()).find(|&at| sizes(&words, at).is_some())?;
    let usage = sizes(&words, at)?;
    let point = words.get(at + 4..)?.join(" ");
    let mount = Mount {
        source: words.get(..at - 1)?.join(" "),
        fstype: (*words.get(at - 1)?).to_owned(),
        point,
        major: 0,
        minor: 0,
    };
    (mount.point.starts_with('/') && mounts::counts(&mount.point, &mount.fstype))
        .then_some((mount, usage))
}

fn sizes(words: &[&str], at: usize) -> Option<Usage> {
    let number = |at: usize| words.get(at)?.parse::<u64>().ok();
    let percent = words.get(at + 3)?;
    (percent.ends_with('%') || *percent == "-").then_some(())?;
    Some(Usage {
        total_bytes: number(at)?,
        used_bytes: number(at + 1)?,
        free_bytes: number(at + 2)?,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PRINTED: &str = "\
Filesystem     Type     1-blocks         Used    Available Capacity Mounted on
/dev/vda1      ext4 270553174016  67002929152  30790365184      69% /
tmpfs          tmpfs   25276510208            0  25276510208       0% /dev/shm
/dev/sdb1      xfs  1000 400 600 40% /data/with blank
10.0.0.1:/vol  nfs4  5000 1000 4000 20% /nfs
//srv/my share fuseblk 1 1 1 1% /share
overlay        overlay - - - - /var/lib/docker/overlay2/x/merged
/dev/sdc       ext4  9 9 9 9% /var/lib/kubelet/pods/1/volumes
/dev/sdd       ext4  9 9 9 9% /mnt/cloud-metadata
/dev/sde       ext4  70 50 20 72% /data/with blank
df: /x: Permission denied
";

    #[test]
    fn rows_are_read_and_chosen() {
        let found = parse(PRINTED);
        let show = |p: &Partition| {
            let usage = p.usage.unwrap();
            format!(
                "{} {} {} {}/{}/{}",
                p.device,
                p.fstype,
                p.mount_point,
                usage.total_bytes,
                usage.used_bytes,
                usage.free_bytes
            )
        };
        let local: Vec<_> = found.local.iter().map(show).collect();
        assert_eq!(
            local,
            [
                "/dev/vda1 ext4 / 270553174016/67002929152/30790365184",
                "/dev/sde ext4 /data/with blank 70/50/20",
            ]
        );
        let network: Vec<_> = found.network.iter().map(show).collect();
        assert_eq!(network, ["10.0.0.1:/vol nfs4 /nfs 5000/1000/4000"]);
        assert_eq!(found.mounts.len(), 3);
    }

    #[test]
    fn a_source_with_blanks_and_a_root_of_any_kind() {
        let found = parse("my pool zfs 10 4 6 40% /tank\noverlay overlay 10 4 6 40% /\n");
        let shown: Vec<_> = found
            .local
            .iter()
            .map(|p| (p.device.as_str(), p.mount_point.as_str()))
            .collect();
        assert_eq!(shown, [("my pool", "/tank"), ("overlay", "/")]);
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in r"(\PC{0,9} ext4 [0-9]{0,21} [0-9]{0,9} [0-9]{0,9} [0-9%-]{1,3} \PC{0,9}\n|.*\n){0,5}") {
            let found = parse(&text);
            prop_assert_eq!(found.mounts.len(), found.local.len() + found.network.len());
        }
    }
}
