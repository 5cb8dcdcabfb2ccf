//! Copies the rows of a state file that can only be read into the store in memory that stands in for it.
//!
//! A file system that went read-only is when latched verdicts, marks and past reboots matter most. Metric samples stay
//! behind: they are large and soon old.

use std::path::Path;

use rusqlite::Connection;

use super::{StoreError, schema};

const TABLES: &[&str] = &[
    "meta",
    "latch",
    "healthy_mark",
    "kmsg_cursor",
    "plugin_state",
    "state_change",
    "event",
];

/// Copies what can be copied; what cannot is said in the log.
pub(super) fn copy_rows(memory: &Connection, path: &Path) {
    if !path.exists() {
        return;
    }
    // Reading a log needs shared memory beside the file, which a read-only folder may refuse; `immutable` then reads
    // the file as of its last checkpoint.
    let copied = ["mode=ro", "immutable=1"]
        .iter()
        .any(|mode| match attach(memory, path, mode) {
            Ok(()) => true,
            Err(error) => {
                tracing::warn!(%error, mode, "cannot read the old database");
                false
            }
        });
    if !copied {
        return;
    }
    for table in TABLES {
        let sql = format!("INSERT OR IGNORE INTO main.{table} SELECT * FROM old.{table}");
        if let Err(error) = memory.execute(&sql, []) {
            tracing::warn!(%error, table, "rows of the old database were left behind");
        }
    }
    if let Err(error) = memory.execute_batch("DETACH old") {
        tracing::warn!(%error, "the old database stays open");
    }
}

fn attach(memory: &Connection, path: &Path, mode: &str) -> Result<(), StoreError> {
    let uri = format!("file:{}?{mode}", escape(&path.to_string_lossy()));
    memory.execute("ATTACH ?1 AS old", [uri])?;
    let version = memory
        .query_row("PRAGMA old.user_version", [], |row| row.get::<_, i64>(0))
        .map_err(StoreError::from)
        .and_then(|version| match version == schema::current_version() {
            true => Ok(()),
            false => Err(StoreError::Sql(format!("schema version {version}"))),
        });
    if version.is_err() {
        memory.execute_batch("DETACH old")?;
    }
    version
}

/// Escapes what has a meaning in an SQLite URI.
fn escape(path: &str) -> String {
    path.replace('%', "%25")
        .replace('?', "%3f")
        .replace('#', "%23")
}
