//! Facts about this installation under a key, such as the boot that was recorded last.

use rusqlite::{Connection, OptionalExtension};

use super::{Kind, Store, StoreError};

impl Store {
    /// The value of a key.
    ///
    /// # Errors
    /// Any failure to read.
    pub async fn meta_get(&self, key: &str) -> Result<Option<String>, StoreError> {
        let key = key.to_owned();
        self.read(move |conn| get(conn, &key)).await
    }

    /// Sets the value of a key. The keys are the daemon's own, so there is no quota.
    ///
    /// # Errors
    /// Any failure to write.
    pub async fn meta_set(&self, key: &str, value: &str) -> Result<(), StoreError> {
        let entry = (key.to_owned(), value.to_owned());
        self.write(Kind::InsertUpdate, move |conn| {
            set(conn, &entry.0, &entry.1)
        })
        .await
    }
}

/// Reads one value.
pub(super) fn get(conn: &Connection, key: &str) -> Result<Option<String>, StoreError> {
    let mut query = conn.prepare_cached("SELECT value FROM meta WHERE key = ?1")?;
    Ok(query.query_row([key], |row| row.get(0)).optional()?)
}

/// Writes one value.
pub(super) fn set(conn: &Connection, key: &str, value: &str) -> Result<(), StoreError> {
    let mut statement = conn.prepare_cached(
        "INSERT INTO meta (key, value) VALUES (?1, ?2)
         ON CONFLICT (key) DO UPDATE SET value = excluded.value",
    )?;
    statement.execute([key, value])?;
    Ok(())
}
