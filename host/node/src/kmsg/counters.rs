//! Adds up the outcome of every record: read = examined + counted loss.

use std::sync::atomic::{AtomicU64, Ordering};

/// The running counts behind [`CounterValues`].
#[derive(Debug, Default)]
pub struct Counters {
    pub(super) records_read: AtomicU64,
    pub(super) bytes_read: AtomicU64,
    pub(super) records_examined: AtomicU64,
    pub(super) unparsable: AtomicU64,
    pub(super) lost_overrun: AtomicU64,
    pub(super) lost_queue: AtomicU64,
    pub(super) reopened: AtomicU64,
    pub(super) gaps: AtomicU64,
}

/// The counts since the start, at one moment: `records_read = records_examined + unparsable + lost_queue`, apart from
/// records that are on their way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CounterValues {
    /// Records read, without those repeated after a reopening.
    pub records_read: u64,
    /// Their bytes.
    pub bytes_read: u64,
    /// Records matched against the watchers' patterns.
    pub records_examined: u64,
    /// Records that could not be taken apart; skipped.
    pub unparsable: u64,
    /// Records overwritten by the kernel before they were read; never part of `records_read`.
    pub lost_overrun: u64,
    /// Records read but dropped because the queue to the matcher was full.
    pub lost_queue: u64,
    /// How often the source was opened again.
    pub reopened: u64,
    /// How many gaps there were (of both causes).
    pub gaps: u64,
}

impl Counters {
    /// Reads all counters.
    pub fn values(&self) -> CounterValues {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        CounterValues {
            records_read: get(&self.records_read),
            bytes_read: get(&self.bytes_read),
            records_examined: get(&self.records_examined),
            unparsable: get(&self.unparsable),
            lost_overrun: get(&self.lost_overrun),
            lost_queue: get(&self.lost_queue),
            reopened: get(&self.reopened),
            gaps: get(&self.gaps),
        }
    }
}

pub(super) fn add(counter: &AtomicU64, amount: u64) {
    counter.fetch_add(amount, Ordering::Relaxed);
}
