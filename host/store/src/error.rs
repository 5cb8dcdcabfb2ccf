//! Why the store could not do what was asked, in the cases that a caller may treat differently.

use std::path::PathBuf;

use rusqlite::ErrorCode;

/// A failure of the store.
///
/// Texts carry what SQLite or the system said. The variants up to [`StoreError::Io`] are conditions of the machine
/// (also seen in [`super::Store::health`]); the others concern one call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The database file, its folder or its file system cannot be written.
    #[error("database is read-only: {0}")]
    ReadOnly(String),
    /// No space left on the device, or the store's own size limit is reached. Later writes work once there is space.
    #[error("no space left for the database: {0}")]
    DiskFull(String),
    /// The file is no database, or its content contradicts itself.
    #[error("database is corrupt: {0}")]
    Corrupt(String),
    /// The device or file system failed.
    #[error("database input/output failed: {0}")]
    Io(String),
    /// Another process held the database for longer than the busy time-out (5 s).
    #[error("database is locked by another process: {0}")]
    Locked(String),
    /// The database does not answer within [`super::StoreOptions::patience`].
    #[error("database does not answer: its disk or file system hangs")]
    Hangs,
    /// A read took longer than [`super::StoreOptions::patience`] and was ended, or so long that others waited for it in vain. The disk
    /// is not to blame.
    #[error("a read of the database took too long: ask for less, or again later")]
    Slow,
    /// Another gpud holds the data folder.
    #[error("another gpud is using the data folder {}: stop it, or choose another --data-dir", .0.display())]
    OtherDaemon(PathBuf),
    /// The file was written by a later gpud. It is left as it is.
    #[error(
        "database {} has schema version {found}, this gpud knows versions up to {known}: \
         run the newer gpud, or move the file away",
        path.display()
    )]
    Newer {
        /// The database file.
        path: PathBuf,
        /// Its `PRAGMA user_version`.
        found: i64,
        /// The latest version that this build knows.
        known: i64,
    },
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
    /// A value or a quota is over its limit; nothing of the call was stored.
    #[error("{what} is too large: {size}, the limit is {limit}")]
    TooLarge {
        /// The name of the value that is too large.
        what: String,
        /// Its size, in the unit that `what` names.
        size: usize,
        /// The limit, in the same unit.
        limit: usize,
    },
    /// Any other failure of SQLite.
    #[error("database query failed: {0}")]
    Sql(String),
}

impl StoreError {
    /// True for conditions of the machine that outlast one call: the call is not to blame, and the same one works once the
    /// condition is over.
    pub fn is_outage(&self) -> bool {
        matches!(
            self,
            Self::ReadOnly(_)
                | Self::DiskFull(_)
                | Self::Corrupt(_)
                | Self::Io(_)
                | Self::Locked(_)
                | Self::Hangs
        )
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        /// `SQLITE_IOERR_CORRUPTFS`: the file system found its own damage.
        const IOERR_CORRUPTFS: i32 = 10 | (33 << 8);
        let text = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Self::ReadOnly(text),
            Some(ErrorCode::OperationInterrupted) => Self::Slow,
            Some(ErrorCode::DiskFull) => Self::DiskFull(text),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked(text),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Corrupt(text),
            Some(ErrorCode::SystemIoFailure)
                if error.sqlite_extended_error_code() == Some(IOERR_CORRUPTFS) =>
            {
                Self::Corrupt(text)
            }
            Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) => Self::Io(text),
            _ => Self::Sql(text),
        }
    }
}

impl From<std::io::Error> for StoreError {
    fn from(error: std::io::Error) -> Self {
        use std::io::ErrorKind;
        let text = error.to_string();
        match error.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Self::ReadOnly(text),
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Self::DiskFull(text),
            _ => Self::Io(text),
        }
    }
}
