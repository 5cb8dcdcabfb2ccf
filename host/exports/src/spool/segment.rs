//! The files of a spool.

use std::{
    fs::{self, File},
    io::{self, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
};

use super::line::{self, MAX_LINE};
use crate::{
    Record,
    own_files::{check_own, open_options},
};

/// The end of the names of files.
const SUFFIX: &str = ".spool";
/// The extension of damaged files.
const DAMAGED: &str = "damaged";
/// Most bytes that are read for one batch, besides one line that is longer.
const MAX_READ: u64 = 1 << 20;

/// One file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Its number; a later file has a higher one.
    pub number: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// Records in it that are not delivered.
    pub waiting: u64,
}

/// A segment's file after it was opened and checked.
#[derive(Debug)]
pub struct OpenedSegment {
    /// The segment; `None` if nothing is left in the file.
    pub segment: Option<Segment>,
    /// Where its first record that is not delivered begins.
    pub start: u64,
    /// The problem with it, for the log.
    pub problem: Option<String>,
}

/// Returns the path of a file.
pub fn path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:016}{SUFFIX}"))
}

/// Makes a file that only gpud's user can read. With `replace` one that is there is emptied.
pub fn create(path: &Path, replace: bool) -> io::Result<File> {
    check_own(path)?;
    open_options()
        .write(true)
        .create(true)
        .truncate(replace)
        .open(path)
}

/// Lists the numbers of the files, ascending.
pub fn list(folder: &Path) -> io::Result<Vec<u64>> {
    #[expect(clippy::disallowed_methods, reason = "gpud's own folder")]
    let entries = fs::read_dir(folder)?;
    let mut numbers = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_suffix(SUFFIX));
        numbers.extend(number.and_then(|number| number.parse::<u64>().ok()));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// Looks at a file that an earlier run left. Its delivered part ends at `from`. A torn end is cut off. A file with lines
/// that are no records is set aside, and its good lines are put into a new one of the same number.
pub fn open(folder: &Path, number: u64, from: u64) -> io::Result<OpenedSegment> {
    let path = path(folder, number);
    check_own(&path)?;
    let mut bytes = Vec::new();
    open_options()
        .read(true)
        .open(&path)?
        .read_to_end(&mut bytes)?;
    let found = line::scan(&bytes);
    // A position that is not between two lines is not to be trusted.
    let is_boundary = from == 0 || found.good.iter().any(|line| line.1 == from);
    let from = if is_boundary { from } else { 0 };
    let waiting = found.good.iter().filter(|line| line.0 >= from);
    let waiting = waiting.count() as u64;
    let whole = bytes.len() as u64 - found.torn;
    let (mut problem, mut start) = (None, from);
    let mut segment = Segment {
        number,
        bytes: whole,
        waiting,
    };
    if found.bad > 0 {
        remove_damaged(folder)?;
        let aside = path.with_extension(DAMAGED);
        fs::rename(&path, &aside)?;
        let rest = found.good.iter().filter(|line| line.0 >= from);
        let rest: Vec<u8> = rest
            .flat_map(|(start, end)| part(&bytes, *start, *end))
            .copied()
            .collect();
        io::Write::write_all(&mut create(&path, true)?, &rest)?;
        segment.bytes = rest.len() as u64;
        start = 0;
        problem = Some(format!(
            "a file of the spool is damaged: {} bytes in it are no records; it is set aside as {} and its {waiting} \
             good records that were not delivered stay",
            found.bad,
            aside.display()
        ));
    } else if found.torn > 0 {
        create(&path, false)?.set_len(whole)?;
        problem = Some(format!(
            "the last write of {} was cut off: {} bytes of it are removed",
            path.display(),
            found.torn
        ));
    }
    if segment.waiting == 0 {
        fs::remove_file(&path)?;
    }
    Ok(OpenedSegment {
        segment: (segment.waiting > 0).then_some(segment),
        start,
        problem,
    })
}

/// Removes files that were set aside earlier, so that only the last one takes room.
fn remove_damaged(folder: &Path) -> io::Result<()> {
    #[expect(clippy::disallowed_methods, reason = "gpud's own folder")]
    let entries = fs::read_dir(folder)?;
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == DAMAGED) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

fn part(bytes: &[u8], start: u64, end: u64) -> &[u8] {
    let index = |at| usize::try_from(at).unwrap_or(usize::MAX);
    bytes.get(index(start)..index(end)).unwrap_or_default()
}

/// Records and where each of them ends in the file.
pub type Lines = Vec<(Option<Record>, u64)>;

/// Reads at most `max` lines from `offset`. A line that is no record has `None`: the disk changed it since it was written.
pub fn read(folder: &Path, segment: &Segment, offset: u64, max: usize) -> io::Result<Lines> {
    let path = path(folder, segment.number);
    check_own(&path)?;
    let mut file = open_options().read(true).open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    let size = segment.bytes.saturating_sub(offset);
    let mut bytes = Vec::new();
    let once = size.min(MAX_READ.max(MAX_LINE as u64));
    file.take(once).read_to_end(&mut bytes)?;
    let mut lines = Vec::new();
    let mut at = offset;
    for line in bytes.split_inclusive(|byte| *byte == b'\n').take(max) {
        let Some(text) = line.strip_suffix(b"\n") else {
            break;
        };
        at += line.len() as u64;
        lines.push((line::decode(text), at));
    }
    Ok(lines)
}
