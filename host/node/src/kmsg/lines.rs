//! Cuts a captured kernel log (as `cat /dev/kmsg` writes it) into records: a line, and the lines after it that begin with
//! a blank.

use super::record::MAX_RECORD;

/// Collects bytes and gives out records. Holds at most about one record and what was fed last.
#[derive(Debug, Default)]
pub struct LineSplitter {
    bytes: Vec<u8>,
    /// The position of the next record.
    start: usize,
    /// The rest of an overlong line is being thrown away.
    skipping: bool,
    /// The source had nothing more when it was asked last, so what is left is not about to be completed.
    at_end: bool,
}

impl LineSplitter {
    /// Adds what was read.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.at_end = false;
        self.bytes.drain(..self.start);
        self.start = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends the next record that is surely complete. An overlong one is cut to a byte more than [`MAX_RECORD`], so
    /// that it counts as unparsable.
    pub fn take(&mut self, out: &mut Vec<u8>) -> bool {
        self.next(out, End::Unknown)
    }

    /// Like [`take`](Self::take) when the source has nothing more for now: the last full line is a record. Asked a
    /// second time with nothing fed in between, it gives out an unfinished line as well.
    pub fn take_at_end(&mut self, out: &mut Vec<u8>) -> bool {
        let end = if self.at_end { End::Settled } else { End::Line };
        let found = self.next(out, end);
        if !found {
            self.at_end = true;
        }
        found
    }

    fn next(&mut self, out: &mut Vec<u8>, end: End) -> bool {
        loop {
            let rest = self.bytes.get(self.start..).unwrap_or_default();
            if self.skipping {
                let Some(line) = rest.iter().position(|&byte| byte == b'\n') else {
                    self.start = self.bytes.len();
                    return false;
                };
                self.start += line + 1;
                self.skipping = false;
                continue;
            }
            let (length, overlong) = match record_length(rest, end) {
                Some(length) => (length, length > MAX_RECORD),
                None if rest.len() > MAX_RECORD => (MAX_RECORD + 1, true),
                None => return false,
            };
            let record = rest.get(..length.min(MAX_RECORD + 1)).unwrap_or_default();
            self.start += length;
            // Cut in the middle of a line, the rest of that line is no record of its own.
            self.skipping = overlong && record.len() == length && !record.ends_with(b"\n");
            if record != b"\n" {
                out.extend_from_slice(record);
                return true;
            }
        }
    }
}

/// How much is known about what follows the bytes at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// More may follow at once: a line needs its successor to be known as complete.
    Unknown,
    /// Nothing follows for now: full lines are complete.
    Line,
    /// Nothing followed for a while: even a line without its end is complete.
    Settled,
}

fn record_length(bytes: &[u8], end: End) -> Option<usize> {
    let mut from = 0;
    loop {
        let Some(line) = bytes.get(from..)?.iter().position(|&byte| byte == b'\n') else {
            return (end == End::Settled && !bytes.is_empty()).then_some(bytes.len());
        };
        from += line + 1;
        match bytes.get(from) {
            Some(b' ') => {}
            Some(_) => return Some(from),
            None => return (end != End::Unknown).then_some(from),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn collect(
        splitter: &mut LineSplitter,
        taker: fn(&mut LineSplitter, &mut Vec<u8>) -> bool,
    ) -> Vec<String> {
        let mut records = Vec::new();
        loop {
            let mut out = Vec::new();
            if !taker(splitter, &mut out) {
                return records;
            }
            records.push(String::from_utf8(out).unwrap());
        }
    }

    #[test]
    fn keeps_the_dictionary_with_its_line() {
        let mut splitter = LineSplitter::default();
        splitter.feed(b"a\n K=1\n L=2\n\nb\nc");
        assert_eq!(
            collect(&mut splitter, LineSplitter::take),
            ["a\n K=1\n L=2\n", "b\n"]
        );
        splitter.feed(b"c\n");
        assert_eq!(collect(&mut splitter, LineSplitter::take), [""; 0]);
        assert_eq!(collect(&mut splitter, LineSplitter::take_at_end), ["cc\n"]);
        splitter.feed(b"d");
        assert_eq!(collect(&mut splitter, LineSplitter::take_at_end), [""; 0]);
        assert_eq!(collect(&mut splitter, LineSplitter::take_at_end), ["d"]);
    }

    #[test]
    fn an_overlong_line_is_cut_and_the_next_one_survives() {
        for chunk in [1, 1000, 100_000] {
            let mut splitter = LineSplitter::default();
            let text = [
                b"6,1,1,-;".as_slice(),
                &[b'x'; 3 * MAX_RECORD],
                b"\n6,2,2,-;next\n",
            ]
            .concat();
            let mut records = Vec::new();
            for part in text.chunks(chunk) {
                splitter.feed(part);
                records.extend(collect(&mut splitter, LineSplitter::take));
                assert!(
                    chunk == 100_000 || splitter.bytes.len() <= 2 * MAX_RECORD,
                    "grows without bound"
                );
            }
            records.extend(collect(&mut splitter, LineSplitter::take_at_end));
            assert_eq!(
                records.iter().map(String::len).collect::<Vec<_>>(),
                [MAX_RECORD + 1, 13],
                "{chunk}"
            );
        }
    }

    proptest! {
        /// However the bytes arrive, the records are the same.
        #[test]
        fn chunks_do_not_matter(lines in proptest::collection::vec("[a-z]{1,8}(\n K=[a-z]{0,3}){0,2}", 0..20), chunk in 1usize..40) {
            let text = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
            let mut splitter = LineSplitter::default();
            let mut records = Vec::new();
            for part in text.as_bytes().chunks(chunk) {
                splitter.feed(part);
                records.extend(collect(&mut splitter, LineSplitter::take));
            }
            records.extend(collect(&mut splitter, LineSplitter::take_at_end));
            prop_assert_eq!(records.concat(), text);
            prop_assert_eq!(records.len(), lines.len());
        }
    }
}
