//! The small key-value memory of a component, with a quota.

use rusqlite::{Connection, OptionalExtension, params};

use super::{Kind, Store, StoreError, check_size, size};

/// Most bytes of one value.
const VALUE_LIMIT: usize = 64 * 1024;
/// Most bytes of one key.
const KEY_LIMIT: usize = 1024;
/// Most bytes of all keys and values of a component.
const COMPONENT_LIMIT: usize = 1024 * 1024;
/// Most keys of a component.
const KEYS_LIMIT: usize = 256;

impl Store {
    /// The value of a key.
    ///
    /// # Errors
    /// Any failure to read.
    pub async fn state_get(
        &self,
        component: &str,
        key: &str,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let values = &self.inner.caches.values;
        let unknown = match values.get(component, key) {
            Ok(value) => return Ok(value),
            Err(unknown) => unknown,
        };
        let at = (component.to_owned(), key.to_owned());
        let value: Option<Vec<u8>> = self
            .read(move |conn| {
                let mut query = conn.prepare_cached(
                    "SELECT value FROM plugin_state WHERE component = ?1 AND key = ?2",
                )?;
                Ok(query
                    .query_row(params![at.0, at.1], |row| row.get(0))
                    .optional()?)
            })
            .await?;
        values.keep(component, key, value.clone(), unknown);
        Ok(value)
    }

    /// Sets the value of a key.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] beyond 64 KiB for the value, 1 KiB for the key, or 1 MiB or 256 keys for the component
    /// with this one; any failure to write.
    pub async fn state_set(
        &self,
        component: &str,
        key: &str,
        value: Vec<u8>,
    ) -> Result<(), StoreError> {
        let at = (component.to_owned(), key.to_owned());
        let whose = component.to_owned();
        let work = move |conn: &Connection| set(conn, &at.0, &at.1, &value);
        self.write_then(Kind::InsertUpdate, work, move |caches| {
            caches.values.changed(&whose);
        })
        .await
    }

    /// Deletes a key; false if there was none.
    ///
    /// # Errors
    /// Any failure to write.
    pub async fn state_delete(&self, component: &str, key: &str) -> Result<bool, StoreError> {
        let at = (component.to_owned(), key.to_owned());
        let whose = component.to_owned();
        let work = move |conn: &Connection| delete(conn, &at.0, &at.1);
        self.write_then(Kind::Delete, work, move |caches| {
            caches.values.changed(&whose);
        })
        .await
    }

    /// The keys of a component, sorted.
    ///
    /// # Errors
    /// Any failure to read.
    pub async fn state_keys(&self, component: &str) -> Result<Vec<String>, StoreError> {
        let component = component.to_owned();
        self.read(move |conn| {
            let mut query = conn
                .prepare_cached("SELECT key FROM plugin_state WHERE component = ?1 ORDER BY key")?;
            let keys = query.query_map([&component], |row| row.get(0))?;
            Ok(keys.collect::<Result<_, _>>()?)
        })
        .await
    }
}

/// Sets a value within the component's quota.
pub(super) fn set(
    conn: &Connection,
    component: &str,
    key: &str,
    value: &[u8],
) -> Result<(), StoreError> {
    check_size("plugin state key in bytes", key.len(), KEY_LIMIT)?;
    check_size("plugin state value in bytes", value.len(), VALUE_LIMIT)?;
    let (keys, bytes) = conn.query_row(
        "SELECT count(*), coalesce(sum(octet_length(key) + octet_length(value)), 0)
         FROM plugin_state WHERE component = ?1 AND key <> ?2",
        params![component, key],
        |row| Ok((size(row, 0)?, size(row, 1)?)),
    )?;
    let whose = format!("plugin state of {component}");
    check_size(format!("{whose} in keys"), keys + 1, KEYS_LIMIT)?;
    let bytes = bytes + key.len() + value.len();
    check_size(format!("{whose} in bytes"), bytes, COMPONENT_LIMIT)?;
    conn.execute(
        "INSERT INTO plugin_state (component, key, value) VALUES (?1, ?2, ?3)
         ON CONFLICT (component, key) DO UPDATE SET value = excluded.value",
        params![component, key, value],
    )?;
    Ok(())
}

/// Deletes a key; false if there was none.
pub(super) fn delete(conn: &Connection, component: &str, key: &str) -> Result<bool, StoreError> {
    let deleted = conn.execute(
        "DELETE FROM plugin_state WHERE component = ?1 AND key = ?2",
        params![component, key],
    )?;
    Ok(deleted > 0)
}
