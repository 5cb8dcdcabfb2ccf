//! A look into a state file from outside the daemon, whether one runs or not, and the table of GPUd's that an operator
//! may edit by hand.
//!
//! `gpud_metadata` is where GPUd keeps what a hosted platform gave it. This gpud never writes there by itself.

use std::{collections::BTreeMap, path::Path};

use rusqlite::{Connection, OpenFlags};

use super::{StoreError, StoredEvent, database_files, events, import, open};

/// GPUd's table of names and values.
const HOSTED: &str = "gpud_metadata";

/// A state file, opened for reading.
#[derive(Debug)]
pub struct StateFile {
    conn: Connection,
}

impl StateFile {
    /// Opens the file. Blocks, as everything here does.
    ///
    /// # Errors
    /// [`StoreError::Io`] when there is none, [`StoreError::Corrupt`] when it is no database.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        std::fs::metadata(path)?;
        database_files::check_kinds(path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(path, flags)?;
        conn.busy_timeout(open::BUSY_TIMEOUT)?;
        // Opening reads nothing; this does.
        let _: i64 = conn.query_row("PRAGMA schema_version", [], |row| row.get(0))?;
        Ok(Self { conn })
    }

    /// GPUd's names and values; none where GPUd never was.
    ///
    /// # Errors
    /// Any failure to read.
    pub fn hosted(&self) -> Result<BTreeMap<String, String>, StoreError> {
        self.pairs(HOSTED)
    }

    /// What gpud itself notes under a name, such as the boot that it saw last.
    ///
    /// # Errors
    /// Any failure to read.
    pub fn own(&self) -> Result<BTreeMap<String, String>, StoreError> {
        self.pairs("meta")
    }

    /// Returns true if there are events of GPUd's, and the daemon has stored none of its own yet.
    ///
    /// # Errors
    /// Any failure to read.
    pub fn awaits_import(&self) -> Result<bool, StoreError> {
        import::awaits_import(&self.conn)
    }

    /// Reboots, newest first.
    ///
    /// # Errors
    /// Any failure to read.
    pub fn reboots(&self) -> Result<Vec<StoredEvent>, StoreError> {
        match has_table(&self.conn, "event")? {
            true => events::named(&self.conn, "os", "reboot", 0),
            false => Ok(Vec::new()),
        }
    }

    /// `table` is one of our own words.
    fn pairs(&self, table: &str) -> Result<BTreeMap<String, String>, StoreError> {
        if !has_table(&self.conn, table)? {
            return Ok(BTreeMap::new());
        }
        let sql = format!("SELECT key, COALESCE(value, '') FROM {table}");
        let mut query = self.conn.prepare(&sql)?;
        let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

/// Sets one of GPUd's names, creating the table if need be. A daemon may run at the same time.
///
/// # Errors
/// There is no state file, or it cannot be written.
pub fn set_hosted(path: &Path, key: &str, value: &str) -> Result<(), StoreError> {
    let conn = writable(path)?;
    conn.execute_batch(&format!(
        "CREATE TABLE IF NOT EXISTS {HOSTED} (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID"
    ))?;
    let sql = format!(
        "INSERT INTO {HOSTED} (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
    );
    conn.execute(&sql, [key, value])?;
    Ok(())
}

/// Removes all of GPUd's names and values.
///
/// # Errors
/// There is no state file, or it cannot be written.
pub fn clear_hosted(path: &Path) -> Result<(), StoreError> {
    let conn = writable(path)?;
    if has_table(&conn, HOSTED)? {
        conn.execute(&format!("DELETE FROM {HOSTED}"), [])?;
    }
    Ok(())
}

fn writable(path: &Path) -> Result<Connection, StoreError> {
    // SQLite would create a missing file.
    std::fs::metadata(path)?;
    database_files::check_kinds(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(open::BUSY_TIMEOUT)?;
    Ok(conn)
}

fn has_table(conn: &Connection, name: &str) -> Result<bool, StoreError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1)";
    Ok(conn.query_row(sql, [name], |row| row.get(0))?)
}
