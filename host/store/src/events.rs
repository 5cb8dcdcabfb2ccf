//! Events: stored once, counted when they repeat, read newest first.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::cursors::{self, KmsgCursor};
use super::event_row::{self, EventRow};
use super::{Kind, Store, StoreError, sql_time, unsigned};
use crate::model::{Event, EventType, UnixMillis};

/// Most bytes of texts that one read gives, so that no request can make the daemon grow without bound.
const READ_LIMIT: usize = 32 * 1024 * 1024;

const COLUMNS: &str = "component, time_ms, name, type, message, detail, count, last_time_ms";
/// Condition for events that a flood of others does not displace.
pub(super) const IS_WORST: &str = "type IN ('Critical', 'Fatal')";
/// The same without the facts, which take most of the time to read.
const LISTED: &str = "component, time_ms, name, type, message, '{}', count, last_time_ms";

/// The outcome of an inserted event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inserted {
    /// A row of its own.
    New,
    /// A repeat of a stored event, whose count went up.
    Counted,
}

/// An event as it is stored. Its `merge` is always `None`: that is an instruction for storing.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredEvent {
    /// The event; of repeats, the first that was stored.
    pub event: Event,
    /// How often it was seen, at least 1.
    pub count: u64,
    /// The latest time of any repeat; `event.time` without repeats.
    pub last_time: UnixMillis,
}

impl Store {
    /// Stores events of one component and its place in the kernel log in one transaction: all of it or nothing.
    ///
    /// With `merge`, events of one name and key in one window are the same; without, events that are equal in second,
    /// name, type, message, subject and extra info (as a map) are. Answers follow the order of `events`.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] for an event over 1 MiB; any failure to write.
    pub async fn insert_events(
        &self,
        component: &str,
        events: Vec<Event>,
        cursor: Option<KmsgCursor>,
    ) -> Result<Vec<Inserted>, StoreError> {
        let component = component.to_owned();
        let boot = cursor.as_ref().map(|cursor| cursor.boot_id.clone());
        let (rows, places) = EventRow::all(events, boot.as_deref())?;
        let name = component.clone();
        let insert = move |conn: &Connection| {
            let inserted = insert_all(conn, &component, &rows, &places)?;
            if let Some(cursor) = &cursor {
                cursors::save(conn, &component, cursor)?;
            }
            Ok(inserted)
        };
        self.write_then(Kind::InsertUpdate, insert, move |caches| {
            caches.absent_events.added(&name);
        })
        .await
    }

    /// Stores events of one component that were counted before: repeats, and an event's last time, are those given.
    ///
    /// # Errors
    /// As [`Self::insert_events`].
    pub async fn insert_counted(
        &self,
        component: &str,
        events: Vec<StoredEvent>,
    ) -> Result<(), StoreError> {
        let rows = events.into_iter().map(|stored| {
            Ok::<_, StoreError>(EventRow {
                count: stored.count,
                last_time: stored.last_time,
                ..EventRow::new(stored.event, None)?
            })
        });
        let rows = rows.collect::<Result<Vec<_>, _>>()?;
        let component = component.to_owned();
        let name = component.clone();
        let insert = move |conn: &Connection| {
            for row in &rows {
                insert(conn, &component, row)?;
            }
            Ok(())
        };
        self.write_then(Kind::InsertUpdate, insert, move |caches| {
            caches.absent_events.added(&name);
        })
        .await
    }

    /// Events of a component whose second is later than the second of `since`, newest second first and within a second
    /// the later insert first; at most `limit`, and at most 32 MiB of text. Where there are more than `limit`, the newest
    /// half of them is whatever came last; in the other half, older Critical and Fatal events come before lesser ones.
    /// [Those that wait to be written](Store::show_waiting) are among them.
    ///
    /// # Errors
    /// Any failure to read.
    pub async fn events(
        &self,
        component: &str,
        since: UnixMillis,
        limit: Option<u32>,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        let stored = self.stored_events(component, since, limit).await?;
        Ok(self.inner.waiting.add_to(stored, component, since, limit))
    }

    async fn stored_events(
        &self,
        component: &str,
        since: UnixMillis,
        limit: Option<u32>,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        let cache = &self.inner.caches.absent_events;
        let unknown = match cache.since(component, since) {
            Ok(()) => return Ok(Vec::new()),
            Err(unknown) => unknown,
        };
        let of = component.to_owned();
        let events = self
            .read(move |conn| {
                let mut query = conn.prepare_cached(&format!(
                    "SELECT {COLUMNS} FROM event WHERE component = ?1 AND time_ms / 1000 > ?2
                     ORDER BY time_ms / 1000 DESC, id DESC LIMIT ?3"
                ))?;
                let limit = limit.map_or(-1, i64::from);
                let mut found = Vec::new();
                let rows = query.query(params![of, sql_time(since / 1000), limit])?;
                collect(rows, |_, event| found.push(event))?;
                if !found.is_empty() && usize::try_from(limit) == Ok(found.len()) {
                    add_worst(conn, &of, since, &mut found)?;
                }
                Ok(found)
            })
            .await?;
        if events.is_empty() && limit != Some(0) {
            cache.keep(component, since, unknown);
        }
        Ok(events)
    }

