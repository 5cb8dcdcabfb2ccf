//! The records that an export has yet to deliver: a queue in memory, and behind it a spool on disk if it has one.
//!
//! Records go into the queue without waiting. One task ([`Buffer::keep_spooling`]) moves them to the disk, another takes
//! batches ([`Buffer::next`]) and acknowledges them. While the disk does not take records they stay in the queue, and are
//! delivered from there once the spool is empty.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::sync::{Mutex as AsyncMutex, Notify, OwnedMutexGuard};
use tokio_util::sync::CancellationToken;

use crate::{
    Clock, Record,
    queue::Queue,
    spool::{Position, Spool, SpoolError},
    status::Status,
};

/// How many records are moved to the disk at once.
const MOVED_AT_ONCE: usize = 256;
/// How long a disk that did not take records is left alone.
const DISK_PAUSE: Duration = Duration::from_secs(5);

/// The records of one export.
#[derive(Debug)]
pub struct Buffer {
    queue: Queue,
    spool: Option<Arc<Mutex<Spool>>>,
    disk_fails: AtomicBool,
    read_fails: AtomicBool,
    status: Arc<Status>,
    clock: Clock,
    /// There may be something to deliver.
    ready: Notify,
    /// Held by the task that takes records out of the queue.
    taker: Arc<AsyncMutex<()>>,
}

/// Records to deliver, oldest first. It must be given back to [`Buffer::acknowledge`] or [`Buffer::release`].
#[derive(Debug)]
pub struct Batch {
    /// The records, at least one.
    pub records: Vec<Record>,
    /// Where they are in the spool; `None` for records of the queue.
    end: Option<Position>,
    /// Damaged lines of the spool between them, which are lost.
    damaged: u64,
    /// Keeps the other task from taking records out of the queue.
    _taker: Option<OwnedMutexGuard<()>>,
}

impl Buffer {
    /// Makes a buffer.
    pub fn new(
        max_records: usize,
        spool: Option<Spool>,
        status: Arc<Status>,
        clock: Clock,
    ) -> Self {
        if let Some(spool) = &spool {
            status.set_spooled(spool.waiting());
        }
        Self {
            queue: Queue::new(max_records, Arc::clone(&status)),
            spool: spool.map(|spool| Arc::new(Mutex::new(spool))),
            disk_fails: AtomicBool::new(false),
            read_fails: AtomicBool::new(false),
            status,
            clock,
            ready: Notify::new(),
            taker: Arc::default(),
        }
    }

    /// Adds a record. It never waits.
    pub fn push(&self, record: Arc<Record>) {
        if self.queue.push(record) > 0 {
            self.status.lost("the queue was full", self.clock.now());
        }
        if self.spool.is_none() {
            self.ready.notify_one();
        }
    }

    /// Returns true while the disk is about to take over a queue that fills up.
    pub fn is_moving(&self) -> bool {
        self.spool.is_some() && !self.fails() && self.queue.is_half_full()
    }

    /// Takes over the records that another buffer of the same export still has in memory.
    pub fn take_over(&self, old: &Self) {
        for record in old.queue.front(usize::MAX) {
            self.push(record);
        }
        old.queue.remove(usize::MAX);
        self.status.set_queued(self.queue.len());
    }

    /// Moves records from the queue to the disk until `stop`, and then the rest. Ends at once without a spool.
    pub async fn keep_spooling(&self, stop: &CancellationToken) {
        let Some(spool) = &self.spool else { return };
        loop {
            let taker = self.taker.lock().await;
            let records = self.queue.front(MOVED_AT_ONCE);
            if records.is_empty() {
                drop(taker);
                if stop.is_cancelled() {
                    return;
                }
                tokio::select! {
                    () = self.queue.pushed() => {}
                    () = stop.cancelled() => {}
                }
                continue;
            }
            let count = records.len();
            let appended = self.blocking(spool, move |spool| spool.append(&records));
            let appended = appended.await;
            match appended {
                Ok(dropped) => {
                    self.queue.remove(count);
                    if dropped > 0 {
                        self.status.add_dropped(dropped);
                        self.status.lost("the spool was full", self.clock.now());
                    }
                    self.disk_fails.store(false, Ordering::Relaxed);
                    if self.status.set_spool_problem(None) {
                        tracing::info!("the spool can be written again");
                    }
                    self.ready.notify_one();
                }
                Err(error) => {
                    self.queue.release();
                    drop(taker);
                    self.disk_fails.store(true, Ordering::Relaxed);
                    let problem = format!("{error}; records wait in memory, make room on the disk");
                    if self.status.set_spool_problem(Some(problem)) {
                        tracing::error!("{error}; records wait in memory");
                    }
                    self.ready.notify_one();
                    if stop.is_cancelled() {
                        return;
                    }
                    tokio::select! {
                        () = tokio::time::sleep(DISK_PAUSE) => {}
                        () = stop.cancelled() => {}
                    }
                }
            }
        }
    }

