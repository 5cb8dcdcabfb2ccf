//! The daemon's store: one SQLite file with events, metric samples, state history and the values of plugins.
//!
//! One thread writes and commits whatever waits together; an answer means that the row is committed and survives
//! `kill -9` (write-ahead log, `synchronous = NORMAL`; a power loss may take the last moments, never the file). Two
//! read-only connections serve reads. [`Store::purge`] deletes rows older than their retention.

#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests make their own machines")
)]

use gpud_model as model;
use gpud_node as node;

mod caches;
mod carry_over;
mod commit;
mod compact;
mod condense;
mod counters;
mod cursors;
mod database_files;
mod error;
mod event_row;
mod events;
mod fallback;
mod health;
mod history;
mod import;
mod inspect;
mod latches;
mod lock;
mod marks;
mod meta;
mod migration_backup;
mod negative_cache;
mod open;
mod patience;
mod plugin_state;
mod reader;
mod reboots;
mod retention;
mod samples;
mod schema;
mod timeline;
mod values;
mod waiting_events;
mod writer;

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use rusqlite::Connection;

use crate::model::UnixMillis;

use caches::Caches;
use counters::{Counters, Kind};
use fallback::Fallback;
use health::HealthCell;
use reader::Readers;
use waiting_events::Waiting;
use writer::Writer;

pub use commit::Commit;
pub use compact::{Compacted, compact};
pub use counters::{QueryCount, SqliteCounters};
pub use cursors::KmsgCursor;
pub use error::StoreError;
pub use events::{Inserted, StoredEvent};
pub use health::Outage;
pub use history::StateChange;
pub use import::{ImportRules, Imported, import_gpud};
pub use inspect::{StateFile, clear_hosted, set_hosted};
pub use latches::Latch;
pub use lock::{FolderLock, LOCK_FILE};
pub use migration_backup::ask_for_copy;
pub use retention::PurgeCounts;
pub use samples::{MAX_READ, Sample, Series, StoredSample};
pub use timeline::{
    Cursor, Entry, EntryContent, EntryId, MAX_PAGE, Page, ParseCursorError, TimelineRead,
};
pub use waiting_events::WaitingEvents;

/// Name of the database file inside the data folder.
pub const STATE_FILE: &str = "gpud.state";

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The place where the rows are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// A file, normally `<data dir>/gpud.state`. Its folder is created if missing.
    File(PathBuf),
    /// Nowhere: all is lost when the store is closed.
    Memory,
}

/// Longest wait for the database. Well under the 30 s that a check has; the longest job of a daemon, which deletes 10,000 old
/// rows, takes less than a second.
const PATIENCE: Duration = Duration::from_secs(10);

/// How to open a store.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// The place where the rows are stored.
    pub location: Location,
    /// Retention of events, reboots and set-healthy marks.
    pub events_retention: Duration,
    /// Retention of metric samples.
    pub metrics_retention: Duration,
    /// Retention of changes of state.
    pub state_history_retention: Duration,
    /// Most bytes of the database, beyond which writes fail with [`StoreError::DiskFull`]. `None` is 4 GiB for a file and
    /// 64 MiB for memory.
    pub max_bytes: Option<u64>,
    /// How long a caller waits for the database before it counts as hung.
    pub patience: Duration,
}

impl StoreOptions {
    /// The defaults of the daemon: events and state history 14 days, metrics 3 hours.
    pub fn new(location: Location) -> Self {
        Self {
            location,
            events_retention: 14 * DAY,
            metrics_retention: Duration::from_secs(3 * 60 * 60),
            state_history_retention: 14 * DAY,
            max_bytes: None,
            patience: PATIENCE,
        }
    }
}

/// An open store, and what the operator should know about it.
#[derive(Debug)]
pub struct OpenedStore {
    /// The store.
    pub store: Store,
    /// The file was corrupt and is now here; the store started empty.
    pub set_aside: Option<PathBuf>,
    /// The file cannot be written, for this reason; the store is in memory.
    pub degraded: Option<String>,
}

