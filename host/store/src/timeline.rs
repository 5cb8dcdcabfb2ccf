//! Events and changes of health together, newest first, a page at a time; and when states became what they are.

use std::{collections::BTreeMap, fmt, str::FromStr};

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{
    Store, StoreError, StoredEvent,
    events::stored_event,
    history::{subject_from_row, subject_to_json},
    sql_time, unsigned,
};
use crate::model::{Health, Subject, UnixMillis};

/// Most entries of a page.
pub const MAX_PAGE: u32 = 1000;
/// Most bytes of texts of a page; it then ends earlier.
const PAGE_BYTES: usize = 4 * 1024 * 1024;

/// The part of the timeline that [`Store::timeline`] reads.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TimelineRead {
    /// Only of these components; `None` is all.
    pub components: Option<Vec<String>>,
    /// Nothing before this.
    pub since: UnixMillis,
    /// Only entries after this position, which are older.
    pub before: Option<Cursor>,
    /// Most entries, at most [`MAX_PAGE`].
    pub limit: u32,
}

/// A place in the timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// Time of the entry: when it was last seen.
    pub time: UnixMillis,
    /// The entry.
    pub id: EntryId,
}

/// Names an entry, as `e12` or `c7`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryId {
    /// A change of health, by its row.
    Change(i64),
    /// An event, by its row.
    Event(i64),
}

/// An entry of the timeline.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its name.
    pub id: EntryId,
    /// The component's name.
    pub component: String,
    /// The event or change.
    pub content: EntryContent,
}

/// The content of an entry of the timeline.
#[derive(Debug, Clone, PartialEq)]
pub enum EntryContent {
    /// An event.
    Event(StoredEvent),
    /// A state changed its health.
    Change {
        /// When.
        time: UnixMillis,
        /// Name of the state.
        name: String,
        /// The previous health; `None` at the first verdict.
        from: Option<Health>,
        /// The new health.
        to: Health,
        /// Why.
        reason: String,
        /// What it is about, if the state says so.
        subject: Option<Subject>,
    },
}

/// A part of the timeline.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Page {
    /// Newest first, by the last time that each was seen.
    pub entries: Vec<Entry>,
    /// The cursor of the next page; `None` at the end.
    pub next: Option<Cursor>,
}

impl Entry {
    /// Its place.
    pub fn cursor(&self) -> Cursor {
        Cursor {
            time: match &self.content {
                EntryContent::Event(event) => event.last_time,
                EntryContent::Change { time, .. } => *time,
            },
            id: self.id,
        }
    }

    fn bytes(&self) -> usize {
        match &self.content {
            EntryContent::Event(event) => event.event.message.len() + event.event.name.len(),
            EntryContent::Change { reason, name, .. } => reason.len() + name.len(),
        }
    }
}

impl EntryId {
    /// Reads `e12` or `c7`; `None` if the text is neither.
    pub fn parse(text: &str) -> Option<Self> {
        let (kind, row) = text.split_at_checked(1)?;
        let digits = row.bytes().all(|byte| byte.is_ascii_digit());
        let row = row.parse().ok().filter(|_| digits)?;
        match kind {
            "e" => Some(Self::Event(row)),
            "c" => Some(Self::Change(row)),
            _ => None,
        }
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Event(row) => write!(f, "e{row}"),
            Self::Change(row) => write!(f, "c{row}"),
        }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.time, self.id)
    }
}

/// Why a text is not a [`Cursor`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no cursor: take `next` of an earlier answer")]
pub struct ParseCursorError(String);

impl FromStr for Cursor {
    type Err = ParseCursorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let read = || {
            let (time, id) = text.split_once('-')?;
            Some(Self {
                time: time.parse().ok()?,
                id: EntryId::parse(id)?,
            })
        };
        read().ok_or_else(|| ParseCursorError(text.to_owned()))
    }
}

/// A component, the name of one of its states, and what that is about.
type StateKey = (String, String, Option<Subject>);

/// Whether an older row is of the same state as a newer one, or as the subject in a parameter. A component that gives one
/// state of a name may name its subject only while something is wrong, so that one without a subject is of any.
macro_rules! is_of_state {
    ($old:literal, $new:literal) => {
        concat!(
            "(",
            $old,
            " IS NULL OR ",
            $new,
            " IS NULL OR ",
            $old,
            " = ",
            $new,
            ")"
        )
    };
}

