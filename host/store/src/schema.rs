//! The tables of the state file, and how an older file becomes a current one.
//!
//! The version is `PRAGMA user_version`; step `n` of [`MIGRATIONS`] takes a file from version `n` to `n + 1` in one
//! transaction, and a step that was ever released is never edited. A file written by GPUd has version 0 and tables of
//! its own (`components_*_events_v0_5_0`, `gpud_metadata`, `gpud_metrics_v0_5` …); none of our names collides with
//! them, and they are left as they are.

use std::path::Path;

use rusqlite::Connection;

use super::StoreError;

/// Each migration as SQL.
const MIGRATIONS: &[&str] = &[
    include_str!("schema_1.sql"),
    include_str!("schema_2.sql"),
    include_str!("schema_3.sql"),
    include_str!("schema_4.sql"),
];

/// The version that this build writes.
pub(super) fn current_version() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// Reads the version of an open file.
pub(super) fn version(conn: &Connection) -> Result<i64, StoreError> {
    Ok(conn.query_row("PRAGMA user_version", [], |row| row.get(0))?)
}

/// Refuses a file of a later gpud, changing nothing.
pub(super) fn refuse_newer(conn: &Connection, path: &Path) -> Result<(), StoreError> {
    let found = version(conn)?;
    let known = current_version();
    if found > known {
        return Err(StoreError::Newer {
            path: path.to_owned(),
            found,
            known,
        });
    }
    Ok(())
}

/// Brings an open database to the current version.
pub(super) fn migrate(conn: &Connection) -> Result<(), StoreError> {
    let from = version(conn)?;
    for (step, sql) in (0_i64..)
        .zip(MIGRATIONS)
        .skip_while(|(step, _)| *step < from)
    {
        let transaction = conn.unchecked_transaction()?;
        transaction.execute_batch(sql)?;
        transaction.pragma_update(None, "user_version", step + 1)?;
        transaction.commit()?;
    }
    Ok(())
}
