//! Stores the events and values of one call of a checker in one transaction.

use std::collections::BTreeMap;

use rusqlite::Connection;

use super::cursors::{self, KmsgCursor};
use super::event_row::EventRow;
use super::events::{self, Inserted};
use super::{Kind, Store, StoreError, plugin_state};
use crate::model::Event;

/// The results of one call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Commit {
    /// Events.
    pub events: Vec<Event>,
    /// Values of the component's key-value store; `None` deletes.
    pub state_writes: BTreeMap<String, Option<Vec<u8>>>,
    /// How far the component is in the kernel log.
    pub cursor: Option<KmsgCursor>,
}

impl Store {
    /// Stores a component's events, values and place in the kernel log in one transaction: all of it or nothing.
    /// Answers follow the order of `events`; see [`Store::insert_events`].
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] for an event over 1 MiB or a value beyond the quota; any failure to write.
    pub async fn commit(
        &self,
        component: &str,
        commit: Commit,
    ) -> Result<Vec<Inserted>, StoreError> {
        let component = component.to_owned();
        let Commit {
            events,
            state_writes,
            cursor,
        } = commit;
        let boot = cursor.as_ref().map(|cursor| cursor.boot_id.clone());
        let (rows, places) = EventRow::all(events, boot.as_deref())?;
        let changed = (!rows.is_empty()).then(|| component.clone());
        let written = (!state_writes.is_empty()).then(|| component.clone());
        let work = move |conn: &Connection| {
            let inserted = events::insert_all(conn, &component, &rows, &places)?;
            for (key, value) in &state_writes {
                match value {
                    Some(value) => plugin_state::set(conn, &component, key, value)?,
                    None => {
                        plugin_state::delete(conn, &component, key)?;
                    }
                }
            }
            if let Some(cursor) = &cursor {
                cursors::save(conn, &component, cursor)?;
            }
            Ok(inserted)
        };
        self.write_then(Kind::InsertUpdate, work, move |caches| {
            if let Some(component) = changed {
                caches.absent_events.added(&component);
            }
            if let Some(component) = written {
                caches.values.changed(&component);
            }
        })
        .await
    }
}
