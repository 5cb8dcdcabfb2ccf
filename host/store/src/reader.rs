//! Reads: two read-only connections beside the writer, used from blocking threads.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::StoreError;
use super::counters::{Counters, Kind};
use super::health::HealthCell;
use super::patience;

/// Reads that run at a time: more would only make the disk seek, and each connection has a page cache of its own.
pub(super) const READERS: u32 = 2;

/// The read-only connections of one store.
#[derive(Clone)]
pub(super) struct Readers {
    permits: Arc<Semaphore>,
    idle: Arc<Mutex<Vec<Connection>>>,
    counters: Arc<Counters>,
    health: Arc<HealthCell>,
    patience: Duration,
}

impl Readers {
    /// Takes over `connections`.
    pub(super) fn new(
        connections: Vec<Connection>,
        counters: Arc<Counters>,
        health: Arc<HealthCell>,
        patience: Duration,
    ) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(connections.len())),
            idle: Arc::new(Mutex::new(connections)),
            counters,
            health,
            patience,
        }
    }

    /// Runs `work` on a free connection, waiting for one if need be.
    pub(super) async fn run<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let (at_work, pending) = patience::begin(&self.health)?;
        let permit = Arc::clone(&self.permits).acquire_owned();
        let permit = tokio::time::timeout(self.patience, permit).await;
        let permit = permit.map_err(|_| self.late())?;
        let permit = permit.map_err(|_| StoreError::Closed)?;
        let conn = self.pool(Vec::pop).ok_or(StoreError::Closed)?;
        let interrupt = conn.get_interrupt_handle();
        let this = self.clone();
        // The permit goes into the thread: a caller that gives up does not free a connection that is still at work.
        let read = tokio::task::spawn_blocking(move || {
            let begun = Instant::now();
            let outcome = work(&conn);
            this.counters.add(Kind::Select, begun.elapsed());
            if let Err(error) = &outcome {
                this.health.note_read(error);
            }
            this.pool(|idle| idle.push(conn));
            drop((permit, at_work));
            outcome
        });
        let answer = async { read.await.map_err(|_| StoreError::Closed)? };
        let interrupt = || interrupt.interrupt();
        pending.wait(answer, self.patience, interrupt).await
    }

    /// Why there is still no connection free.
    fn late(&self) -> StoreError {
        match self.health.hangs() {
            true => StoreError::Hangs,
            false => StoreError::Slow,
        }
    }

    /// Waits for running reads, but not for those that hang, closes the connections and refuses later reads.
    pub(super) async fn close(&self) {
        let all = self.permits.acquire_many(READERS);
        let all = tokio::time::timeout(self.patience, all).await;
        self.permits.close();
        drop(all);
        self.pool(Vec::clear);
    }

    fn pool<R>(&self, act: impl FnOnce(&mut Vec<Connection>) -> R) -> R {
        act(&mut self.idle.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
