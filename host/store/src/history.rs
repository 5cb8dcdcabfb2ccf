//! History of verdicts: what a component's states were, each from the moment when it changed.

use rusqlite::params;

use super::{Kind, Store, StoreError, check_size, sql_time, unsigned};
use crate::model::{Health, UnixMillis};

/// Most bytes of the texts of one change.
const CHANGE_LIMIT: usize = 64 * 1024;

/// One change of a state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateChange {
    /// Since when.
    pub time: UnixMillis,
    /// Name of the state.
    pub name: String,
    /// The new state.
    pub health: Health,
    /// Why.
    pub reason: String,
}

impl Store {
    /// Records a change. The store does not compare: the caller has made sure that it is one.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] beyond 64 KiB; any failure to write.
    pub async fn record_state(
        &self,
        component: &str,
        change: StateChange,
    ) -> Result<(), StoreError> {
        let size = change.name.len() + change.reason.len() + change.health.as_str().len();
        check_size("change of state in bytes", size, CHANGE_LIMIT)?;
        let component = component.to_owned();
        self.write(Kind::InsertUpdate, move |conn| {
            conn.execute(
                "INSERT INTO state_change (component, time_ms, name, health, reason)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
                params![
                    component,
                    sql_time(change.time),
                    change.name,
                    change.health.as_str(),
                    change.reason,
                ],
            )?;
            Ok(())
        })
        .await
    }

    /// The changes of a component later than `since` (to the millisecond), newest first.
    ///
    /// # Errors
    /// Any failure to read.
    pub async fn state_history(
        &self,
        component: &str,
        since: UnixMillis,
    ) -> Result<Vec<StateChange>, StoreError> {
        let component = component.to_owned();
        self.read(move |conn| {
            let mut query = conn.prepare_cached(
                "SELECT time_ms, name, health, reason FROM state_change
                 WHERE component = ?1 AND time_ms > ?2 ORDER BY time_ms DESC, id DESC",
            )?;
            let changes = query.query_map(params![component, sql_time(since)], |row| {
                Ok(StateChange {
                    time: unsigned(row, 0)?,
                    name: row.get(1)?,
                    health: Health::from(row.get_ref(2)?.as_str()?),
                    reason: row.get(3)?,
                })
            })?;
            Ok(changes.collect::<Result<_, _>>()?)
        })
        .await
    }
}
