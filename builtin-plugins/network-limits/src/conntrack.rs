//! The table of tracked connections.
//!
//! Sources: `nf_conntrack_count` and `nf_conntrack_max` (`Documentation/networking/nf_conntrack-sysctl.rst`);
//! `/proc/net/stat/nf_conntrack`, a headline and one line of hexadecimal numbers for each processor
//! (`net/netfilter/nf_conntrack_standalone.c`, `ct_cpu_seq_show`). `drop` counts packets that were dropped because
//! the table was full or there was no memory for an entry.

/// What is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conntrack {
    /// Entries.
    pub count: u64,
    /// Most entries; not 0.
    pub max: u64,
    /// Dropped packets since boot, where the kernel tells.
    pub drops: Option<u64>,
}

impl Conntrack {
    /// From the texts of the files; nothing where they hold no numbers.
    pub fn new(count: &str, max: &str, stat: &str) -> Option<Self> {
        Some(Self {
            count: count.trim().parse().ok()?,
            max: max.trim().parse().ok().filter(|&max| max > 0)?,
            drops: drops(stat),
        })
    }
}

fn drops(stat: &str) -> Option<u64> {
    let mut lines = stat.lines();
    let mut names = lines.next()?.split_ascii_whitespace();
    let column = names.position(|name| name == "drop")?;
    let numbers = lines.filter_map(|line| {
        let word = line.split_ascii_whitespace().nth(column)?;
        u64::from_str_radix(word, 16).ok()
    });
    Some(numbers.fold(0, u64::saturating_add))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STAT: &str = "entries  clashres found new invalid ignore delete chainlength insert insert_failed drop early_drop icmp_error  expect_new expect_create expect_delete search_restart\n\
        00000112  00000000 00000000 00000000 00000003 00000000 00000000 00000000 00000000 00000000 0000000a 00000000 00000000  00000000 00000000 00000000 00000000\n\
        00000112  00000000 00000000 00000000 00000003 00000000 00000000 00000000 00000000 00000000 00000001 00000000 00000000  00000000 00000000 00000000 00000000\n";

    #[test]
    fn files() {
        let table = |count, max, drops| Some(Conntrack { count, max, drops });
        for (count, max, stat, expected) in [
            ("274\n", "262144\n", STAT, table(274, 262_144, Some(11))),
            ("0", "1", "", table(0, 1, None)),
            ("0", "1", "entries found\n1 2\n", table(0, 1, None)),
            ("0", "0", STAT, None),
            ("x", "1", STAT, None),
        ] {
            assert_eq!(Conntrack::new(count, max, stat), expected);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "[ -~\n]{0,200}") {
            drops(&text);
            drops(&format!("drop\n{text}"));
        }
    }
}
