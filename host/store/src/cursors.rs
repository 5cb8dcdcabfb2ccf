//! How far each component has dealt with the kernel log of this boot.

use rusqlite::{Connection, OptionalExtension, params};

use super::{Kind, Store, StoreError, sql_time, unsigned};

/// A place in the kernel log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KmsgCursor {
    /// The boot that the sequence number belongs to.
    pub boot_id: String,
    /// The last record that was dealt with.
    pub sequence: u64,
}

impl Store {
    /// The last record of boot `boot_id` that the component has dealt with; `None` if there is none.
    ///
    /// # Errors
    /// Any failure to read.
    pub async fn kmsg_cursor(
        &self,
        component: &str,
        boot_id: &str,
    ) -> Result<Option<u64>, StoreError> {
        let key = (component.to_owned(), boot_id.to_owned());
        self.read(move |conn| {
            let mut query = conn.prepare_cached(
                "SELECT sequence FROM kmsg_cursor WHERE component = ?1 AND boot_id = ?2",
            )?;
            Ok(query
                .query_row(params![key.0, key.1], |row| unsigned(row, 0))
                .optional()?)
        })
        .await
    }

    /// Saves the places of several components at once and forgets those of other boots. A place never goes back.
    ///
    /// # Errors
    /// Any failure to write.
    pub async fn save_kmsg_cursors(
        &self,
        boot_id: &str,
        cursors: &[(String, u64)],
    ) -> Result<(), StoreError> {
        let cursors: Vec<(String, KmsgCursor)> = cursors
            .iter()
            .map(|(component, sequence)| {
                let cursor = KmsgCursor {
                    boot_id: boot_id.to_owned(),
                    sequence: *sequence,
                };
                (component.clone(), cursor)
            })
            .collect();
        let boot_id = boot_id.to_owned();
        self.write(Kind::InsertUpdate, move |conn| {
            for (component, cursor) in &cursors {
                save(conn, component, cursor)?;
            }
            conn.execute("DELETE FROM kmsg_cursor WHERE boot_id <> ?1", [&boot_id])?;
            Ok(())
        })
        .await
    }
}

/// Saves one place; the row holds one boot only, so a new boot replaces the old.
pub(super) fn save(
    conn: &Connection,
    component: &str,
    cursor: &KmsgCursor,
) -> Result<(), StoreError> {
    let mut statement = conn.prepare_cached(
        "INSERT INTO kmsg_cursor (component, boot_id, sequence) VALUES (?1, ?2, ?3)
         ON CONFLICT (component) DO UPDATE SET
             sequence = CASE WHEN boot_id = excluded.boot_id
                 THEN max(sequence, excluded.sequence) ELSE excluded.sequence END,
             boot_id = excluded.boot_id",
    )?;
    statement.execute(params![
        component,
        cursor.boot_id,
        sql_time(cursor.sequence)
    ])?;
    Ok(())
}