    /// Returns how many records wait, in memory and on disk.
    pub fn waiting(&self) -> u64 {
        self.status.view().waiting()
    }

    /// Waits for records, and gives the oldest of them, at most `max`.
    pub async fn next(&self, max: usize) -> Batch {
        loop {
            if let Some(batch) = self.try_next(max).await {
                return batch;
            }
            self.status.set_oldest_waiting(None);
            let ready = self.ready.notified();
            // A disk that could not be read is read again without a new record, too.
            if self.read_fails.load(Ordering::Relaxed) {
                let _ = tokio::time::timeout(DISK_PAUSE, ready).await;
            } else {
                ready.await;
            }
        }
    }

    /// Gives the oldest records, if there are any.
    pub async fn try_next(&self, max: usize) -> Option<Batch> {
        let batch = match &self.spool {
            None => self.of_queue(max).await,
            Some(spool) => match self.of_spool(spool, max).await {
                Some(batch) => Some(batch),
                None if self.fails() => self.of_queue(max).await,
                None => None,
            },
        }?;
        let oldest = batch.records.first().map(|record| record.time);
        self.status.set_oldest_waiting(oldest);
        Some(batch)
    }

    /// Returns true while the disk cannot be used.
    fn fails(&self) -> bool {
        let flags = [&self.disk_fails, &self.read_fails];
        flags.iter().any(|flag| flag.load(Ordering::Relaxed))
    }

    async fn of_queue(&self, max: usize) -> Option<Batch> {
        let taker = Arc::clone(&self.taker).lock_owned().await;
        let records = self.queue.front(max);
        let records: Vec<Record> = records.iter().map(|record| (**record).clone()).collect();
        (!records.is_empty()).then_some(Batch {
            records,
            end: None,
            damaged: 0,
            _taker: Some(taker),
        })
    }

    async fn of_spool(&self, spool: &Arc<Mutex<Spool>>, max: usize) -> Option<Batch> {
        loop {
            let batch = match self.blocking(spool, move |spool| spool.read(max)).await {
                Ok(batch) => batch,
                Err(error) => {
                    self.read_fails.store(true, Ordering::Relaxed);
                    if self.status.set_spool_problem(Some(error.to_string())) {
                        tracing::error!("{error}");
                    }
                    return None;
                }
            };
            if self.read_fails.swap(false, Ordering::Relaxed) {
                self.status.set_spool_problem(None);
            }
            if !batch.records.is_empty() {
                return Some(Batch {
                    records: batch.records,
                    end: Some(batch.end),
                    damaged: batch.damaged,
                    _taker: None,
                });
            }
            if batch.damaged == 0 {
                return None;
            }
            self.clear(spool, batch.end, 0, batch.damaged).await;
        }
    }

    /// Removes a batch: all of it was delivered, or given up.
    pub async fn acknowledge(&self, batch: Batch) {
        let count = batch.records.len();
        match (&self.spool, batch.end) {
            (Some(spool), Some(end)) => {
                self.clear(spool, end, count as u64, batch.damaged).await;
            }
            _ => self.queue.remove(count),
        }
    }

    async fn clear(&self, spool: &Arc<Mutex<Spool>>, end: Position, count: u64, damaged: u64) {
        if damaged > 0 {
            self.status.add_dropped(damaged);
            let now = self.clock.now();
            self.status.lost("lines of the spool are damaged", now);
        }
        let cleared = self.blocking(spool, move |spool| spool.acknowledge(end, count));
        if let Err(error) = cleared.await {
            tracing::warn!("{error}; records may be delivered once more after a restart");
        }
    }

    /// Leaves a batch where it is: it was not delivered.
    pub async fn release(&self, batch: Batch) {
        match (&self.spool, batch.end) {
            (Some(spool), Some(_)) => {
                let released = self.blocking(spool, |spool| Ok(spool.release()));
                let lost = released.await.unwrap_or(0);
                if lost > 0 {
                    self.status.add_dropped(lost);
                    self.status.lost("the spool was full", self.clock.now());
                }
            }
            _ => self.queue.release(),
        }
    }

    /// Works on the spool where a thread may block: the disk may be slow, or hang.
    async fn blocking<T: Send + 'static>(
        &self,
        spool: &Arc<Mutex<Spool>>,
        work: impl FnOnce(&mut Spool) -> Result<T, SpoolError> + Send + 'static,
    ) -> Result<T, String> {
        let (spool, status) = (Arc::clone(spool), Arc::clone(&self.status));
        let done = tokio::task::spawn_blocking(move || {
            let mut spool = spool.lock().unwrap_or_else(PoisonError::into_inner);
            let done = work(&mut spool);
            status.set_spooled(spool.waiting());
            done
        });
        match done.await {
            Ok(done) => done.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        }
    }
}