    /// [`Store::events`] of several components with one read, for listing: without subject, evidence and extra info. Every
    /// name has an entry; the limit of 32 MiB is shared.
    ///
    /// # Errors
    /// Any failure to read.
    pub async fn all_events(
        &self,
        components: &[String],
        since: UnixMillis,
    ) -> Result<BTreeMap<String, Vec<StoredEvent>>, StoreError> {
        let components = components.to_vec();
        self.read(move |conn| {
            let names = serde_json::Value::from(components.clone()).to_string();
            let mut found: BTreeMap<String, Vec<StoredEvent>> = components
                .iter()
                .map(|name| (name.clone(), Vec::new()))
                .collect();
            let mut query = conn.prepare_cached(&format!(
                "SELECT {LISTED} FROM event
                 WHERE component IN (SELECT value FROM json_each(?1)) AND time_ms / 1000 > ?2
                 ORDER BY component, time_ms / 1000 DESC, id DESC"
            ))?;
            collect(
                query.query(params![names, sql_time(since / 1000)])?,
                |component, event| {
                    found.entry(component).or_default().push(event);
                },
            )?;
            Ok(found)
        })
        .await
    }

    /// The newest event of a component.
    ///
    /// # Errors
    /// Any failure to read.
    pub async fn latest_event(&self, component: &str) -> Result<Option<StoredEvent>, StoreError> {
        let component = component.to_owned();
        self.read(move |conn| {
            let mut query = conn.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM event WHERE component = ?1
                 ORDER BY time_ms / 1000 DESC, id DESC LIMIT 1"
            ))?;
            let latest = query.query_row([&component], stored_event).optional()?;
            Ok(latest.map(|(_, event)| event))
        })
        .await
    }

    /// Deletes a component's events that were last seen at `up_to` or before, and says how many. The component's place
    /// in the kernel log stays, so the same lines are not read again. (The component `os` holds the reboots, too.)
    ///
    /// # Errors
    /// Any failure to write.
    pub async fn delete_events(
        &self,
        component: &str,
        up_to: UnixMillis,
    ) -> Result<u64, StoreError> {
        let component = component.to_owned();
        let delete = move |conn: &Connection| {
            let deleted = conn.execute(
                "DELETE FROM event WHERE component = ?1 AND last_time_ms <= ?2",
                params![component, sql_time(up_to)],
            )?;
            Ok(deleted as u64)
        };
        self.write(Kind::Delete, delete).await
    }

    /// Deletes a component's events that were last seen later than `present`, and says how many: they were stored before the
    /// clock was set back. As for [`Self::delete_events`], the component's place in the kernel log stays.
    ///
    /// # Errors
    /// Any failure to write.
    pub async fn delete_events_after(
        &self,
        component: &str,
        present: UnixMillis,
    ) -> Result<u64, StoreError> {
        let component = component.to_owned();
        let delete = move |conn: &Connection| {
            let deleted = conn.execute(
                "DELETE FROM event WHERE component = ?1 AND last_time_ms > ?2",
                params![component, sql_time(present)],
            )?;
            Ok(deleted as u64)
        };
        self.write(Kind::Delete, delete).await
    }
}

/// Inserts or counts rows, and returns the outcome of each event that went into one.
pub(super) fn insert_all(
    conn: &Connection,
    component: &str,
    rows: &[EventRow],
    places: &[usize],
) -> Result<Vec<Inserted>, StoreError> {
    let mut fates = rows
        .iter()
        .map(|row| insert(conn, component, row))
        .collect::<Result<Vec<_>, _>>()?;
    // The first event of a row is what was inserted or counted; the others repeat it.
    let fate = |place: &usize| {
        let fate = fates.get_mut(*place);
        fate.map_or(Inserted::Counted, |fate| {
            std::mem::replace(fate, Inserted::Counted)
        })
    };
    Ok(places.iter().map(fate).collect())
}

/// Inserts or counts one row.
pub(super) fn insert(
    conn: &Connection,
    component: &str,
    row: &EventRow,
) -> Result<Inserted, StoreError> {
    let mut statement = conn.prepare_cached(
        "INSERT INTO event
             (component, time_ms, last_time_ms, name, type, message, detail, count, dedup, kin)
         VALUES (?1, ?2, ?9, ?3, ?4, ?5, ?6, ?10, ?7, ?8)
         ON CONFLICT (component, dedup) DO UPDATE SET
             count = count + excluded.count, last_time_ms = max(last_time_ms, excluded.last_time_ms)
         RETURNING count",
    )?;
    let event = &row.event;
    let count = statement.query_row(
        params![
            component,
            sql_time(event.time),
            event.name,
            event_row::type_word(&event.event_type),
            event.message,
            row.detail,
            row.dedup,
            row.kin,
            sql_time(row.last_time),
            i64::try_from(row.count).unwrap_or(i64::MAX),
        ],
        |row| unsigned(row, 0),
    )?;
    if count == row.count {
        return Ok(Inserted::New);
    }
    add_facts(conn, component, row)?;
    Ok(Inserted::Counted)
}

