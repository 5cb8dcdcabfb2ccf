//! `/proc/mdstat` (kernel: `md_seq_show` in `drivers/md/md.c`, and `status` of each personality).

/// Arrays that are taken.
const MAX_ARRAYS: usize = 128;
/// Members of one that are taken.
const MAX_MEMBERS: usize = 256;
/// Longest line, bytes.
const MAX_LINE: usize = 16 * 1024;

/// An array.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Array {
    /// Below `/dev`: `md0`, `md127`.
    pub name: String,
    /// `active`, `inactive` or `broken`.
    pub activity: String,
    /// `raid1`, `raid5` …; empty for one that is not running.
    pub level: String,
    /// Devices with their flags.
    pub members: Vec<Member>,
    /// Devices that it should have and those that work, where its level tells.
    pub devices: Option<(u64, u64)>,
    /// Of each place whether its device works, where the level tells: `[UU_U]`.
    pub places: Vec<bool>,
    /// Copies of each block that are next to each other and far from each other, of raid10.
    pub copies: (u64, u64),
    /// What it is busy with.
    pub work: Option<Work>,
    /// A container of metadata that others manage (`imsm`, `ddf`): it is never running, and that is right.
    pub is_container: bool,
}

/// A device of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Below `/dev`.
    pub name: String,
    /// It failed, and is still there.
    pub is_faulty: bool,
    /// It waits for another to fail.
    pub is_spare: bool,
}

/// Work of the kernel on an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// `recovery`, `resync`, `reshape`, `check`, `repair`.
    pub kind: String,
    /// How far it is, as written: `8.5%`; or `DELAYED`, `PENDING`.
    pub progress: String,
}

/// The arrays.
pub fn parse(text: &str) -> Vec<Array> {
    let mut arrays: Vec<Array> = Vec::new();
    for line in text.lines().filter(|line| line.len() <= MAX_LINE) {
        if let Some(array) = head(line) {
            if arrays.len() >= MAX_ARRAYS {
                break;
            }
            arrays.push(array);
        } else if line.starts_with([' ', '\t'])
            && let Some(array) = arrays.last_mut()
        {
            details(line, array);
        }
    }
    arrays
}

fn head(line: &str) -> Option<Array> {
    let (name, rest) = line.split_once(" : ")?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if !name.starts_with("md") || !name.bytes().all(plain) {
        return None;
    }
    let mut words = rest.split_whitespace();
    let activity = words.next()?.to_owned();
    let mut array = Array {
        name: name.to_owned(),
        activity,
        ..Array::default()
    };
    for word in words.take(MAX_MEMBERS) {
        // `(read-only)`, `(auto-read-only)` stand before the level.
        if word.starts_with('(') {
            continue;
        }
        match word.split_once('[') {
            Some((name, flags)) => array.members.push(Member {
                name: name.to_owned(),
                is_faulty: flags.contains("(F)"),
                is_spare: flags.contains("(S)"),
            }),
            None if array.level.is_empty() => word.clone_into(&mut array.level),
            None => {}
        }
    }
    Some(array)
}

fn details(line: &str, array: &mut Array) {
    if line.contains("super external:") {
        // A volume names its container (`external:/md127/0`), a container its format.
        array.is_container = !line.contains("super external:/");
    }
    if let Some(devices) = line.split_whitespace().find_map(devices) {
        array.devices = Some(devices);
    }
    if let Some(places) = line.split_whitespace().find_map(places) {
        array.places = places;
    }
    // `2 near-copies`, `2 far-copies`, `2 offset-copies`.
    let words: Vec<&str> = line.split_whitespace().collect();
    for pair in words.windows(2) {
        let [number, word] = pair else { continue };
        match (number.parse(), *word) {
            (Ok(count), "near-copies") => array.copies.0 = count,
            (Ok(count), "far-copies" | "offset-copies") => array.copies.1 = count,
            _ => {}
        }
    }
    for kind in ["recovery", "resync", "reshape", "check", "repair"] {
        let place = line.find(kind).and_then(|at| line.get(at + kind.len()..));
        let progress = place.and_then(|rest| rest.trim_start().strip_prefix('='));
        if let Some(progress) = progress.and_then(|rest| rest.split_whitespace().next()) {
            array.work = Some(Work {
                kind: kind.to_owned(),
                progress: progress.to_owned(),
            });
        }
    }
}

