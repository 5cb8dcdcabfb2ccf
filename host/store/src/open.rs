//! Opening the state file: lock, version, damage, and what happens when the file cannot be used.
//!
//! A damaged file is set aside and a new one begun; a file that cannot be written is replaced by a store in memory that
//! starts with what the file holds. Only another daemon, a file of a later gpud and a foreign lock stop the opening.

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::database_files::{check_kinds, make_private, move_away};
use super::fallback::Fallback;
use super::lock::FolderLock;
use super::{
    Location, StoreError, StoreOptions, carry_over, meta, migration_backup, reader, schema,
    unsigned,
};
use crate::node::clock::Clock;

/// Files below this size are checked for damage at every start; it takes well under a second.
const ALWAYS_CHECK_BELOW: u64 = 64 * 1024 * 1024;
/// The check never delays a start by more than this; a file too large for it is used unchecked.
const CHECK_LIMIT: Duration = Duration::from_secs(5);
/// How long SQLite waits for a lock that another process holds.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// How long SQLite waits for it once `BUSY_TIMEOUT` was not enough: callers wait one after the other, and try again.
pub(super) const LOCKED_TIMEOUT: Duration = Duration::from_millis(100);
/// Most bytes of a store in memory.
const MEMORY_LIMIT: u64 = 64 * 1024 * 1024;
/// Most bytes of a file: a flood of events must not fill the root file system.
const FILE_LIMIT: u64 = 4 * 1024 * 1024 * 1024;
/// Bytes that the write-ahead log is cut back to after a checkpoint.
const WAL_LIMIT: u32 = 8 * 1024 * 1024;

/// Metadata key: `1` while the file is closed in good order.
const CLEAN: &str = "clean_shutdown";

/// An open database.
pub(super) struct Database {
    pub(super) writer: Connection,
    /// Empty for a database in memory: its one connection does both.
    pub(super) readers: Vec<Connection>,
    pub(super) lock: Option<FolderLock>,
    pub(super) set_aside: Option<PathBuf>,
    pub(super) degraded: Option<String>,
    /// With [`Self::degraded`]: the file that it replaces.
    pub(super) fallback: Option<Fallback>,
}

/// An opened file.
pub(super) struct OpenedFile {
    /// The one for writing and those for reading.
    pub(super) connections: (Connection, Vec<Connection>),
    /// The file was corrupt and is now here; a new one was begun.
    pub(super) set_aside: Option<PathBuf>,
}

/// Opens what `options` name, or the next best.
pub(super) fn open(options: &StoreOptions) -> Result<Database, StoreError> {
    let path = match &options.location {
        Location::Memory => return memory(options, None),
        Location::File(path) => path,
    };
    let lock = match lock_folder(path) {
        Ok(lock) => lock,
        Err(error @ StoreError::OtherDaemon(_)) => return Err(error),
        Err(error) => return degrade(options, path, None, &error),
    };
    match open_or_set_aside(options, path) {
        Ok(OpenedFile {
            connections: (writer, readers),
            set_aside,
        }) => Ok(Database {
            writer,
            readers,
            lock: Some(lock),
            set_aside,
            degraded: None,
            fallback: None,
        }),
        Err(error @ (StoreError::Newer { .. } | StoreError::Locked(_))) => Err(error),
        Err(error) => degrade(options, path, Some(lock), &error),
    }
}

/// Opens a file; one that is corrupt is set aside, and a new one begun.
pub(super) fn open_or_set_aside(
    options: &StoreOptions,
    path: &Path,
) -> Result<OpenedFile, StoreError> {
    match open_file(options, path) {
        Err(StoreError::Corrupt(damage)) => {
            let aside = move_away(path, "corrupt")?;
            tracing::error!(file = %path.display(), set_aside = %aside.display(), damage,
                "the database is corrupt: it was set aside, and a new one begun");
            Ok(OpenedFile {
                connections: open_file(options, path)?,
                set_aside: Some(aside),
            })
        }
        opened => Ok(OpenedFile {
            connections: opened?,
            set_aside: None,
        }),
    }
}

/// Locks the folder of a file for this process, creating it if it is missing.
pub(super) fn lock_folder(path: &Path) -> Result<FolderLock, StoreError> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    FolderLock::acquire(folder)
}

/// A store in memory instead of the file, with the file's rows where they can be read.
fn degrade(
    options: &StoreOptions,
    path: &Path,
    lock: Option<FolderLock>,
    error: &StoreError,
) -> Result<Database, StoreError> {
    let text = format!(
        "cannot write {}: {error}; events and states are in memory, and lost when gpud ends, until the file can be \
         written: free space or make it writable",
        path.display()
    );
    tracing::error!("{text}");
    let database = memory(options, Some(text))?;
    let corrupt = matches!(error, StoreError::Corrupt(_));
    let fallback = Fallback {
        path: path.to_owned(),
        reason: error.to_string(),
        since: Clock::Live.now_ms(),
        locked: lock.is_some(),
        carried_over: !corrupt && carry_over::copy_rows(&database.writer, path),
    };
    Ok(Database {
        lock,
        fallback: Some(fallback),
        ..database
    })
}

