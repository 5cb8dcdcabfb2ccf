//! Resident memory by mapping, from `/proc/self/smaps` (proc_pid_smaps(5)).

use std::{collections::BTreeMap, fs, io, path::Path};

use super::pprof::{Profile, ValueType};
use super::{OWN, now, sample};

/// What a mapping takes, KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Taken {
    address_space: u64,
    /// Resident and written to since: what only this process can give back.
    own: u64,
    /// Resident, and as it is in a file or in other processes.
    shared: u64,
}

/// Stacks of the kind of memory, whether it is the process's own, and the mapping's name. Blocks.
///
/// # Errors
/// The kernel does not tell.
#[expect(clippy::disallowed_methods, reason = "the daemon's own memory")]
pub fn memory() -> io::Result<Profile> {
    let smaps = fs::read(Path::new(OWN).join("smaps"))?;
    Ok(profile(&String::from_utf8_lossy(&smaps), now()))
}

fn profile(smaps: &str, time: u64) -> Profile {
    let mut samples = Vec::new();
    for ((kind, name), taken) in parse(smaps) {
        let bytes = |kibibytes: u64| kibibytes.saturating_mul(1024);
        let parts = [
            ("own", taken.own, taken.address_space),
            ("shared or unchanged", taken.shared, 0),
        ];
        for (part, resident, address_space) in parts {
            if resident > 0 || address_space > 0 {
                let values = vec![bytes(address_space), bytes(resident)];
                samples.push(sample(&[kind, part, &name], values));
            }
        }
    }
    Profile {
        types: vec![
            ValueType {
                kind: "address_space",
                unit: "bytes",
            },
            ValueType {
                kind: "inuse_space",
                unit: "bytes",
            },
        ],
        samples,
        time,
        duration: 0,
        comment: "resident memory by mapping".to_owned(),
    }
}

/// By kind and name.
fn parse(smaps: &str) -> BTreeMap<(&'static str, String), Taken> {
    let mut found: BTreeMap<(&'static str, String), Taken> = BTreeMap::new();
    let mut present = None;
    for line in smaps.lines() {
        if let Some(name) = heading(line) {
            let key = name_of(name);
            found.entry(key.clone()).or_default();
            present = Some(key);
            continue;
        }
        let (Some(key), Some((what, kibibytes))) = (&present, value(line)) else {
            continue;
        };
        let Some(taken) = found.get_mut(key) else {
            continue;
        };
        let sum = match what {
            "Size" => &mut taken.address_space,
            "Private_Dirty" => &mut taken.own,
            "Private_Clean" | "Shared_Clean" | "Shared_Dirty" => &mut taken.shared,
            _ => continue,
        };
        *sum = sum.saturating_add(kibibytes);
    }
    found
}

/// The name behind `‹from›-‹to› ‹rights› ‹offset› ‹device› ‹inode›`; empty if the mapping has none.
fn heading(line: &str) -> Option<&str> {
    let (range, _) = line.split_once(' ')?;
    let (from, to) = range.split_once('-')?;
    let hex = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    (hex(from) && hex(to)).then_some(())?;
    let mut rest = line;
    for _ in 0..5 {
        rest = rest.trim_start_matches(' ');
        rest = rest.split_once(' ').map_or("", |(_, rest)| rest);
    }
    Some(rest.trim())
}

fn value(line: &str) -> Option<(&str, u64)> {
    let (what, rest) = line.split_once(':')?;
    let kibibytes = rest.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some((what, kibibytes))
}

fn name_of(name: &str) -> (&'static str, String) {
    match name {
        "" => ("memory", "[anonymous]".to_owned()),
        "[heap]" | "[stack]" => ("memory", name.to_owned()),
        name if name.starts_with("[anon") => ("memory", name.to_owned()),
        name if name.starts_with('[') => ("kernel", name.to_owned()),
        name => ("files", name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SMAPS: &str = "\
55d0-55e0 r-xp 00000000 fe:00 131 /usr/local/bin/gpud (deleted)
Size:                100 kB
Rss:                  40 kB
Shared_Clean:         10 kB
Private_Clean:        30 kB
Private_Dirty:         0 kB
THPeligible:           0
VmFlags: rd ex mr
55f0-5600 rw-p 00000000 00:00 0                          [heap]
Size:                 64 kB
Private_Dirty:        48 kB
7f00-7f10 rw-p 00000000 00:00 0 
Size:               2048 kB
Private_Dirty:         8 kB
7f20-7f30 rw-p 00000000 00:00 0 
Size:                 16 kB
Private_Dirty:         4 kB
";

    #[test]
    fn mappings_of_one_name_are_taken_together() {
        let profile = profile(SMAPS, 5);
        assert_eq!(
            profile.to_folded(),
            "gpud;memory;own;[heap] 49152\n\
             gpud;files;shared or unchanged;/usr/local/bin/gpud (deleted) 40960\n\
             gpud;memory;own;[anonymous] 12288\n"
        );
        let anonymous = profile
            .samples
            .iter()
            .find(|sample| sample.stack.contains(&"[anonymous]".to_owned()));
        assert_eq!(anonymous.unwrap().values, [2064 << 10, 12 << 10]);
        assert_eq!((profile.time, profile.duration), (5, 0));
    }

    #[test]
    fn this_process() {
        let folded = memory().unwrap().to_folded();
        assert!(folded.contains("gpud;memory;"), "{folded}");
        let sum: u64 = folded
            .lines()
            .filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok())
            .sum();
        assert!(sum > 1 << 20, "{sum}");
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in r"([0-9a-f]{1,4}-[0-9a-f]{1,4} rw-p 0 0:0 0 \PC{0,9}\n|Size: [0-9]{1,21} kB\n|.*\n){0,8}") {
            profile(&text, 0);
        }
    }
}