/// `[2/1]`: two devices, of which one works.
fn devices(word: &str) -> Option<(u64, u64)> {
    let (all, working) = word.strip_prefix('[')?.strip_suffix(']')?.split_once('/')?;
    Some((all.parse().ok()?, working.parse().ok()?))
}

/// `[U_]`: the first place has a device that works, the second has none.
fn places(word: &str) -> Option<Vec<bool>> {
    let places = word.strip_prefix('[')?.strip_suffix(']')?;
    let is_place = |byte: u8| byte == b'U' || byte == b'_';
    (!places.is_empty() && places.bytes().all(is_place)).then(|| {
        places
            .bytes()
            .map(|byte| byte == b'U')
            .take(MAX_MEMBERS)
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "Personalities : [raid1] [raid6] [raid5] [raid4] [raid0]\n\
md0 : active raid1 sdb1[1] sda1[0](F)\n      1046528 blocks super 1.2 [2/1] [_U]\n      \n\
md1 : active raid5 nvme3n1[4] nvme2n1[2] nvme1n1[1] nvme0n1[0]\n      5626358784 blocks super 1.2 level 5, 512k chunk, algorithm 2 [4/3] [UUU_]\n      [=>...................]  recovery =  8.5% (160000000/1875452928) finish=120.5min speed=237000K/sec\n      bitmap: 0/14 pages [0KB], 65536KB chunk\n\n\
md2 : active (auto-read-only) raid1 sdc1[0] sdd1[1]\n      1046528 blocks super 1.2 [2/2] [UU]\n      \tresync=PENDING\n\n\
md3 : active raid0 sde[0] sdf[1]\n      2000 blocks super 1.2 512k chunks\n\n\
md4 : broken raid0 sdg[0] sdh[1]\n      2000 blocks super 1.2 512k chunks\n\n\
md127 : inactive sdi[1](S) sdj[0](S)\n      10402 blocks super external:imsm\n\n\
md126 : active raid1 sdi[1] sdj[0]\n      1000 blocks super external:/md127/0 [2/2] [UU]\n\n\
md5 : inactive sdk[0]\n      1000 blocks super 1.2\n       \nunused devices: <none>\n";

    #[test]
    fn arrays() {
        let shown: Vec<String> = parse(TEXT)
            .iter()
            .map(|one| {
                let members: Vec<String> = one
                    .members
                    .iter()
                    .map(|member| {
                        let faulty = if member.is_faulty { "!" } else { "" };
                        let spare = if member.is_spare { "+" } else { "" };
                        format!("{}{faulty}{spare}", member.name)
                    })
                    .collect();
                let work = one
                    .work
                    .as_ref()
                    .map(|work| format!("{} {}", work.kind, work.progress));
                format!(
                    "{} {} {} {} {:?} {} {}",
                    one.name,
                    one.activity,
                    one.level,
                    members.join("+"),
                    one.devices,
                    work.unwrap_or_default(),
                    one.is_container
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                "md0 active raid1 sdb1+sda1! Some((2, 1))  false",
                "md1 active raid5 nvme3n1+nvme2n1+nvme1n1+nvme0n1 Some((4, 3)) recovery 8.5% false",
                "md2 active raid1 sdc1+sdd1 Some((2, 2)) resync PENDING false",
                "md3 active raid0 sde+sdf None  false",
                "md4 broken raid0 sdg+sdh None  false",
                "md127 inactive  sdi++sdj+ None  true",
                "md126 active raid1 sdi+sdj Some((2, 2))  false",
                "md5 inactive  sdk None  false",
            ]
        );
        assert!(parse("Personalities : \nunused devices: <none>\n").is_empty());
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "(md[0-9]|active|raid1| : |\\[|\\]|/|[0-9]|\\(F\\)|recovery|=|%|\n| ){0,60}") {
            parse(&text);
        }

        #[test]
        fn what_the_kernel_writes_is_read(number in 0u32..200, all in 1u64..64, working in 0u64..64) {
            let text = format!("md{number} : active raid6 sda[0]\n      1000 blocks level 6, 64k chunk, algorithm 2 [{all}/{working}] [U]\n");
            let found = parse(&text);
            prop_assert_eq!(found.len(), 1);
            prop_assert_eq!(found[0].devices, Some((all, working)));
        }
    }
}
