//! Latched verdicts that must outlive a restart, as JSON that only their owner reads.

use rusqlite::params;

use super::{Kind, Store, StoreError, check_size, size};

/// Most bytes of one latch.
const JSON_LIMIT: usize = 64 * 1024;
/// Most latches of one component.
const COUNT_LIMIT: usize = 1000;

/// One latched verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Latch {
    /// The component's name.
    pub component: String,
    /// The name of the latched state.
    pub key: String,
    /// The verdict, in the owner's form.
    pub json: String,
}

impl Store {
    /// Saves a latch, replacing the one of the same component and key. Latches have no retention: they stay until
    /// deleted.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] beyond 64 KiB with the key, or 1,000 latches for the component; any failure to write.
    pub async fn save_latch(
        &self,
        component: &str,
        key: &str,
        json: &str,
    ) -> Result<(), StoreError> {
        check_size("latch in bytes", key.len() + json.len(), JSON_LIMIT)?;
        let latch = Latch {
            component: component.to_owned(),
            key: key.to_owned(),
            json: json.to_owned(),
        };
        self.write(Kind::InsertUpdate, move |conn| {
            let others = conn.query_row(
                "SELECT count(*) FROM latch WHERE component = ?1 AND key <> ?2",
                params![latch.component, latch.key],
                |row| size(row, 0),
            )?;
            let what = format!("number of latches of {}", latch.component);
            check_size(what, others + 1, COUNT_LIMIT)?;
            conn.execute(
                "INSERT INTO latch (component, key, json) VALUES (?1, ?2, ?3)
                 ON CONFLICT (component, key) DO UPDATE SET json = excluded.json",
                params![latch.component, latch.key, latch.json],
            )?;
            Ok(())
        })
        .await
    }

    /// Deletes a latch; false if there was none.
    ///
    /// # Errors
    /// Any failure to write.
    pub async fn delete_latch(&self, component: &str, key: &str) -> Result<bool, StoreError> {
        let at = (component.to_owned(), key.to_owned());
        self.write(Kind::Delete, move |conn| {
            let deleted = conn.execute(
                "DELETE FROM latch WHERE component = ?1 AND key = ?2",
                params![at.0, at.1],
            )?;
            Ok(deleted > 0)
        })
        .await
    }

    /// All latches, by component and key.
    ///
    /// # Errors
    /// Any failure to read.
    pub async fn latches(&self) -> Result<Vec<Latch>, StoreError> {
        self.read(|conn| {
            let mut query =
                conn.prepare("SELECT component, key, json FROM latch ORDER BY component, key")?;
            let latches = query.query_map([], |row| {
                Ok(Latch {
                    component: row.get(0)?,
                    key: row.get(1)?,
                    json: row.get(2)?,
                })
            })?;
            Ok(latches.collect::<Result<_, _>>()?)
        })
        .await
    }
}