/// As [`IS_WORST`].
fn is_worst(stored: &StoredEvent) -> bool {
    matches!(
        stored.event.event_type,
        EventType::Critical | EventType::Fatal
    )
}

/// Puts Critical and Fatal events that are older than all of these in the place of lesser ones of the older half.
fn add_worst(
    conn: &Connection,
    component: &str,
    since: UnixMillis,
    found: &mut Vec<StoredEvent>,
) -> Result<(), StoreError> {
    let half = found.len().div_ceil(2);
    let lesser = found.iter().skip(half).filter(|stored| !is_worst(stored));
    let room = lesser.count();
    let known = found.iter().filter(|stored| is_worst(stored)).count();
    let mut query = conn.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM event WHERE component = ?1 AND time_ms / 1000 > ?2 AND {IS_WORST}
         ORDER BY time_ms / 1000 DESC, id DESC LIMIT ?3 OFFSET ?4"
    ))?;
    let mut older = Vec::new();
    let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let bounds = params![
        component,
        sql_time(since / 1000),
        number(room),
        number(known)
    ];
    let rows = query.query(bounds)?;
    collect(rows, |_, event| older.push(event))?;
    let mut stay = room.saturating_sub(older.len());
    let mut place = 0;
    found.retain(|stored| {
        place += 1;
        if place <= half || is_worst(stored) {
            return true;
        }
        let stays = stay > 0;
        stay = stay.saturating_sub(1);
        stays
    });
    found.append(&mut older);
    Ok(())
}

/// Adds the facts of a repeat to the row that counts it.
fn add_facts(conn: &Connection, component: &str, row: &EventRow) -> Result<(), StoreError> {
    if !row.event.adds_facts() {
        return Ok(());
    }
    let mut query =
        conn.prepare_cached("SELECT id, detail FROM event WHERE component = ?1 AND dedup = ?2")?;
    let (id, detail): (i64, String) = query.query_row(params![component, row.dedup], |found| {
        Ok((found.get(0)?, found.get(1)?))
    })?;
    let mut first = Event::default();
    event_row::decode_into(&mut first, &detail);
    if first.add_repeat(&row.event) {
        let mut update = conn.prepare_cached("UPDATE event SET detail = ?2 WHERE id = ?1")?;
        update.execute(params![id, event_row::encode(&first)?])?;
    }
    Ok(())
}

/// Reads the events of one component that have the given name, as [`Store::events`] does.
pub(super) fn named(
    conn: &Connection,
    component: &str,
    name: &str,
    since: UnixMillis,
) -> Result<Vec<StoredEvent>, StoreError> {
    let mut query = conn.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM event
         WHERE component = ?1 AND time_ms / 1000 > ?2 AND name = ?3
         ORDER BY time_ms / 1000 DESC, id DESC"
    ))?;
    let mut found = Vec::new();
    let rows = query.query(params![component, sql_time(since / 1000), name])?;
    collect(rows, |_, event| found.push(event))?;
    Ok(found)
}

/// How many bytes a text takes in an answer, where some characters are written `\u003c`.
fn json_bytes(text: &str) -> usize {
    let escaped = text
        .bytes()
        .filter(|byte| *byte < b' ' || matches!(byte, b'<' | b'>' | b'&'));
    text.len() + 5 * escaped.count()
}

fn collect(
    mut rows: rusqlite::Rows<'_>,
    mut keep: impl FnMut(String, StoredEvent),
) -> Result<(), StoreError> {
    let mut bytes = 0;
    while let Some(row) = rows.next()? {
        let (component, event) = stored_event(row)?;
        bytes += json_bytes(&event.event.message) + event.event.name.len();
        bytes += row.get_ref(5)?.as_str().map_or(0, str::len);
        if bytes > READ_LIMIT {
            tracing::warn!(
                component,
                "more than 32 MiB of events: older ones are left out"
            );
            break;
        }
        keep(component, event);
    }
    Ok(())
}

pub(super) fn stored_event(row: &Row<'_>) -> rusqlite::Result<(String, StoredEvent)> {
    let mut event = Event {
        time: unsigned(row, 1)?,
        name: row.get(2)?,
        event_type: event_row::type_from_word(row.get(3)?),
        message: row.get(4)?,
        ..Event::default()
    };
    event_row::decode_into(&mut event, row.get_ref(5)?.as_str()?);
    let stored = StoredEvent {
        event,
        count: unsigned(row, 6)?,
        last_time: unsigned(row, 7)?,
    };
    Ok((row.get(0)?, stored))
}
