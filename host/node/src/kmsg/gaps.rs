//! Stores runs of lost records until events are made of them.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

/// Why records were lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GapCause {
    /// The kernel overwrote them before they were read (or while the daemon was not running).
    Overrun,
    /// They were read, but the matcher was too far behind to take them.
    QueueFull,
    /// A checker was behind, or its findings could not be stored, until the kernel had overwritten them.
    InboxFull,
    /// A checker failed on them again and again.
    CheckerFailed,
}

impl GapCause {
    /// The cause in words, for a sentence that ends with it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Overrun => "the kernel overwrote them before they were read",
            Self::QueueFull => "they came faster than they could be examined",
            Self::InboxFull => {
                "they could not be handled and stored before the kernel overwrote them"
            }
            Self::CheckerFailed => "the checker failed on them",
        }
    }
}

/// A run of records that no watcher, or one of them, did not see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// Why.
    pub cause: GapCause,
    /// The first lost sequence number.
    pub first_lost: u64,
    /// The last lost sequence number.
    pub last_lost: u64,
    /// How many were lost. Less than the span where unreadable records are inside it (they are counted as unparsable)
    /// or where several gaps were merged.
    pub count: u64,
    /// Time of the record next to the gap, Unix milliseconds.
    pub time: u64,
}

impl Gap {
    /// Merges two gaps into one with the span of both, and the sum of their counts.
    #[must_use]
    pub(super) fn and(self, later: &Self) -> Self {
        Self {
            first_lost: self.first_lost.min(later.first_lost),
            last_lost: self.last_lost.max(later.last_lost),
            count: self.count.saturating_add(later.count),
            time: later.time,
            ..self
        }
    }
}

/// The gaps that no thread has taken yet. Bounded: neighbours of one cause are merged, and when it is full the newest
/// entry grows instead (its `count` stays exact).
#[derive(Debug, Default)]
pub struct GapLog {
    gaps: Mutex<VecDeque<Gap>>,
    notify: Notify,
}

impl GapLog {
    /// The most entries that are kept.
    pub const LIMIT: usize = 256;

    /// Adds a gap, merged with the last one where they touch.
    pub fn push(&self, gap: Gap) {
        let mut gaps = self.lock();
        let full = gaps.len() >= Self::LIMIT;
        match gaps.back_mut() {
            Some(last)
                if full
                    || (last.cause == gap.cause
                        && last.last_lost.checked_add(1) == Some(gap.first_lost)) =>
            {
                *last = last.clone().and(&gap);
            }
            _ => gaps.push_back(gap),
        }
        drop(gaps);
        self.notify.notify_one();
    }

    /// Takes all gaps, oldest first.
    pub fn take(&self) -> Vec<Gap> {
        self.lock().drain(..).collect()
    }

    /// Waits until there may be a gap to [`take`](Self::take). For one waiting task.
    pub async fn changed(&self) {
        self.notify.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Gap>> {
        self.gaps.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(first_lost: u64, last_lost: u64, count: u64) -> Gap {
        Gap {
            cause: GapCause::Overrun,
            first_lost,
            last_lost,
            count,
            time: 7,
        }
    }

    #[test]
    fn the_gap_log_is_bounded_and_keeps_the_count() {
        let log = GapLog::default();
        log.push(gap(1, 2, 2));
        log.push(gap(3, 3, 1));
        assert_eq!(log.take(), vec![gap(1, 3, 3)]);
        for number in 0..1000 {
            log.push(gap(number * 10, number * 10, 1));
        }
        let gaps = log.take();
        assert_eq!(gaps.len(), GapLog::LIMIT);
        assert_eq!(gaps.iter().map(|gap| gap.count).sum::<u64>(), 1000);
        assert_eq!(gaps.last().map(|gap| gap.last_lost), Some(9990));
        assert_eq!(log.take(), vec![]);
    }
}
