//! Set-healthy marks: when an operator declared a component healthy.

use rusqlite::{Connection, params};

use super::{Kind, Store, StoreError, sql_time, unsigned};
use crate::model::UnixMillis;

impl Store {
    /// Records that a component was set healthy at `time`.
    ///
    /// # Errors
    /// Any failure to write.
    pub async fn add_mark(&self, component: &str, time: UnixMillis) -> Result<(), StoreError> {
        let component = component.to_owned();
        let name = component.clone();
        let insert = move |conn: &Connection| {
            conn.execute(
                "INSERT OR IGNORE INTO healthy_mark (component, time_ms) VALUES (?1, ?2)",
                params![component, sql_time(time)],
            )?;
            Ok(())
        };
        self.write_then(Kind::InsertUpdate, insert, move |caches| {
            caches.absent_marks.added(&name);
        })
        .await
    }

    /// Dates marks that are later than `now` at `now`, and says how many: they were made before the clock was set back, and
    /// what happens from now on is later than they are.
    ///
    /// # Errors
    /// Any failure to write.
    pub async fn settle_marks(&self, now: UnixMillis) -> Result<u64, StoreError> {
        // Entries of the negative cache stay true: a mark only becomes earlier.
        self.write(Kind::InsertUpdate, move |conn| {
            let settled = conn.execute(
                "UPDATE OR REPLACE healthy_mark SET time_ms = ?1 WHERE time_ms > ?1",
                [sql_time(now)],
            )?;
            Ok(settled as u64)
        })
        .await
    }

    /// The marks of a component later than `since` (to the millisecond), newest first. The newest mark of a component
    /// outlives the retention of events: what it cleared may be older than any event.
    ///
    /// # Errors
    /// Any failure to read.
    pub async fn marks(
        &self,
        component: &str,
        since: UnixMillis,
    ) -> Result<Vec<UnixMillis>, StoreError> {
        let cache = &self.inner.caches.absent_marks;
        let unknown = match cache.since(component, since) {
            Ok(()) => return Ok(Vec::new()),
            Err(unknown) => unknown,
        };
        let of = component.to_owned();
        let marks: Vec<_> = self
            .read(move |conn| {
                let mut query = conn.prepare_cached(
                    "SELECT time_ms FROM healthy_mark WHERE component = ?1 AND time_ms > ?2
                     ORDER BY time_ms DESC",
                )?;
                let times =
                    query.query_map(params![of, sql_time(since)], |row| unsigned(row, 0))?;
                Ok(times.collect::<Result<_, _>>()?)
            })
            .await?;
        if marks.is_empty() {
            cache.keep(component, since, unknown);
        }
        Ok(marks)
    }
}
