//! A bounded queue in memory that drops its oldest records and counts them.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

use crate::{Record, status::Status};

/// Most memory that one queue takes, bytes.
pub const MAX_BYTES: usize = 4 << 20;

/// A queue. Pushing never waits.
#[derive(Debug)]
pub struct Queue {
    max_records: usize,
    status: Arc<Status>,
    inner: Mutex<QueueState>,
    /// Something came.
    pushed: Notify,
}

#[derive(Debug, Default)]
struct QueueState {
    records: VecDeque<Arc<Record>>,
    bytes: usize,
    /// How many of the oldest are being delivered; they are not given up.
    in_flight: usize,
}

impl Queue {
    /// Makes an empty one.
    pub fn new(max_records: usize, status: Arc<Status>) -> Self {
        Self {
            max_records: max_records.max(1),
            status,
            inner: Mutex::default(),
            pushed: Notify::new(),
        }
    }

    /// Adds a record. When the queue is full, its oldest records are dropped and counted. Returns how many.
    pub fn push(&self, record: Arc<Record>) -> u64 {
        let mut inner = self.inner();
        inner.bytes += record.weight();
        inner.records.push_back(record);
        let mut dropped = 0;
        while inner.records.len() > self.max_records || inner.bytes > MAX_BYTES {
            let oldest = inner.in_flight;
            // The newest record is retained, whatever its size.
            if oldest + 1 >= inner.records.len() {
                break;
            }
            let Some(record) = inner.records.remove(oldest) else {
                break;
            };
            inner.bytes -= record.weight();
            dropped += 1;
        }
        self.status.set_queued(inner.records.len());
        drop(inner);
        self.status.add_dropped(dropped);
        self.pushed.notify_one();
        dropped
    }

    /// Gives the oldest records, at most `max`, which stay in the queue and are not dropped until [`Self::remove`] or
    /// [`Self::release`].
    pub fn front(&self, max: usize) -> Vec<Arc<Record>> {
        let mut inner = self.inner();
        let front: Vec<_> = inner.records.iter().take(max).cloned().collect();
        inner.in_flight = front.len();
        front
    }

    /// Removes the oldest `count` records, which were given by [`Self::front`].
    pub fn remove(&self, count: usize) {
        let mut inner = self.inner();
        let count = count.min(inner.in_flight);
        for record in inner.records.drain(..count).collect::<Vec<_>>() {
            inner.bytes -= record.weight();
        }
        inner.in_flight = 0;
        self.status.set_queued(inner.records.len());
    }

    /// Notes that the records of [`Self::front`] are not being delivered any more.
    pub fn release(&self) {
        self.inner().in_flight = 0;
    }

    /// Returns true if nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.inner().records.is_empty()
    }

    /// Returns how many records are in it.
    pub fn len(&self) -> usize {
        self.inner().records.len()
    }

    /// Returns true from half of its bounds on.
    pub fn is_half_full(&self) -> bool {
        let inner = self.inner();
        2 * inner.records.len() >= self.max_records || 2 * inner.bytes >= MAX_BYTES
    }

    /// Waits until something was pushed since the last wait.
    pub async fn pushed(&self) {
        self.pushed.notified().await;
    }

    fn inner(&self) -> MutexGuard<'_, QueueState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::tests::record;

    fn messages(queue: &Queue, max: usize) -> Vec<u64> {
        queue.front(max).iter().map(|record| record.time).collect()
    }

    #[test]
    fn the_oldest_go_and_are_counted() {
        let status = Arc::new(Status::default());
        let queue = Queue::new(3, Arc::clone(&status));
        for time in 0..5 {
            queue.push(Arc::new(record(time)));
        }
        assert_eq!(messages(&queue, 10), [2, 3, 4]);
        assert_eq!((status.view().dropped, status.view().queued), (2, 3));
        queue.remove(3);
        assert!(queue.is_empty());
        assert_eq!(status.view().queued, 0);
    }

    #[test]
    fn what_is_being_delivered_is_not_dropped() {
        let status = Arc::new(Status::default());
        let queue = Queue::new(3, Arc::clone(&status));
        for time in 0..3 {
            queue.push(Arc::new(record(time)));
        }
        assert_eq!(messages(&queue, 2), [0, 1]);
        for time in 3..6 {
            queue.push(Arc::new(record(time)));
        }
        queue.remove(2);
        assert_eq!(messages(&queue, 9), [5], "2, 3 and 4 were dropped");
        assert_eq!(status.view().dropped, 3);
    }

    #[test]
    fn memory_is_bounded_whatever_the_records_hold() {
        let status = Arc::new(Status::default());
        let queue = Queue::new(usize::MAX, Arc::clone(&status));
        for time in 0..100 {
            let mut record = record(time);
            record.node.hostname = "x".repeat(1 << 20);
            queue.push(Arc::new(record));
        }
        assert_eq!(queue.len(), 3);
        assert_eq!(status.view().dropped, 97);
        let mut large = record(100);
        large.node.hostname = "x".repeat(MAX_BYTES * 2);
        queue.push(Arc::new(large));
        assert_eq!(
            queue.len(),
            1,
            "one that is larger than the bound stays alone"
        );
    }
}