/// The store; clones share it.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    writer: Writer,
    /// `None` in memory, where the writer's connection is the only one.
    readers: RwLock<Option<Readers>>,
    /// The file that it replaces, if it is in memory against the operator's will.
    fallback: Mutex<Option<Fallback>>,
    counters: Arc<Counters>,
    health: Arc<HealthCell>,
    caches: Arc<Caches>,
    waiting: Arc<Waiting>,
    options: StoreOptions,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Store")
            .field("options", &self.inner.options)
            .finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the store, creating, upgrading, setting aside or replacing the file as needed. Blocks, for a few seconds
    /// with a large file after a crash.
    ///
    /// # Errors
    /// [`StoreError::OtherDaemon`], [`StoreError::Newer`], and [`StoreError::Locked`] when another program holds the
    /// file for more than 5 s. A corrupt, read-only or full file is no error, see [`OpenedStore`].
    pub fn open(options: StoreOptions) -> Result<OpenedStore, StoreError> {
        let database = open::open(&options)?;
        let (set_aside, degraded) = (database.set_aside.clone(), database.degraded.clone());
        Ok(OpenedStore {
            store: Self::of_database(database, options)?,
            set_aside,
            degraded,
        })
    }

    fn of_database(database: open::Database, options: StoreOptions) -> Result<Self, StoreError> {
        let counters = Arc::new(Counters::default());
        let health = Arc::new(HealthCell::default());
        let readers = (!database.readers.is_empty()).then(|| {
            Readers::new(
                database.readers,
                Arc::clone(&counters),
                Arc::clone(&health),
                options.patience,
            )
        });
        let writer = Writer::start(
            database.writer,
            database.lock,
            Arc::clone(&counters),
            Arc::clone(&health),
            options.patience,
        )?;
        let inner = Inner {
            writer,
            readers: RwLock::new(readers),
            fallback: Mutex::new(database.fallback),
            counters,
            health,
            caches: Arc::default(),
            waiting: Arc::default(),
            options,
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// The fault that the last writes met, if any. Corruption stays until the next start, where the file is set aside;
    /// anything else is gone once a write works.
    pub fn health(&self) -> Option<StoreError> {
        self.outage().map(|outage| outage.error)
    }

    /// As [`Self::health`], and since when.
    pub fn outage(&self) -> Option<Outage> {
        self.inner.health.get()
    }

    /// Waits until a write works again; returns at once if the last one did.
    pub async fn outage_over(&self) {
        self.inner.health.over().await;
    }

    /// Whether the writing thread is there. It may still wait for a disk.
    pub fn is_alive(&self) -> bool {
        self.inner.writer.is_alive()
    }

    /// Query counts since the store was opened.
    pub fn counters(&self) -> SqliteCounters {
        self.inner.counters.read()
    }

    /// Size of the database in bytes, without its log.
    ///
    /// # Errors
    /// Any failure to read.
    pub async fn size_bytes(&self) -> Result<u64, StoreError> {
        self.read(compact::size).await
    }

    /// Finishes waiting writes, writes the log back into the file and closes it; the folder is free afterwards. Later
    /// calls on any clone fail with [`StoreError::Closed`].
    ///
    /// # Errors
    /// `Closed` if it was closed before; otherwise whatever kept the file from being closed in good order (what was
    /// acknowledged is safe all the same).
    pub async fn checkpoint_and_close(&self) -> Result<(), StoreError> {
        self.inner.caches.close();
        // The last connection to close writes the log back; a read-only one cannot, so the readers go first.
        if let Some(readers) = self.readers() {
            readers.close().await;
        }
        self.inner.writer.close().await
    }

    fn readers(&self) -> Option<Readers> {
        let readers = self.inner.readers.read();
        readers.unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn read<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        match self.readers() {
            Some(readers) => readers.run(work).await,
            None => self.inner.writer.run(Kind::Select, work).await,
        }
    }

    async fn write<T, F>(&self, kind: Kind, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        self.inner.writer.run(kind, work).await
    }

    /// [`Self::write`], and `after` once its outcome is certain; see [`Caches`].
    async fn write_then<T, F, A>(&self, kind: Kind, work: F, after: A) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> Result<T, StoreError> + Send + 'static,
        A: FnOnce(&Caches) + Send + 'static,
    {
        let caches = Arc::clone(&self.inner.caches);
        let after = move || after(&caches);
        self.inner.writer.run_then(kind, work, after).await
    }
}

/// A time for people, to the second.
fn time_text(time: UnixMillis) -> String {
    let second = i64::try_from(time / 1000).unwrap_or(i64::MAX);
    jiff::Timestamp::from_second(second)
        .map_or_else(|_| format!("{time} ms"), |time| time.to_string())
}

/// Converts a time to SQLite's integer. Times beyond the year 292 million are cut.
fn sql_time(time: u64) -> i64 {
    i64::try_from(time).unwrap_or(i64::MAX)
}

/// A count or time from a column. The store writes none below zero; a damaged one reads as 0.
fn unsigned(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(u64::try_from(row.get::<_, i64>(column)?).unwrap_or(0))
}

/// [`unsigned`] for sizes in memory.
fn size(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<usize> {
    Ok(usize::try_from(row.get::<_, i64>(column)?).unwrap_or(usize::MAX))
}

/// Refuses what is over a limit.
fn check_size(what: impl Into<String>, size: usize, limit: usize) -> Result<(), StoreError> {
    if size > limit {
        return Err(StoreError::TooLarge {
            what: what.into(),
            size,
            limit,
        });
    }
    Ok(())
}
