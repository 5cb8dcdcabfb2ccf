//! What `mdadm --detail` (mdadm(8)) adds: which places of an array are empty, and which device failed in which.

/// Rows that are taken.
const MAX_ROWS: usize = 256;
/// Longest line, bytes.
const MAX_LINE: usize = 512;

/// What it says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Detail {
    /// Places without a device.
    pub empty: Vec<u64>,
    /// mdadm calls the array failed: it lacks more devices than it can do without.
    pub is_failed: bool,
    /// Devices that failed, such as `/dev/sdb1`.
    pub faulty: Vec<String>,
}

/// Reads the table at the end: number, major, minor, place, state, device.
pub fn parse(text: &str) -> Detail {
    let mut states = text
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("State : "));
    let mut detail = Detail {
        is_failed: states.any(|state| state.split(", ").any(|word| word.trim() == "FAILED")),
        ..Detail::default()
    };
    let rows = text
        .lines()
        .filter(|line| line.len() <= MAX_LINE)
        .skip_while(|line| !line.trim_start().starts_with("Number "))
        .skip(1);
    for row in rows.take(MAX_ROWS) {
        let words: Vec<&str> = row.split_whitespace().collect();
        match words.as_slice() {
            [_, _, _, place, "removed"] => detail.empty.extend(place.parse::<u64>().ok()),
            [_, _, _, _, states @ .., device]
                if device.starts_with("/dev/") && states.contains(&"faulty") =>
            {
                detail.faulty.push((*device).to_owned());
            }
            _ => {}
        }
    }
    detail
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "/dev/md0:\n           Version : 1.2\n        Raid Level : raid1\n             State : clean, degraded \n\
        Active Devices : 1\n    Failed Devices : 1\n\n    Number   Major   Minor   RaidDevice State\n\
       -       0        0        0      removed\n       1       8       17        1      active sync   /dev/sdb1\n\n\
       0       8        1        -      faulty   /dev/sda1\n";

    #[test]
    fn empty_and_faulty() {
        let detail = Detail {
            empty: vec![0],
            is_failed: false,
            faulty: vec!["/dev/sda1".to_owned()],
        };
        assert_eq!(parse(TEXT), detail);
        assert!(parse(&TEXT.replace("degraded", "FAILED")).is_failed);
        assert_eq!(
            parse("mdadm: cannot open /dev/md9: No such file or directory"),
            Detail::default()
        );
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "(Number |removed|faulty|/dev/sda|[0-9]|-| |\n){0,60}") {
            let detail = parse(&format!("    Number   Major\n{text}"));
            prop_assert!(detail.faulty.iter().all(|device| device.starts_with("/dev/")));
        }
    }
}
