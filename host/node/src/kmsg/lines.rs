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

/// The knowledge about the bytes after those at hand.
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
mod tests;
