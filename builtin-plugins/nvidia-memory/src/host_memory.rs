//! Memory of the host, for GPUs that share it.

use crate::evaluate::Reading;

/// Reads `/proc/meminfo` (kernel: `Documentation/filesystems/proc.rst`). Used is what programs can no longer get: all but
/// `MemAvailable`.
///
/// # Errors
/// In words, when a line is not there or not a number.
pub fn read(text: &str) -> Result<Reading, String> {
    let total = bytes(text, "MemTotal")?;
    Ok(Reading {
        total,
        reserved: 0,
        used: total.saturating_sub(bytes(text, "MemAvailable")?),
        free: bytes(text, "MemFree")?,
        is_unified: true,
    })
}

fn bytes(text: &str, name: &str) -> Result<u64, String> {
    let value = text.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        (found == name).then_some(value)
    });
    let value = value.ok_or_else(|| format!("/proc/meminfo has no {name}"))?;
    let kilobytes = value.trim().strip_suffix(" kB").map(str::trim);
    kilobytes
        .and_then(|number| number.parse::<u64>().ok()?.checked_mul(1024))
        .ok_or_else(|| format!("/proc/meminfo: {name} is {value:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_meminfo() {
        let text = "MemTotal:       3000000 kB\nMemFree:         500000 kB\nMemAvailable:   2000000 kB\nHugePages_Total:       0\n";
        assert_eq!(
            read(text),
            Ok(Reading {
                total: 3_072_000_000,
                reserved: 0,
                used: 1_024_000_000,
                free: 512_000_000,
                is_unified: true,
            })
        );
        for (text, error) in [
            ("", "/proc/meminfo has no MemTotal"),
            ("MemTotal: x kB\n", "/proc/meminfo: MemTotal is \" x kB\""),
            ("MemTotal: 5\n", "/proc/meminfo: MemTotal is \" 5\""),
            ("MemTotal: 5 kB\n", "/proc/meminfo has no MemAvailable"),
        ] {
            assert_eq!(read(text), Err(error.to_owned()));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn any_text_will_do(text in "(MemTotal|MemFree|MemAvailable|x)?:? ?[0-9]{0,21} ?(kB)?\n?\\PC{0,80}") {
            let _ = read(&text);
        }
    }
}
