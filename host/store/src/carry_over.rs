//! Copies the rows of a state file that can only be read into the store in memory that replaces it.
//!
//! A file system that went read-only is when latched verdicts, marks and past reboots matter most. Metric samples stay
//! behind: they are large and soon old. Once the file can be written, the rows go the other way.

use std::path::Path;

use rusqlite::Connection;

use super::{StoreError, database_files, schema};

const TABLES: &[&str] = &[
    "meta",
    "latch",
    "healthy_mark",
    "kmsg_cursor",
    "plugin_state",
    "state_change",
    "event",
];

/// Columns of tables whose rows are numbered, without the number.
const NUMBERED: &[(&str, &str)] = &[
    ("latch", "component, key, json"),
    ("plugin_state", "component, key, value"),
    (
        "state_change",
        "component, time_ms, name, health, reason, subject",
    ),
    (
        "event",
        "component, time_ms, last_time_ms, name, type, message, detail, count, dedup, kin",
    ),
];

/// Copies the tables that can be read, and logs the others. Returns true if nothing was left out.
pub(super) fn copy_rows(memory: &Connection, path: &Path) -> bool {
    if !path.exists() {
        return true;
    }
    if let Err(error) = database_files::check_kinds(path) {
        tracing::warn!(%error, "cannot read the old database");
        return false;
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
        return false;
    }
    let mut complete = true;
    for table in TABLES {
        let sql = format!("INSERT OR IGNORE INTO main.{table} SELECT * FROM old.{table}");
        if let Err(error) = memory.execute(&sql, []) {
            tracing::warn!(%error, table, "rows of the old database were left behind");
            complete = false;
        }
    }
    if let Err(error) = memory.execute_batch("DETACH old") {
        tracing::warn!(%error, "the old database stays open");
    }
    complete
}

/// Writes all rows into the file at `path`, in one transaction. Where memory holds everything that the file did
/// (`replace`), the file's rows go; else both are kept.
///
/// # Errors
/// Any failure to write; the file is then as it was.
pub(super) fn move_rows(memory: &Connection, path: &Path, replace: bool) -> Result<(), StoreError> {
    attach(memory, path, "mode=rw")?;
    let moved = memory
        .unchecked_transaction()
        .map_err(StoreError::from)
        .and_then(|transaction| {
            for table in TABLES {
                transaction.execute_batch(&moving(table, replace))?;
            }
            Ok(transaction.commit()?)
        });
    let detached = memory.execute_batch("DETACH old");
    moved?;
    Ok(detached?)
}

/// The statements that move one table.
fn moving(table: &str, replace: bool) -> String {
    if replace {
        return format!(
            "DELETE FROM old.{table}; INSERT INTO old.{table} SELECT * FROM main.{table};"
        );
    }
    let numbered = NUMBERED.iter().find(|(name, _)| *name == table);
    match numbered {
        Some((_, columns)) => format!(
            "INSERT OR REPLACE INTO old.{table} ({columns}) SELECT {columns} FROM main.{table};"
        ),
        None => format!("INSERT OR REPLACE INTO old.{table} SELECT * FROM main.{table};"),
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
