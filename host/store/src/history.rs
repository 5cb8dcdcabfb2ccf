//! History of verdicts: what a component's states were, each from the moment when it changed.

use rusqlite::{Row, params};

use super::{Kind, Store, StoreError, check_size, sql_time, unsigned};
use crate::model::{Health, Subject, UnixMillis};

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
    /// What it is about, if the state says so.
    pub subject: Option<Subject>,
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
        let subject = change.subject.as_ref().map(subject_to_json).transpose()?;
        let size = change.name.len()
            + change.reason.len()
            + change.health.as_str().len()
            + subject.as_ref().map_or(0, String::len);
        check_size("change of state in bytes", size, CHANGE_LIMIT)?;
        let component = component.to_owned();
        self.write(Kind::InsertUpdate, move |conn| {
            conn.execute(
                "INSERT INTO state_change (component, time_ms, name, health, reason, subject)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![
                    component,
                    sql_time(change.time),
                    change.name,
                    change.health.as_str(),
                    change.reason,
                    subject,
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
                "SELECT time_ms, name, health, reason, subject FROM state_change
                 WHERE component = ?1 AND time_ms > ?2 ORDER BY time_ms DESC, id DESC",
            )?;
            let changes = query.query_map(params![component, sql_time(since)], |row| {
                Ok(StateChange {
                    time: unsigned(row, 0)?,
                    name: row.get(1)?,
                    health: Health::from(row.get_ref(2)?.as_str()?),
                    reason: row.get(3)?,
                    subject: subject_from_row(row, 4)?,
                })
            })?;
            Ok(changes.collect::<Result<_, _>>()?)
        })
        .await
    }
}

/// The `subject` column of a change. Equal subjects are equal texts: queries compare them.
///
/// # Errors
/// [`StoreError::Sql`], which does not happen: every subject has a form as JSON.
pub(super) fn subject_to_json(subject: &Subject) -> Result<String, StoreError> {
    serde_json::to_string(subject).map_err(|error| StoreError::Sql(error.to_string()))
}

/// Reads the `subject` column of a change. A damaged one gives none: it must not hide the change.
pub(super) fn subject_from_row(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Subject>> {
    let json: Option<String> = row.get(column)?;
    Ok(json.and_then(|json| serde_json::from_str(&json).ok()))
}
