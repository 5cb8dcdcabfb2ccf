//! The lines, and what is done to them.

use std::{fs, path::Path};

/// Lines with which nothing is wrong.
pub fn seeds() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus/kernel_line");
    let mut paths: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    // The order of a folder is chance.
    paths.sort();
    let mut seeds = Vec::new();
    for path in paths {
        let lines = fs::read(&path).unwrap();
        let lines = lines.split(|&byte| byte == b'\n');
        seeds.extend(lines.filter(|line| line.len() > 1).map(<[u8]>::to_vec));
    }
    assert!(seeds.len() > 300, "{} in {}", seeds.len(), folder.display());
    seeds
}

/// Numbers that look like chance and are the same in every run (SplitMix64).
pub struct Numbers(pub u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to `end - 1`; 0 if there is none.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    pub fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub fn pick<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        &among[self.below(among.len())]
    }
}

/// What is put into lines.
const ODD: [&[u8]; 24] = [
    b"\0",
    b"\\x00",
    b"\\x0a",
    b"\\xff",
    b"\\x5c",
    b"\\x",
    b"\\",
    b"\x80",
    b"\xc3",
    b"\xf0\x9f\x92",
    "é".as_bytes(),
    "\u{202e}".as_bytes(),
    b"\x1b[31m",
    b"\r",
    b"\t",
    b" ",
    b";",
    b",",
    b":",
    b"()",
    b"]",
    b"-1",
    b"18446744073709551616",
    b"0x",
];
/// The longest text that the kernel takes from user space, bytes; escaped it can be four times as long.
const LONG: usize = 900;

/// A line, changed.
pub fn line(numbers: &mut Numbers, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut line = numbers.pick(seeds).clone();
    if numbers.one_in(4) {
        return line;
    }
    for _ in 0..=numbers.below(3) {
        let at = numbers.below(line.len() + 1);
        match numbers.below(8) {
            0 => line.truncate(at),
            1 => {
                let other = numbers.pick(seeds);
                line.truncate(at);
                line.extend_from_slice(&other[numbers.below(other.len())..]);
            }
            2 | 3 => {
                let odd = numbers.pick(&ODD).iter().copied();
                line.splice(at..at, odd);
            }
            4 => {
                let odd = *numbers.pick(&ODD);
                let times = LONG / odd.len();
                line.splice(at..at, odd.repeat(times));
            }
            5 => {
                let byte = line.get(at).copied().unwrap_or(b'x');
                line.splice(at..at, vec![byte; LONG]);
            }
            6 => {
                let end = at + numbers.below(line.len() - at + 1);
                line.drain(at..end);
            }
            _ => {
                let digits = line.iter().position(u8::is_ascii_digit);
                if let Some(digit) = digits {
                    line.splice(digit..=digit, b"99999999999999999999".iter().copied());
                }
            }
        }
    }
    line.retain(|&byte| byte != b'\n');
    line
}

/// What is no record.
const NO_RECORDS: [&[u8]; 8] = [
    b"noise",
    b";",
    b"6,1;few fields",
    b"-6,1,1,-;a minus",
    b"6,99999999999999999999,1,-;too large",
    b"6,1,99999999999999999999,-;too large",
    b"4294967296,1,1,-;too large",
    b"\xff\0\x80",
];

/// Records as `/dev/kmsg` gives them.
pub struct Log {
    pub records: Vec<Vec<u8>>,
    /// How many of them are none.
    pub unparsable: u64,
    /// How many numbers were skipped.
    pub lost: u64,
}

/// A log of so many records: some in pieces, with dictionaries, too long, not from the kernel, or not at all readable;
/// numbers with holes, and times that go anywhere.
pub fn log(seed: u64, count: usize) -> Log {
    let seeds = seeds();
    let mut numbers = Numbers(seed);
    let mut log = Log {
        records: Vec::new(),
        unparsable: 0,
        lost: 0,
    };
    let mut micros: u64 = 60_000_000;
    let mut sequence = 0_u64;
    while log.records.len() < count {
        // Not before the first record: what was before it is not missed.
        if sequence > 0 && numbers.one_in(64) {
            let lost = 1 + numbers.below(5) as u64;
            log.lost += lost;
            sequence += lost;
        }
        micros = match numbers.below(32) {
            0 => u64::MAX,
            1 => 0,
            2 | 3 => 60_000_000 + numbers.below(4_000_000_000) as u64,
            4 | 5 => micros.saturating_sub(5_000_000),
            _ => micros.min(1 << 50) + numbers.below(1_000_000) as u64,
        };
        let facility = *numbers.pick(&[0, 0, 0, 0, 0, 0, 1, 3, 5, 23]);
        let prefix = facility * 8 + numbers.below(8);
        let text = line(&mut numbers, &seeds);
        let record = |flag: &str, text: &[u8], sequence: u64| {
            let mut record = format!("{prefix},{sequence},{micros},{flag};").into_bytes();
            record.extend_from_slice(text);
            record.push(b'\n');
            record
        };
        match numbers.below(32) {
            0 if sequence > 0 => {
                log.unparsable += 1;
                let mut noise = numbers.pick(&NO_RECORDS).to_vec();
                noise.push(b'\n');
                log.records.push(noise);
            }
            1 if sequence > 0 => {
                log.unparsable += 1;
                log.records.push(record(
                    "-",
                    &text.repeat(1 + 9000 / (text.len() + 1)),
                    sequence,
                ));
                let long = log.records.last_mut().unwrap();
                while long.len() < 9000 {
                    long.insert(long.len() - 1, b'x');
                }
            }
            2 | 3 => {
                let (first, second) = text.split_at(numbers.below(text.len()));
                log.records.push(record("c", first, sequence));
                sequence += 1;
                log.records.push(record("+,caller=T7", second, sequence));
            }
            4 | 5 => {
                let mut record = record("-", &text, sequence);
                record
                    .extend_from_slice(b" SUBSYSTEM=pci\n DEVICE=+pci:0000:04:00.0\n noise\n =\n");
                log.records.push(record);
            }
            _ => log.records.push(record("-", &text, sequence)),
        }
        sequence += 1;
    }
    log
}
