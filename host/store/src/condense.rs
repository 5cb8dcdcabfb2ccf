//! Repeats of kernel messages, counted by the hour once they are some hours old: a device that complains once a minute for
//! days must not push the events of others out of what checkers read back (10,000) or out of the store (100,000).
//!
//! Repeats are first counted in the checker's own window; those counted by the minute or faster are meant here. Of an hour
//! that is past, the first of each kind stays, with the count of all, the time of the last, and what the lines of all say
//! (processes, links, addresses …). Nothing is counted together across boots, because an error on both sides of a reboot
//! weighs more than one.

use rusqlite::{Connection, OptionalExtension, params};

use super::{Kind, Store, StoreError, event_row, meta, sql_time};
use crate::model::{Event, Merge, UnixMillis};

const HOUR_MS: u64 = 3_600_000;
/// How old an hour is before it is condensed: clients that ask for what is new see every window of it.
const KEPT_FINE_MS: u64 = 2 * HOUR_MS;
/// Hours dealt with at once, after a long stop.
const HOURS: usize = 48;
/// Key of the time up to which events are condensed.
const UP_TO: &str = "events_condensed_up_to";

impl Store {
    /// Condenses the hours that are old enough at `now`, and returns how many rows were removed.
    ///
    /// # Errors
    /// Any failure to write; an hour is condensed whole or not at all.
    pub(super) async fn condense(&self, now: UnixMillis) -> Result<u64, StoreError> {
        let end = now.saturating_sub(KEPT_FINE_MS) / HOUR_MS * HOUR_MS;
        let mut gone = 0;
        for _ in 0..HOURS {
            let step = move |conn: &Connection| {
                let Some(start) = next_hour(conn, end)? else {
                    return Ok(None);
                };
                let gone = condense_hour(conn, start)?;
                meta::set(conn, UP_TO, &(start + HOUR_MS).to_string())?;
                Ok(Some(gone))
            };
            match self.write(Kind::Delete, step).await? {
                Some(rows) => gone += rows,
                None => break,
            }
        }
        Ok(gone)
    }
}

/// The next hour before `end` that has events and was not condensed.
fn next_hour(conn: &Connection, end: u64) -> Result<Option<u64>, StoreError> {
    let done = meta::get(conn, UP_TO)?.and_then(|text| text.parse().ok());
    let mut query = conn.prepare_cached(
        "SELECT last_time_ms FROM event WHERE last_time_ms >= ?1 AND last_time_ms < ?2
         ORDER BY last_time_ms LIMIT 1",
    )?;
    let range = params![sql_time(done.unwrap_or(0)), sql_time(end)];
    let oldest: Option<i64> = query.query_row(range, |row| row.get(0)).optional()?;
    let oldest = oldest.and_then(|time| u64::try_from(time).ok());
    Ok(oldest.map(|time| time / HOUR_MS * HOUR_MS))
}

fn condense_hour(conn: &Connection, start: u64) -> Result<u64, StoreError> {
    let range = [sql_time(start), sql_time(start + HOUR_MS)];
    for (id, detail) in joined_facts(conn, range)? {
        conn.execute(
            "UPDATE event SET detail = ?2 WHERE id = ?1",
            params![id, detail],
        )?;
    }
    conn.execute(
        "UPDATE event SET count = kind.total, last_time_ms = kind.latest
         FROM (SELECT min(id) AS first, sum(count) AS total, max(last_time_ms) AS latest FROM event
               WHERE kin IS NOT NULL AND last_time_ms >= ?1 AND last_time_ms < ?2
               GROUP BY component, kin HAVING count(*) > 1) AS kind
         WHERE event.id = kind.first",
        range,
    )?;
    let gone = conn.execute(
        "DELETE FROM event WHERE id IN (
             SELECT id FROM (
                 SELECT id, min(id) OVER (PARTITION BY component, kin) AS first FROM event
                 WHERE kin IS NOT NULL AND last_time_ms >= ?1 AND last_time_ms < ?2)
             WHERE id <> first)",
        range,
    )?;
    Ok(gone as u64)
}

/// The first row of a kind, and what its repeats add to it.
struct First {
    kind: (String, Vec<u8>),
    id: i64,
    event: Event,
    /// The last row's facts, as stored: a flood repeats them.
    last: String,
    is_changed: bool,
}

impl First {
    fn new(kind: (String, Vec<u8>), id: i64, detail: String) -> Self {
        Self {
            kind,
            id,
            event: repeat(&detail),
            last: detail,
            is_changed: false,
        }
    }

    fn add(&mut self, detail: String) {
        if detail != self.last {
            self.is_changed |= self.event.add_repeat(&repeat(&detail));
            self.last = detail;
        }
    }

    /// The row and its new facts, if there are any.
    fn joined(self) -> Result<Option<(i64, String)>, StoreError> {
        match self.is_changed {
            true => Ok(Some((self.id, event_row::encode(&self.event)?))),
            false => Ok(None),
        }
    }
}

/// An event with these stored facts, as one that is counted with others.
fn repeat(detail: &str) -> Event {
    let mut event = Event {
        merge: Some(Merge {
            key: String::new(),
            window_seconds: 60,
        }),
        ..Event::default()
    };
    event_row::decode_into(&mut event, detail);
    event
}

/// The first rows of the kinds of an hour whose repeats have further facts, with the facts of all.
fn joined_facts(conn: &Connection, range: [i64; 2]) -> Result<Vec<(i64, String)>, StoreError> {
    let mut query = conn.prepare_cached(
        "SELECT component, kin, id, detail FROM event
         WHERE kin IS NOT NULL AND last_time_ms >= ?1 AND last_time_ms < ?2
         ORDER BY component, kin, id",
    )?;
    let mut rows = query.query(range)?;
    let mut first: Option<First> = None;
    let mut joined = Vec::new();
    while let Some(row) = rows.next()? {
        let kind: (String, Vec<u8>) = (row.get(0)?, row.get(1)?);
        let (id, detail): (i64, String) = (row.get(2)?, row.get(3)?);
        match first.as_mut().filter(|first| first.kind == kind) {
            Some(first) => first.add(detail),
            None => {
                if let Some(done) = first.replace(First::new(kind, id, detail)) {
                    joined.extend(done.joined()?);
                }
            }
        }
    }
    if let Some(done) = first {
        joined.extend(done.joined()?);
    }
    Ok(joined)
}
