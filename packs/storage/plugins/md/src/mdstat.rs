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
mod tests;
