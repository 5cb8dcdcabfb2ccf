//! Finds the holes in the sequence numbers of the kernel log.
//!
//! The kernel numbers its records without holes, so a number that was skipped is a record that was overwritten before it
//! was read.

use super::gaps::{Gap, GapCause};

/// The meaning of a sequence number for the records before it.
#[derive(Debug, PartialEq, Eq)]
pub enum Observation {
    /// A record not seen before, and the gap in front of it.
    New(Option<Gap>),
    /// A record that was read before the source was reopened.
    Replayed,
}

/// Follows the sequence numbers of one source.
#[derive(Debug, Default)]
pub struct Accounting {
    /// The number that must come next; `None` before the first record.
    expected: Option<u64>,
    /// Numbers below this were dealt with by an earlier run of the daemon, so they are not lost.
    floor: u64,
    /// Records without a readable number since the last one that had one: each stands for one skipped number.
    nameless: u64,
    /// The source was reopened and repeats what was read before.
    replaying: bool,
}

impl Accounting {
    /// Starts with the last sequence number that an earlier run **of the same boot** dealt with, if there is one.
    pub fn new(resume_after: Option<u64>) -> Self {
        Self {
            floor: resume_after.map_or(0, |last| last.saturating_add(1)),
            ..Self::default()
        }
    }

    /// Takes the number of a record, in the order of reading; `time` is the record's, Unix milliseconds.
    ///
    /// A number that goes backwards begins a new log (another boot in a captured file): no gap.
    pub fn observe(&mut self, sequence: u64, time: u64) -> Observation {
        let nameless = std::mem::take(&mut self.nameless);
        if self.expected.is_some_and(|expected| sequence < expected) {
            if self.replaying {
                return Observation::Replayed;
            }
            self.floor = 0;
            self.expected = Some(sequence.saturating_add(1));
            return Observation::New(None);
        }
        self.replaying = false;
        // Without an expectation only numbers above a remembered one can be missed.
        let from = self
            .expected
            .or((self.floor > 0).then_some(0))
            .unwrap_or(sequence)
            .max(self.floor);
        self.expected = Some(sequence.saturating_add(1));
        let count = sequence.saturating_sub(from).saturating_sub(nameless);
        Observation::New((count > 0).then(|| Gap {
            cause: GapCause::Overrun,
            first_lost: from,
            last_lost: sequence.saturating_sub(1),
            count,
            time,
        }))
    }

    /// Takes a record whose number could not be read.
    pub fn observe_nameless(&mut self) {
        self.nameless += 1;
    }

    /// The source was reopened and starts again at its oldest record.
    pub fn reopened(&mut self) {
        self.replaying = true;
    }

    /// The source was replaced by another log (a truncated file): nothing is expected any more.
    pub fn restarted(&mut self) {
        *self = Self::default();
    }

    /// The last number observed.
    pub fn last(&self) -> Option<u64> {
        self.expected.map(|expected| expected.saturating_sub(1))
    }

    /// Notes that all records of the source were read. A remembered number beyond them is of another boot.
    pub fn caught_up(&mut self) {
        self.replaying = false;
        if self.expected.is_some_and(|expected| expected < self.floor) {
            self.floor = 0;
        }
    }
}

#[cfg(test)]
mod tests;
