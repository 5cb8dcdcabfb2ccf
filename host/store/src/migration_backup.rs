//! A copy of the database from before a migration, for a downgrade.
//!
//! An earlier gpud cannot read a file that a later one has migrated. The later one leaves a copy beside it. `gpud
//! update`, `install.sh` or an operator puts the earlier program back, and asks for the copy with an empty file.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, fchown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::database_files::{make_private, move_away, with_suffix};
use super::{DAY, StoreError, schema};

/// For how long a copy stays: until the first start after that.
const RETAINED: Duration = DAY.saturating_mul(7);
/// End of the name of the file that asks for the copy.
const WANTED: &str = ".restore";

/// Asks the next gpud that opens this file to take the copy from before, if it cannot read the file itself.
///
/// # Errors
/// The folder is missing or cannot be written.
pub fn ask_for_copy(path: &Path) -> io::Result<()> {
    let folder = fs::metadata(path.parent().unwrap_or(Path::new(".")))?;
    let mut options = OpenOptions::new();
    // The folder may be another user's, who could have put a link in this place: nothing that is there is opened.
    let made = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(with_suffix(path, WANTED));
    match made {
        Ok(file) => fchown(&file, Some(folder.uid()), Some(folder.gid())),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Copies the file before its tables are changed, and removes copies that are old. Without space for a copy there is no way
/// back, which is no reason not to start.
pub(super) fn retain(conn: &Connection, path: &Path) -> Result<(), StoreError> {
    let version = schema::version(conn)?;
    remove_old(path);
    // 0 is a new file, or one of GPUd's, whose tables stay as they are.
    if version == 0 || version >= schema::current_version() {
        return Ok(());
    }
    let copy = copy_of(path, version);
    match write_copy(conn, path, &copy) {
        Ok(()) => tracing::info!(
            copy = %copy.display(),
            "the tables of the state file are changed; a copy from before stays for a week"
        ),
        Err(error) => tracing::warn!(
            "the tables of the state file are changed, and there is no copy from before: {}: {error}",
            copy.display()
        ),
    }
    Ok(())
}

fn write_copy(conn: &Connection, path: &Path, copy: &Path) -> Result<(), StoreError> {
    let unfinished = with_suffix(path, ".copying");
    let name = unfinished.to_str();
    let name = name.ok_or_else(|| StoreError::Io("its path is no text".to_owned()))?;
    let _ = fs::remove_file(&unfinished);
    make_private(&unfinished);
    let written = conn
        .execute("VACUUM INTO ?1", [name])
        .map_err(StoreError::from)
        .and_then(|_| {
            OpenOptions::new()
                .write(true)
                .open(&unfinished)?
                .sync_all()?;
            fs::rename(&unfinished, copy)?;
            Ok(())
        });
    if written.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    written
}

/// Puts the latest copy that this gpud can read in the place of a file that it cannot, if [`ask_for_copy`] was called. The file is
/// set aside. To be called with the folder locked.
///
/// # Errors
/// A file cannot be renamed.
pub(super) fn restore_if_asked(path: &Path) -> Result<(), StoreError> {
    let wanted = with_suffix(path, WANTED);
    if !wanted.exists() {
        return Ok(());
    }
    let known = schema::current_version();
    // Missing, if an earlier attempt ended between the two renames below.
    let is_unreadable = match version_of(path) {
        Some(found) => found > known,
        None => !path.exists(),
    };
    let mut copies = (1..=known).rev().map(|version| copy_of(path, version));
    if let Some(copy) = copies.find(|copy| is_unreadable && copy.exists()) {
        if path.exists() {
            let aside = move_away(path, "later")?;
            tracing::warn!(set_aside = %aside.display(), "a later gpud has changed the tables of the state file");
        }
        // A log of the other file would be read into this one.
        for suffix in ["-wal", "-shm"] {
            let _ = fs::remove_file(with_suffix(path, suffix));
        }
        fs::rename(&copy, path)?;
        tracing::warn!("the state file is the copy from before that change");
    }
    fs::remove_file(&wanted)?;
    Ok(())
}

/// The version of a file that is there.
fn version_of(path: &Path) -> Option<i64> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags).ok()?;
    schema::version(&conn).ok()
}

fn copy_of(path: &Path, version: i64) -> PathBuf {
    with_suffix(path, &format!(".schema-{version}"))
}

fn remove_old(path: &Path) {
    for version in 1..schema::current_version() {
        let copy = copy_of(path, version);
        let age = fs::metadata(&copy).and_then(|copy| copy.modified());
        let age = age.ok().and_then(|time| time.elapsed().ok());
        if age.is_some_and(|age| age > RETAINED) {
            let _ = fs::remove_file(&copy);
        }
    }
}
