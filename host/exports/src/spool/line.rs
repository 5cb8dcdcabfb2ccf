//! One record as a line of a spool file: a checksum, a space, JSON, a line break.
//!
//! A line is whole when it ends in a line break and its checksum fits; anything else in a file is no record.

use sha2::{Digest as _, Sha256};

use crate::Record;

/// Hexadecimal digits of the checksum.
const CHECKSUM_DIGITS: usize = 16;

/// Longest line, bytes. A record of gpud is far shorter.
pub const MAX_LINE: usize = 1 << 20;

/// Returns the line of a record. `None` for one that is too long.
pub fn encode(record: &Record) -> Option<Vec<u8>> {
    let json = serde_json::to_vec(record).ok()?;
    let mut line = checksum(&json).into_bytes();
    line.push(b' ');
    line.extend(json);
    line.push(b'\n');
    (line.len() <= MAX_LINE).then_some(line)
}

/// Reads a line without its line break.
pub fn decode(line: &[u8]) -> Option<Record> {
    let (sum, rest) = line.split_at_checked(CHECKSUM_DIGITS)?;
    let json = rest.strip_prefix(b" ")?;
    if checksum(json).as_bytes() != sum {
        return None;
    }
    serde_json::from_slice(json).ok()
}

/// The parts of a file's bytes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// Start and end of each whole line, the line break included.
    pub good: Vec<(u64, u64)>,
    /// Bytes of lines that are no records.
    pub bad: u64,
    /// Bytes behind the last line break: a write that was cut off.
    pub torn: u64,
}

/// Finds the lines of a file's bytes.
pub fn scan(bytes: &[u8]) -> Scan {
    let mut scan = Scan::default();
    let mut at = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let end = at + line.len() as u64;
        match line.strip_suffix(b"\n") {
            None => scan.torn = line.len() as u64,
            Some(text) if decode(text).is_some() => scan.good.push((at, end)),
            Some(_) => scan.bad += line.len() as u64,
        }
        at = end;
    }
    scan
}

fn checksum(json: &[u8]) -> String {
    let digest = Sha256::digest(json);
    let bytes = digest.iter().take(CHECKSUM_DIGITS / 2);
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::worker::tests::record;

    fn lines(count: u64) -> Vec<u8> {
        (0..count)
            .flat_map(|n| encode(&record(n)).unwrap())
            .collect()
    }

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let mut odd = record(7);
        odd.node.hostname = "a\nb\u{2028}\"ü\0".into();
        let line = encode(&odd).unwrap();
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        assert_eq!(decode(line.strip_suffix(b"\n").unwrap()), Some(odd));
        let mut large = record(1);
        large.node.hostname = "x".repeat(MAX_LINE);
        assert_eq!(encode(&large), None);
    }

    proptest! {
        #[test]
        fn a_file_that_is_cut_anywhere_gives_the_lines_before(count in 0_u64..6, cut in 0_usize..4096) {
            let bytes = lines(count);
            let cut = cut.min(bytes.len());
            let found = scan(&bytes[..cut]);
            let whole = bytes[..cut].iter().filter(|byte| **byte == b'\n').count();
            prop_assert_eq!(found.good.len(), whole);
            prop_assert_eq!(found.bad, 0);
            let end = found.good.last().map_or(0, |line| line.1);
            prop_assert_eq!(end + found.torn, cut as u64);
        }

        #[test]
        fn one_changed_byte_costs_one_record_or_two(count in 1_u64..6, at in 0_usize..4096, byte: u8) {
            let mut bytes = lines(count);
            let at = at % bytes.len();
            prop_assume!(bytes[at] != byte);
            bytes[at] = byte;
            let found = scan(&bytes);
            // A lost line break joins two lines, or tears the last.
            prop_assert!(found.good.len() as u64 + 2 >= count, "{found:?}");
            prop_assert!((found.good.len() as u64) < count);
            let good: u64 = found.good.iter().map(|line| line.1 - line.0).sum();
            prop_assert_eq!(good + found.bad + found.torn, bytes.len() as u64);
        }

        #[test]
        fn nonsense_has_no_records(bytes: Vec<u8>) {
            let found = scan(&bytes);
            prop_assert!(found.good.is_empty());
            prop_assert_eq!(found.bad + found.torn, bytes.len() as u64);
        }
    }
}
