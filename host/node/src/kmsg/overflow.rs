//! Matching messages that did not fit into an inbox: which they are, and their outcome when the log was read again.

use super::{
    gaps::{Gap, GapCause},
    record::KernelMessage,
};

/// Messages that are outside of an inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Overflow {
    /// Sequence number of the first.
    pub first: u64,
    /// Sequence number of the last.
    pub last: u64,
    /// How many there are.
    pub count: u64,
    /// Time of the last, Unix milliseconds.
    pub time: u64,
}

impl Overflow {
    /// Adds a message.
    pub fn add(overflow: &mut Option<Self>, message: &KernelMessage) {
        let (sequence, time) = (message.sequence, message.time);
        let overflow = overflow.get_or_insert(Self {
            first: sequence,
            last: sequence,
            count: 0,
            time,
        });
        overflow.first = overflow.first.min(sequence);
        overflow.last = overflow.last.max(sequence);
        overflow.count += 1;
        overflow.time = time;
    }
}

/// A second look at the log for what did not fit.
#[derive(Debug)]
pub(super) struct Refill {
    wanted: Overflow,
    found: u64,
    /// The sequence number that the next record has if nothing is missing.
    expected: u64,
    /// The last sequence number that the log does not hold.
    last_missing: Option<u64>,
}

impl Refill {
    /// Looks for these.
    pub fn new(wanted: Overflow) -> Self {
        Self {
            found: 0,
            expected: wanted.first,
            last_missing: None,
            wanted,
        }
    }

    /// The first sequence number that is of interest.
    pub fn first(&self) -> u64 {
        self.wanted.first
    }

    /// Notes that the log holds this record, in the order of the log.
    pub fn looked_at(&mut self, sequence: u64) {
        if sequence > self.expected {
            self.last_missing = Some(sequence - 1);
        }
        self.expected = self.expected.max(sequence.saturating_add(1));
    }

    /// Notes that a message is in the inbox again.
    pub fn found(&mut self) {
        self.found += 1;
    }

    /// The messages that the log no longer has, if `outside` messages are still to be read.
    pub fn lost(self, outside: u64) -> Option<Gap> {
        let Overflow {
            first, last, time, ..
        } = self.wanted;
        // More than wanted were found if patterns changed.
        let count = self
            .wanted
            .count
            .saturating_sub(self.found)
            .saturating_sub(outside);
        let ended = self.expected <= last;
        let last_lost = match self.last_missing {
            Some(missing) if !ended => missing.min(last),
            _ => last,
        };
        (count > 0).then_some(Gap {
            cause: GapCause::InboxFull,
            first_lost: first,
            last_lost,
            count,
            time,
        })
    }

    /// The messages that are outside after all, if the read was not complete: all after `last`, the last message that
    /// was found.
    pub fn unread(self, last: Option<u64>) -> Option<Overflow> {
        let count = self.wanted.count.saturating_sub(self.found);
        let first = match last {
            Some(last) if self.found > 0 => last.saturating_add(1),
            _ => self.wanted.first,
        };
        (count > 0).then_some(Overflow {
            first,
            count,
            ..self.wanted
        })
    }
}