/// As for a file that cannot be written.
#[cfg(test)]
pub(super) fn fall_back(options: &StoreOptions, path: &Path) -> Result<Database, StoreError> {
    degrade(
        options,
        path,
        None,
        &StoreError::ReadOnly("test".to_owned()),
    )
}

fn memory(options: &StoreOptions, degraded: Option<String>) -> Result<Database, StoreError> {
    let writer = Connection::open_in_memory()?;
    keep_plans(&writer)?;
    limit_size(&writer, options.max_bytes.unwrap_or(MEMORY_LIMIT))?;
    schema::migrate(&writer)?;
    Ok(Database {
        writer,
        readers: Vec::new(),
        lock: None,
        set_aside: None,
        degraded,
        fallback: None,
    })
}

fn open_file(
    options: &StoreOptions,
    path: &Path,
) -> Result<(Connection, Vec<Connection>), StoreError> {
    check_kinds(path)?;
    migration_backup::restore_if_asked(path)?;
    make_private(path);
    let writer = connect(path)?;
    if writer.is_readonly("main")? {
        return Err(StoreError::ReadOnly(path.display().to_string()));
    }
    limit_size(&writer, options.max_bytes.unwrap_or(FILE_LIMIT))?;
    if needs_check(&writer, path)? {
        quick_check(&writer)?;
    }
    migration_backup::retain(&writer, path)?;
    schema::migrate(&writer)?;
    // Also a first write: a full disk shows now, and not with the first event.
    mark_clean(&writer, false)?;
    let readers = (0..reader::READERS)
        .map(|_| connect_read_only(path))
        .collect::<Result<_, _>>()?;
    Ok((writer, readers))
}

/// Opens `path` for reading and writing with the settings of a writer; a later gpud's file is refused untouched.
pub(super) fn connect(path: &Path) -> Result<Connection, StoreError> {
    check_kinds(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(BUSY_TIMEOUT)?;
    schema::refuse_newer(&conn, path)?;
    // auto_vacuum only takes before the first table; later the pragma would write to a file not yet checked.
    let pages: i64 = conn.query_row("PRAGMA page_count", [], |row| row.get(0))?;
    if pages == 0 {
        conn.execute_batch("PRAGMA auto_vacuum = INCREMENTAL")?;
    }
    conn.execute_batch(&format!(
        "PRAGMA journal_mode = WAL;
         PRAGMA synchronous = NORMAL;
         PRAGMA cache_size = -2048;
         PRAGMA mmap_size = 0;
         PRAGMA wal_autocheckpoint = 4000;
         PRAGMA journal_size_limit = {WAL_LIMIT};"
    ))?;
    keep_plans(&conn)?;
    forbid_code(&conn)?;
    conn.set_prepared_statement_cache_capacity(32);
    Ok(conn)
}

/// Without it, SQLite parses a cached statement again whenever other values are bound to it, in case it would look for
/// rows in another way with these: by a limit, for example.
fn keep_plans(conn: &Connection) -> Result<(), StoreError> {
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

fn connect_read_only(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(BUSY_TIMEOUT)?;
    conn.execute_batch("PRAGMA query_only = ON; PRAGMA cache_size = -2048; PRAGMA mmap_size = 0;")?;
    keep_plans(&conn)?;
    forbid_code(&conn)?;
    Ok(conn)
}

/// A file that somebody else has made may bring statements of its own, which would run for ever or remove what was inserted. gpud
/// has none.
fn forbid_code(conn: &Connection) -> Result<(), StoreError> {
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    Ok(())
}

fn limit_size(conn: &Connection, bytes: u64) -> Result<(), StoreError> {
    let page_size = conn.query_row("PRAGMA page_size", [], |row| unsigned(row, 0))?;
    let pages = bytes.checked_div(page_size).unwrap_or(0).max(1);
    // Answers with the limit in force, which is never below the present size.
    conn.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))?;
    Ok(())
}

/// A small file is always checked; a large one only after a crash, because a clean end leaves nothing half-written.
fn needs_check(conn: &Connection, path: &Path) -> Result<bool, StoreError> {
    if fs::metadata(path)?.len() < ALWAYS_CHECK_BELOW || schema::version(conn)? == 0 {
        return Ok(true);
    }
    Ok(meta::get(conn, CLEAN)?.as_deref() != Some("1"))
}

fn quick_check(conn: &Connection) -> Result<(), StoreError> {
    let interrupt = conn.get_interrupt_handle();
    let (done, ended) = mpsc::channel::<()>();
    let alarm = std::thread::Builder::new()
        .name("gpud-check".to_owned())
        .spawn(move || {
            if ended.recv_timeout(CHECK_LIMIT) == Err(mpsc::RecvTimeoutError::Timeout) {
                interrupt.interrupt();
            }
        })?;
    let verdict = conn.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
    drop(done);
    // Joined so that a late alarm cannot interrupt the next statement.
    let _ = alarm.join();
    match verdict {
        Ok(text) if text == "ok" => Ok(()),
        Ok(text) => Err(StoreError::Corrupt(text)),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => {
            tracing::warn!("the database is too large to be checked at start; used unchecked");
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// Notes in the file whether it was closed in good order.
pub(super) fn mark_clean(conn: &Connection, clean: bool) -> Result<(), StoreError> {
    meta::set(conn, CLEAN, if clean { "1" } else { "0" })
}