impl Store {
    /// Reads a page of the timeline. First verdicts that are healthy are left out, and those that a restart repeats.
    ///
    /// # Errors
    /// Any failure to read.
    pub async fn timeline(&self, read: TimelineRead) -> Result<Page, StoreError> {
        self.read(move |conn| {
            let limit = read.limit.clamp(1, MAX_PAGE) as usize;
            let mut entries = events(conn, &read, limit + 1)?;
            entries.extend(changes(conn, &read, limit + 1)?);
            entries.sort_by_key(|entry| {
                let Cursor { time, id } = entry.cursor();
                std::cmp::Reverse((time, id))
            });
            let mut bytes = 0;
            let fits = |entry: &Entry| {
                bytes += entry.bytes();
                bytes <= PAGE_BYTES
            };
            let fitting = entries
                .iter()
                .take(limit)
                .map(fits)
                .take_while(|fits| *fits);
            // An entry that is larger than a page is a page of its own.
            let end = fitting.count().max(1);
            let more = entries.len() > end;
            entries.truncate(end);
            let next = entries.last().map(Entry::cursor).filter(|_| more);
            Ok(Page { entries, next })
        })
        .await
    }

    /// Reads one event of the timeline by its row; `None` if it is not stored, or no longer.
    ///
    /// # Errors
    /// Any failure to read.
    pub async fn timeline_event(&self, row: i64) -> Result<Option<Entry>, StoreError> {
        self.read(move |conn| {
            let mut query = conn.prepare_cached(
                "SELECT component, time_ms, name, type, message, detail, count, last_time_ms, id FROM event
                 WHERE id = ?1",
            )?;
            Ok(query.query_row([row], event_entry).optional()?)
        })
        .await
    }

    /// Since when states have the health that they have, as far as it is recorded.
    ///
    /// # Errors
    /// Any failure to read.
    pub async fn beginnings(
        &self,
        states: Vec<(StateKey, Health)>,
    ) -> Result<BTreeMap<StateKey, UnixMillis>, StoreError> {
        self.read(move |conn| {
            let mut query = conn.prepare_cached(concat!(
                "SELECT min(time_ms) FROM state_change
                 WHERE component = ?1 AND name = ?2 AND health = ?3 AND ",
                is_of_state!("subject", "?4"),
                " AND id > coalesce(
                     (SELECT id FROM state_change WHERE component = ?1 AND name = ?2
                      AND health NOT IN (?3, 'Initializing') AND ",
                is_of_state!("subject", "?4"),
                " ORDER BY id DESC LIMIT 1), 0)",
            ))?;
            let mut found = BTreeMap::new();
            for (key, health) in &states {
                let (component, name, subject) = key;
                let subject = subject.as_ref().map(subject_to_json).transpose()?;
                let mut since_of = |subject: Option<&str>| {
                    let asked = params![component, name, health.as_str(), subject];
                    query.query_row(asked, |row| row.get::<_, Option<i64>>(0))
                };
                // A state that goes over to another subject with the same health is no change, and has no row.
                let since = match since_of(subject.as_deref())? {
                    None if subject.is_some() => since_of(None)?,
                    since => since,
                };
                if let Some(since) = since.and_then(|time| u64::try_from(time).ok()) {
                    found.insert(key.clone(), since);
                }
            }
            Ok(found)
        })
        .await
    }

    /// When the last state that was not healthy became so; when the record begins, if none was ever otherwise.
    ///
    /// # Errors
    /// Any failure to read.
    pub async fn healthy_since(&self) -> Result<Option<UnixMillis>, StoreError> {
        self.read(|conn| {
            let mut query = conn.prepare_cached(
                "SELECT coalesce(
                    (SELECT max(ended) FROM (
                        SELECT (SELECT later.time_ms FROM state_change later
                                WHERE later.component = bad.component AND later.name = bad.name
                                AND later.id > bad.last ORDER BY later.id LIMIT 1) AS ended
                        FROM (SELECT component, name, max(id) AS last FROM state_change
                              WHERE health NOT IN ('Healthy', 'Initializing')
                              GROUP BY component, name) bad)),
                    (SELECT min(time_ms) FROM state_change))",
            )?;
            let since: Option<Option<i64>> = query.query_row([], |row| row.get(0)).optional()?;
            Ok(since.flatten().and_then(|time| u64::try_from(time).ok()))
        })
        .await
    }
}

