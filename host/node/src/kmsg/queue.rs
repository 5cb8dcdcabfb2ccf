//! The queue between the reader and the matcher: bounded by bytes, and putting something in never waits.

use std::{
    collections::VecDeque,
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

/// Most bytes that wait when the source does: more would only be memory.
const PATIENT_LIMIT: usize = 1 << 20;

/// Records as they were read, in order, in one piece of memory.
#[derive(Debug, Default)]
pub(super) struct RecordBatch {
    bytes: Vec<u8>,
    /// The end of each record.
    ends: Vec<usize>,
}

impl RecordBatch {
    /// Returns the buffer for the next record's bytes; [`seal`](Self::seal) or [`discard`](Self::discard) must follow.
    pub(super) fn tail(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Returns the written part of the tail that is not sealed yet.
    pub(super) fn unsealed(&self) -> &[u8] {
        self.bytes.get(self.sealed()..).unwrap_or_default()
    }

    /// Makes the tail a record.
    pub(super) fn seal(&mut self) {
        self.ends.push(self.bytes.len());
    }

    /// Throws the tail away.
    pub(super) fn discard(&mut self) {
        self.bytes.truncate(self.sealed());
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts
            .zip(&self.ends)
            .map(|(start, &end)| self.bytes.get(start..end).unwrap_or_default())
    }

    fn sealed(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Returns the memory of the batch, bytes.
    fn cost(&self) -> usize {
        self.bytes.capacity() + self.ends.capacity() * size_of::<usize>()
    }
}

/// The next work of the matcher.
#[derive(Debug)]
pub(super) enum MatcherWork<C> {
    /// Examine these.
    Records(RecordBatch),
    /// The reader has read everything that there was, up to this sequence number.
    CaughtUp(Option<u64>),
    /// Something from the side, to be done before any more records.
    Change(C),
    /// Inboxes have room again.
    Refill,
    /// Stop.
    Stop,
}

/// The queue; `C` is what can be handed to the matcher past the waiting records.
#[derive(Debug)]
pub(super) struct Queue<C> {
    state: Mutex<QueueState<C>>,
    ready: Condvar,
    limit: usize,
    patient: AtomicBool,
}

#[derive(Debug)]
struct QueueState<C> {
    batches: VecDeque<QueueEntry>,
    bytes: usize,
    change: Option<C>,
    refill: bool,
    stopped: bool,
}

#[derive(Debug)]
enum QueueEntry {
    Records(RecordBatch),
    CaughtUp(Option<u64>),
}

impl<C> Queue<C> {
    /// A queue of at most this many bytes.
    pub(super) fn new(limit: usize) -> Self {
        let state = QueueState {
            batches: VecDeque::new(),
            bytes: 0,
            change: None,
            refill: false,
            stopped: false,
        };
        Self {
            state: Mutex::new(state),
            ready: Condvar::new(),
            limit,
            patient: AtomicBool::new(false),
        }
    }

    /// Says whether the source keeps what is not read yet, as a file does. Then nobody drops anything: the reader waits
    /// for the matcher, and the matcher for the inboxes.
    pub(super) fn set_patient(&self, patient: bool) {
        self.patient.store(patient, Ordering::Relaxed);
    }

    /// See [`set_patient`](Self::set_patient).
    pub(super) fn is_patient(&self) -> bool {
        self.patient.load(Ordering::Relaxed)
    }

    /// Puts a batch in, or gives it back when there is no room.
    pub(super) fn push(&self, batch: RecordBatch) -> Result<(), RecordBatch> {
        let mut state = self.lock();
        let bytes = state.bytes + batch.cost();
        let limit = match self.is_patient() {
            true => self.limit.min(PATIENT_LIMIT),
            false => self.limit,
        };
        if bytes > limit && !(self.is_patient() && state.batches.is_empty()) {
            return Err(batch);
        }
        state.bytes = bytes;
        state.batches.push_back(QueueEntry::Records(batch));
        drop(state);
        self.ready.notify_one();
        Ok(())
    }

    /// Says that the reader has caught up with the source, whose last record has this number. For one call per start.
    pub(super) fn mark_caught_up(&self, last: Option<u64>) {
        self.lock().batches.push_back(QueueEntry::CaughtUp(last));
        self.ready.notify_one();
    }

    /// Hands something to the matcher; it replaces a change that was not taken yet.
    pub(super) fn change(&self, change: C) {
        self.lock().change = Some(change);
        self.ready.notify_one();
    }

    /// Makes the matcher look for inboxes that have room again.
    pub(super) fn refill(&self) {
        self.lock().refill = true;
        self.ready.notify_one();
    }

    /// Makes [`next`](Self::next) return [`MatcherWork::Stop`] from now on. Waiting records are left alone: a later start reads
    /// them again.
    pub(super) fn stop(&self) {
        self.lock().stopped = true;
        self.ready.notify_all();
    }

    /// Whether [`stop`](Self::stop) was called.
    pub(super) fn is_stopped(&self) -> bool {
        self.lock().stopped
    }

    /// Whether nothing is waiting.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.lock().batches.is_empty()
    }

    /// Waits for something to do.
    pub(super) fn next(&self) -> MatcherWork<C> {
        let mut state = self.lock();
        loop {
            if state.stopped {
                return MatcherWork::Stop;
            }
            if let Some(change) = state.change.take() {
                return MatcherWork::Change(change);
            }
            if std::mem::take(&mut state.refill) {
                return MatcherWork::Refill;
            }
            match state.batches.pop_front() {
                Some(QueueEntry::Records(batch)) => {
                    state.bytes = state.bytes.saturating_sub(batch.cost());
                    return MatcherWork::Records(batch);
                }
                Some(QueueEntry::CaughtUp(last)) => return MatcherWork::CaughtUp(last),
                None => {
                    state = self
                        .ready
                        .wait(state)
                        .unwrap_or_else(PoisonError::into_inner)
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, QueueState<C>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn batch(records: &[&str]) -> RecordBatch {
        let mut batch = RecordBatch::default();
        for record in records {
            batch.tail().extend_from_slice(record.as_bytes());
            batch.seal();
        }
        batch
    }

    #[test]
    fn a_batch_keeps_its_records_apart() {
        let mut batch = batch(&["ab", "", "c"]);
        batch.tail().extend_from_slice(b"bad");
        assert_eq!(batch.unsealed(), b"bad");
        batch.discard();
        batch.tail().extend_from_slice(b"d");
        batch.seal();
        assert_eq!(
            batch.iter().collect::<Vec<_>>(),
            [b"ab".as_slice(), b"", b"c", b"d"]
        );
        assert_eq!(batch.len(), 4);
    }

    #[test]
    fn is_bounded_by_bytes_and_the_room_comes_back() {
        let cost = batch(&["0123456789"]).cost();
        let queue: Queue<()> = Queue::new(2 * cost);
        assert!(queue.push(batch(&["0123456789"])).is_ok());
        assert!(queue.push(batch(&["0123456789"])).is_ok());
        let refused = queue.push(batch(&["abcdefghij"])).unwrap_err();
        assert_eq!(refused.iter().next(), Some(b"abcdefghij".as_slice()));
        assert!(matches!(queue.next(), MatcherWork::Records(_)));
        assert!(queue.push(refused).is_ok());
    }

    #[test]
    fn a_change_overtakes_and_a_stop_ends() {
        let queue = Queue::new(1 << 20);
        queue.push(batch(&["x"])).unwrap();
        queue.mark_caught_up(Some(3));
        queue.change(1);
        queue.change(2);
        assert!(matches!(queue.next(), MatcherWork::Change(2)));
        assert!(matches!(queue.next(), MatcherWork::Records(_)));
        assert!(matches!(queue.next(), MatcherWork::CaughtUp(Some(3))));
        queue.push(batch(&["x"])).unwrap();
        queue.stop();
        assert!(matches!(queue.next(), MatcherWork::Stop));
        assert!(queue.is_stopped());
    }
}
