//! The delivered position of a spool: a small file that is replaced as a whole.

use std::{
    fs,
    io::{self, Read as _, Write as _},
    path::Path,
};

use crate::own_files::{check_own, open_options};

/// Name of the file.
pub const FILE: &str = "delivered";
const TEMPORARY: &str = "delivered.new";
/// Longer than any position.
const MAX_BYTES: u64 = 64;

/// A place in a spool: everything before it is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Position {
    /// Number of the file.
    pub segment: u64,
    /// Bytes into it.
    pub offset: u64,
}

/// Reads the position. `None` where there is none, or it makes no sense: then everything is delivered once more.
pub fn read(folder: &Path) -> Option<Position> {
    let path = folder.join(FILE);
    check_own(&path).ok()?;
    let file = open_options().read(true).open(path).ok()?;
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    let (segment, offset) = text.strip_suffix('\n')?.split_once(' ')?;
    Some(Position {
        segment: segment.parse().ok()?,
        offset: offset.parse().ok()?,
    })
}

/// Replaces the position. It is not forced to the disk: an old one only means repeats.
///
/// # Errors
/// The system's.
pub fn write(folder: &Path, position: Position) -> io::Result<()> {
    let temporary = folder.join(TEMPORARY);
    let mut file = super::segment::create(&temporary, true)?;
    writeln!(file, "{} {}", position.segment, position.offset)?;
    drop(file);
    fs::rename(&temporary, folder.join(FILE))
}
