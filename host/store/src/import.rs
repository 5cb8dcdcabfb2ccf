//! Copies the events that GPUd stored in the same file into the table `event`. GPUd's tables stay as they are.
//!
//! GPUd has a table for each component: `components_‹name›_events_v0_5_0` with whole seconds, a name, a type, a message and
//! a JSON object of further facts.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::{Connection, Row};

use super::event_row::{EventRow, type_from_word};
use super::lock::FolderLock;
use super::{Inserted, StoreError, events, open, schema};
use crate::model::{Event, EventType, UnixMillis};

/// What the names of GPUd's tables begin and end with.
const TABLE: (&str, &str) = ("components_", "_events_v0_5_0");
/// Newest rows of a table that are read; a component has no more in the end.
const MAX_ROWS: u32 = 100_000;
/// Times of one boot differ by less than this.
const DRIFT_MILLIS: u64 = 60_000;

/// Which of GPUd's events are copied.
#[derive(Debug, Clone, Copy)]
pub struct ImportRules<'a> {
    /// Names of components. The names of tables do not say them exactly.
    pub components: &'a [&'a str],
    /// Those whose events are drawn from the kernel log.
    pub of_kernel_log: &'a [&'a str],
    /// The time of the oldest message that the kernel log still holds. The daemon reads the log from there at its first
    /// start, so such events are not copied from then on.
    pub kernel_log_from: Option<UnixMillis>,
    /// When this boot began. The daemon records it itself.
    pub boot_time: UnixMillis,
}

/// What was copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Imported {
    /// Events, without reboots.
    pub events: u64,
    /// Reboots.
    pub reboots: u64,
    /// Events that the daemon finds in the kernel log.
    pub in_kernel_log: u64,
    /// Rows that make no sense.
    pub unusable: u64,
}

/// Copies GPUd's events, in one transaction. `None` where there are none, or the daemon has stored events already. Blocks;
/// GPUd must be stopped.
///
/// # Errors
/// [`StoreError::OtherDaemon`] while a daemon has the folder; `Io` if there is no such file; `Newer`, `Corrupt`,
/// `ReadOnly`, `DiskFull` as the file is.
pub fn import_gpud(path: &Path, rules: &ImportRules<'_>) -> Result<Option<Imported>, StoreError> {
    // SQLite would create a missing file.
    std::fs::metadata(path)?;
    let _lock = FolderLock::acquire(path.parent().unwrap_or(Path::new(".")))?;
    let conn = open::connect(path)?;
    if !awaits_import(&conn)? {
        return Ok(None);
    }
    schema::migrate(&conn)?;
    let transaction = conn.unchecked_transaction()?;
    let mut imported = Imported::default();
    for table in event_tables(&conn)? {
        copy(&conn, &table, rules, &mut imported)?;
    }
    transaction.commit()?;
    // Closing the last connection writes the log back into the file.
    conn.close().map_err(|(_, error)| error)?;
    Ok(Some(imported))
}

/// Whether there are tables of GPUd's, and no event of our own.
pub(super) fn awaits_import(conn: &Connection) -> Result<bool, StoreError> {
    if event_tables(conn)?.is_empty() {
        return Ok(false);
    }
    let is_new = schema::version(conn)? == 0;
    Ok(is_new
        || !conn.query_row("SELECT EXISTS (SELECT 1 FROM event)", [], |row| {
            row.get::<_, bool>(0)
        })?)
}

fn event_tables(conn: &Connection) -> Result<Vec<String>, StoreError> {
    let mut query =
        conn.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")?;
    let names = query.query_map([], |row| row.get::<_, String>(0))?;
    let names = names.collect::<Result<Vec<_>, _>>()?;
    Ok(names
        .into_iter()
        .filter(|name| bucket_of(name).is_some())
        .collect())
}

/// Returns what a table's name says of the component.
fn bucket_of(table: &str) -> Option<&str> {
    let rest = table.strip_prefix(TABLE.0)?.strip_suffix(TABLE.1)?;
    (!rest.is_empty()).then_some(rest)
}

/// Returns the name of a component as GPUd puts it into the name of a table.
fn bucket(component: &str) -> String {
    component
        .replace([' ', '-'], "_")
        .replace("__", "_")
        .to_lowercase()
}

fn copy(
    conn: &Connection,
    table: &str,
    rules: &ImportRules<'_>,
    imported: &mut Imported,
) -> Result<(), StoreError> {
    let name = bucket_of(table).unwrap_or_default();
    let known = rules.components.iter().find(|known| bucket(known) == name);
    let component = known.map_or_else(|| name.replace('_', "-"), |known| (*known).to_owned());
    let is_logged = rules.of_kernel_log.contains(&component.as_str());
    // Oldest first: within a second, later inserts are shown first.
    let mut query = conn.prepare(&format!(
        "SELECT timestamp, name, type, message, extra_info FROM
             (SELECT rowid AS place, * FROM \"{}\" ORDER BY timestamp DESC, rowid DESC LIMIT {MAX_ROWS})
         ORDER BY timestamp, place",
        table.replace('"', "\"\"")
    ))?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let Some(event) = event(row) else {
            imported.unusable += 1;
            continue;
        };
        let is_reboot = component == "os" && event.name == "reboot";
        if is_reboot && event.time.saturating_add(DRIFT_MILLIS) >= rules.boot_time {
            continue;
        }
        // GPUd's times are cut to seconds.
        let end_of_second = event.time.saturating_add(999);
        let log = rules.kernel_log_from.filter(|_| is_logged && !is_reboot);
        if log.is_some_and(|from| end_of_second >= from) {
            imported.in_kernel_log += 1;
            continue;
        }
        let row = match EventRow::new(event, None) {
            Ok(row) => row,
            Err(StoreError::TooLarge { .. }) => {
                imported.unusable += 1;
                continue;
            }
            Err(error) => return Err(error),
        };
        let is_new = events::insert(conn, &component, &row)? == Inserted::New;
        match is_reboot {
            true => imported.reboots += u64::from(is_new),
            false => imported.events += u64::from(is_new),
        }
    }
    Ok(())
}

/// Reads a row; `None` for one that GPUd does not write.
fn event(row: &Row<'_>) -> Option<Event> {
    let text = |column: usize| row.get::<_, Option<String>>(column).ok();
    let seconds = u64::try_from(row.get::<_, i64>(0).ok()?).ok()?;
    let name = text(1)?.filter(|name| !name.is_empty())?;
    let event_type = match text(2)?.unwrap_or_default() {
        word if word.is_empty() => EventType::Unknown,
        word => type_from_word(word),
    };
    // Facts that cannot be read must not hide the event.
    let extra = text(4)?.unwrap_or_default();
    let extra: BTreeMap<String, String> = serde_json::from_str(&extra).unwrap_or_default();
    Some(Event {
        time: seconds
            .checked_mul(1000)
            .filter(|time| i64::try_from(*time).is_ok())?,
        name,
        event_type,
        message: text(3)?.unwrap_or_default(),
        extra_info: extra.into_iter().collect(),
        ..Event::default()
    })
}
