//! Reboots of the machine, one event each in component `os`.
//!
//! GPUd tells boots apart by time, and so misses those that it learns of after three days or that follow another `os`
//! event closely. Here a boot is known by its id.

use jiff::Timestamp;
use rusqlite::{Connection, params};

use super::event_row::EventRow;
use super::events::{self, Inserted, StoredEvent};
use super::{Kind, Store, StoreError, meta, sql_time};
use crate::model::{Event, EventType, Merge, UnixMillis};

/// The component that reboots are stored under.
const COMPONENT: &str = "os";
/// The name of a reboot event.
const NAME: &str = "reboot";
/// Metadata key of the boot that was recorded last.
const LAST_BOOT_ID: &str = "last_boot_id";
/// Without a boot id, boot times this close are one boot: the kernel derives it from a clock that is being set.
const DRIFT_MILLIS: u64 = 60_000;

impl Store {
    /// Records the boot that the machine is running in; called at each start of the daemon, and where the clock was set
    /// back. True if it is new. A known boot that is earlier by the present clock gets this time, so that what happens in it
    /// is not dated before it.
    ///
    /// Nothing is recorded without a boot time (0), for a boot older than the retention of events, or twice for one
    /// boot. An empty `boot_id` means that it is not known; boots are then distinguished by time.
    ///
    /// # Errors
    /// Any failure to write.
    pub async fn record_reboot(
        &self,
        now: UnixMillis,
        boot_time: UnixMillis,
        boot_id: &str,
    ) -> Result<bool, StoreError> {
        let age = u128::from(now.saturating_sub(boot_time));
        if boot_time == 0 || age >= self.inner.options.events_retention.as_millis() {
            return Ok(false);
        }
        let boot_id = boot_id.to_owned();
        let row = EventRow::new(reboot_event(boot_time, &boot_id), None)?;
        let record = move |conn: &Connection| {
            let known = if boot_id.is_empty() {
                events::named(conn, COMPONENT, NAME, 0)?
                    .iter()
                    .any(|seen| seen.event.time.abs_diff(boot_time) < DRIFT_MILLIS)
            } else {
                meta::get(conn, LAST_BOOT_ID)?.as_deref() == Some(&boot_id)
            };
            if known {
                move_back(conn, &row)?;
                return Ok(false);
            }
            if !boot_id.is_empty() {
                meta::set(conn, LAST_BOOT_ID, &boot_id)?;
            }
            Ok(events::insert(conn, COMPONENT, &row)? == Inserted::New)
        };
        self.write_then(Kind::InsertUpdate, record, |caches| {
            caches.absent_events.added(COMPONENT);
        })
        .await
    }

    /// Reboots whose second is later than the second of `since`, newest first.
    ///
    /// # Errors
    /// Any failure to read.
    pub async fn reboots(&self, since: UnixMillis) -> Result<Vec<StoredEvent>, StoreError> {
        self.read(move |conn| events::named(conn, COMPONENT, NAME, since))
            .await
    }
}

/// Dates a boot earlier than it was recorded, by its boot id. It never becomes later: what happened in it would seem to have
/// happened before it, and to have been cleared by it.
fn move_back(conn: &Connection, row: &EventRow) -> Result<(), StoreError> {
    let mut update = conn.prepare_cached(
        "UPDATE event SET time_ms = ?3, last_time_ms = ?3, message = ?4
         WHERE component = ?1 AND dedup = ?2 AND time_ms > ?3 + 1000",
    )?;
    update.execute(params![
        COMPONENT,
        row.dedup,
        sql_time(row.event.time),
        row.event.message
    ])?;
    Ok(())
}

fn reboot_event(boot_time: UnixMillis, boot_id: &str) -> Event {
    // Go's default format of a time, which GPUd's clients know.
    let shown = i64::try_from(boot_time)
        .ok()
        .and_then(|millis| Timestamp::from_millisecond(millis).ok())
        .unwrap_or_default()
        .strftime("%Y-%m-%d %H:%M:%S +0000 UTC");
    Event {
        time: boot_time,
        name: NAME.to_owned(),
        event_type: EventType::Warning,
        message: format!("system reboot detected {shown}"),
        // One row per boot id, whatever happens to the metadata: the longest window there is.
        merge: (!boot_id.is_empty()).then(|| Merge {
            key: boot_id.to_owned(),
            window_seconds: u32::MAX,
        }),
        ..Event::default()
    }
}
