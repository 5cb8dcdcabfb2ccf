//! Counts and times of the store's queries, for the `gpud_sqlite_*` metrics.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The main effect of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Select,
    InsertUpdate,
    Delete,
    Vacuum,
}

#[derive(Debug, Default)]
struct Cell {
    count: AtomicU64,
    nanos: AtomicU64,
}

impl Cell {
    fn read(&self) -> QueryCount {
        QueryCount {
            count: self.count.load(Ordering::Relaxed),
            time: Duration::from_nanos(self.nanos.load(Ordering::Relaxed)),
        }
    }
}

/// Running counts, shared by all threads of a store.
#[derive(Debug, Default)]
pub(super) struct Counters {
    select: Cell,
    insert_update: Cell,
    delete: Cell,
    vacuum: Cell,
}

impl Counters {
    pub(super) fn add(&self, kind: Kind, took: Duration) {
        let cell = match kind {
            Kind::Select => &self.select,
            Kind::InsertUpdate => &self.insert_update,
            Kind::Delete => &self.delete,
            Kind::Vacuum => &self.vacuum,
        };
        cell.count.fetch_add(1, Ordering::Relaxed);
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        cell.nanos.fetch_add(nanos, Ordering::Relaxed);
    }

    pub(super) fn read(&self) -> SqliteCounters {
        SqliteCounters {
            select: self.select.read(),
            insert_update: self.insert_update.read(),
            delete: self.delete.read(),
            vacuum: self.vacuum.read(),
        }
    }
}

/// How often one kind of query ran since the store was opened, and for how long in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueryCount {
    /// Number of calls.
    pub count: u64,
    /// Their time together, without waiting in the queue and without the commit.
    pub time: Duration,
}

/// The store's query counts since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SqliteCounters {
    /// Reads.
    pub select: QueryCount,
    /// Inserts and updates.
    pub insert_update: QueryCount,
    /// Deletions, retention included.
    pub delete: QueryCount,
    /// Incremental vacuum runs.
    pub vacuum: QueryCount,
}
