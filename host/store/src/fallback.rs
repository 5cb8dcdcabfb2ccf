//! The way back from the store in memory, which replaces a file that could not be written at the start.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

use rusqlite::Connection;

use super::lock::FolderLock;
use super::reader::Readers;
use super::{Store, StoreError, carry_over, open};
use crate::model::UnixMillis;

/// A store in memory that replaces a file.
#[derive(Debug, Clone)]
pub(super) struct Fallback {
    /// The file.
    pub path: PathBuf,
    /// Why it could not be written.
    pub reason: String,
    /// Since when, Unix milliseconds.
    pub since: UnixMillis,
    /// The folder is locked for this daemon.
    pub locked: bool,
    /// All rows of the file are in memory, so that the file's may be replaced by them.
    pub carried_over: bool,
}

/// The connection that replaces the one in memory.
pub(super) struct Replacement {
    pub conn: Connection,
    pub path: PathBuf,
    /// If the folder was not locked before.
    pub lock: Option<FolderLock>,
    pub carried_over: bool,
}

impl Replacement {
    /// Writes all that is in memory into the file, in one transaction.
    ///
    /// # Errors
    /// Any failure to write; the file is then as it was.
    pub(super) fn fill(&self, memory: &Connection) -> Result<(), StoreError> {
        carry_over::move_rows(memory, &self.path, self.carried_over)?;
        open::mark_clean(&self.conn, false)
    }
}

impl Store {
    /// Moves a store that is in memory because its file could not be written into that file, if it can be by now. Says
    /// whether it did. Readings from before the move stay behind.
    ///
    /// # Errors
    /// Why the file still cannot be used. The store stays in memory.
    pub async fn move_to_file(&self) -> Result<bool, StoreError> {
        let Some(fallback) = self.fallback() else {
            return Ok(false);
        };
        let options = self.inner.options.clone();
        let (path, locked) = (fallback.path.clone(), fallback.locked);
        let opening = tokio::task::spawn_blocking(move || {
            let lock = match locked {
                true => None,
                false => Some(open::lock_folder(&path)?),
            };
            let opened = open::open_or_set_aside(&options, &path)?;
            Ok::<_, StoreError>((lock, opened))
        });
        let (lock, opened) = opening.await.map_err(|_| StoreError::Closed)??;
        let (conn, connections) = opened.connections;
        let replacement = Replacement {
            conn,
            path: fallback.path,
            lock,
            carried_over: fallback.carried_over && opened.set_aside.is_none(),
        };
        self.inner.writer.replace(replacement).await?;
        let inner = &self.inner;
        let readers = Readers::new(
            connections,
            Arc::clone(&inner.counters),
            Arc::clone(&inner.health),
            inner.options.patience,
        );
        *inner
            .readers
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Some(readers);
        *inner
            .fallback
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = None;
        Ok(true)
    }

    /// Whether the store is in memory although a file was asked for.
    pub fn is_fallback(&self) -> bool {
        self.fallback().is_some()
    }

    pub(super) fn fallback(&self) -> Option<Fallback> {
        let fallback = self.inner.fallback.lock();
        fallback.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The problem with the database in words, and its beginning; `None` if writes work and are durable.
    pub fn trouble(&self) -> Option<String> {
        if let Some(outage) = self.inner.health.get() {
            return Some(format!(
                "the database cannot be written since {}: {}; what cannot be stored waits until it can",
                super::time_text(outage.since),
                outage.error
            ));
        }
        let fallback = self.fallback()?;
        Some(format!(
            "the database is in memory since {} and lost when gpud ends: cannot write {}: {}; \
             it moves to the file once that can be written",
            super::time_text(fallback.since),
            fallback.path.display(),
            fallback.reason
        ))
    }
}