/// The components as JSON, or null for all.
fn names(read: &TimelineRead) -> Option<String> {
    let components = read.components.clone()?;
    Some(serde_json::Value::from(components).to_string())
}

fn events(conn: &Connection, read: &TimelineRead, limit: usize) -> Result<Vec<Entry>, StoreError> {
    // Entries of one time are in descending order of their ids, and an event's is greater than a change's.
    let (time, row) = match read.before {
        None => (i64::MAX, 0),
        Some(Cursor {
            time,
            id: EntryId::Event(row),
        }) => (sql_time(time), row),
        Some(Cursor { time, .. }) => (sql_time(time), 0),
    };
    let mut query = conn.prepare_cached(
        "SELECT component, time_ms, name, type, message, detail, count, last_time_ms, id FROM event
         WHERE last_time_ms BETWEEN ?1 AND ?2 AND (last_time_ms < ?2 OR (last_time_ms = ?2 AND id < ?3))
         AND (?4 IS NULL OR component IN (SELECT value FROM json_each(?4)))
         ORDER BY last_time_ms DESC, id DESC LIMIT ?5",
    )?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = query.query_map(
        params![sql_time(read.since), time, row, names(read), limit],
        event_entry,
    )?;
    bounded(rows)
}

/// The entry of a row of events that ends with its id.
fn event_entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    let (component, event) = stored_event(row)?;
    Ok(Entry {
        id: EntryId::Event(row.get(8)?),
        component,
        content: EntryContent::Event(event),
    })
}

fn changes(conn: &Connection, read: &TimelineRead, limit: usize) -> Result<Vec<Entry>, StoreError> {
    let (time, row) = match read.before {
        None => (i64::MAX, 0),
        Some(Cursor {
            time,
            id: EntryId::Change(row),
        }) => (sql_time(time), row),
        Some(Cursor { time, .. }) => (sql_time(time), i64::MAX),
    };
    // What becomes healthy without having been otherwise is a start, and a start that finds what was there is no change.
    let mut query = conn.prepare_cached(concat!(
        "SELECT component, time_ms, name, health, reason, id, was, subject FROM (
             SELECT new.*, (SELECT old.health FROM state_change old
                 WHERE old.component = new.component AND old.name = new.name AND old.id < new.id
                 AND old.health <> 'Initializing' AND ",
        is_of_state!("old.subject", "new.subject"),
        "
                 ORDER BY old.id DESC LIMIT 1) AS was
             FROM state_change new
             WHERE new.time_ms BETWEEN ?1 AND ?2 AND (new.time_ms < ?2 OR (new.time_ms = ?2 AND new.id < ?3))
             AND (?4 IS NULL OR new.component IN (SELECT value FROM json_each(?4)))
             ORDER BY new.time_ms DESC, new.id DESC)
         WHERE health <> 'Initializing' AND health <> coalesce(was, 'Healthy')
         LIMIT ?5",
    ))?;
    let of_row = |row: &Row<'_>| -> rusqlite::Result<Entry> {
        let was: Option<String> = row.get(6)?;
        Ok(Entry {
            id: EntryId::Change(row.get(5)?),
            component: row.get(0)?,
            content: EntryContent::Change {
                time: unsigned(row, 1)?,
                name: row.get(2)?,
                from: was.as_deref().map(Health::from),
                to: Health::from(row.get_ref(3)?.as_str()?),
                reason: row.get(4)?,
                subject: subject_from_row(row, 7)?,
            },
        })
    };
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = query.query_map(
        params![sql_time(read.since), time, row, names(read), limit],
        of_row,
    )?;
    bounded(rows)
}

/// The rows until they are more than a page may hold, and one more.
fn bounded(rows: impl Iterator<Item = rusqlite::Result<Entry>>) -> Result<Vec<Entry>, StoreError> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut bytes = 0;
    for entry in rows {
        let entry = entry?;
        bytes += entry.bytes();
        entries.push(entry);
        if bytes > PAGE_BYTES {
            break;
        }
    }
    Ok(entries)
}
