//! Rewriting a state file without its free pages, while no daemon uses it.

use std::path::Path;

use rusqlite::Connection;

use super::lock::FolderLock;
use super::{StoreError, open, unsigned};

/// Sizes around a compaction, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compacted {
    /// Before.
    pub before: u64,
    /// After.
    pub after: u64,
}

/// Compacts the state file at `path`, GPUd's tables in it included. Blocks; needs about the file's size in free space.
///
/// # Errors
/// [`StoreError::OtherDaemon`] while a daemon has the folder; `Io` if there is no such file; `Newer`, `Corrupt`,
/// `ReadOnly`, `DiskFull` as the file is.
pub fn compact(path: &Path) -> Result<Compacted, StoreError> {
    // SQLite would create a missing file.
    std::fs::metadata(path)?;
    let _lock = FolderLock::acquire(path.parent().unwrap_or(Path::new(".")))?;
    let conn = open::connect(path)?;
    let before = size(&conn)?;
    // A file that GPUd made has no auto_vacuum; a rewrite is when that can change.
    conn.execute_batch("PRAGMA auto_vacuum = INCREMENTAL; VACUUM")?;
    let after = size(&conn)?;
    // Closing the last connection writes the log back into the file.
    conn.close().map_err(|(_, error)| error)?;
    Ok(Compacted { before, after })
}

/// Size of the database without its log, in bytes.
pub(super) fn size(conn: &Connection) -> Result<u64, StoreError> {
    Ok(conn.query_row(
        "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
        [],
        |row| unsigned(row, 0),
    )?)
}
