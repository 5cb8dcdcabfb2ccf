//! Records on disk until they are delivered: a folder of bounded files to which lines are appended.
//!
//! Records that [`Spool::append`] took are on the disk, and survive `kill -9` and a loss of power. [`Spool::acknowledge`]
//! notes deliveries, but does not force that to the disk: after a crash some records are delivered once more, with the same ids. A
//! write that was cut off is removed at the next start. A damaged file is set aside, its good records stay.
//!
//! When the spool is full its oldest file is removed, and the records in it are counted. All of this blocks.

mod line;
mod position;
mod segment;
#[cfg(test)]
mod tests;

use std::{
    collections::VecDeque,
    fs::{self, File},
    io::{self, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    Record,
    own_files::{check_folder, make_folder, open_options},
};
pub use position::Position;
use segment::Segment;

/// How many files a full spool has: its oldest one is removed at once.
const FILES: u64 = 8;
/// Least size of a spool, bytes.
pub const LEAST_BYTES: u64 = 64 << 10;

/// Why the spool cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the spool {} cannot be {what}: {source}", folder.display())]
pub struct SpoolError {
    folder: PathBuf,
    what: &'static str,
    source: io::Error,
}

/// Makes or empties a file that only gpud's user can read.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    segment::create(path, true)
}

/// A spool.
#[derive(Debug)]
pub struct Spool {
    folder: PathBuf,
    max_bytes: u64,
    /// Oldest first; the last one is written to while there is a writer.
    segments: VecDeque<Segment>,
    /// Where the first record that is not delivered begins.
    delivered: Position,
    writer: Option<File>,
    next_number: u64,
    /// How many records are being delivered, the oldest ones.
    in_flight: u64,
    /// How many of those were in files that were removed in the meantime.
    in_flight_removed: u64,
}

/// Records to be delivered, and the place behind them.
#[derive(Debug, Default)]
pub struct SpoolBatch {
    /// The records.
    pub records: Vec<Record>,
    /// Lines between them that turned out to be damaged; they are lost.
    pub damaged: u64,
    /// The place behind all of it.
    pub end: Position,
}

impl Spool {
    /// Opens the spool in a folder, which is made if it is missing. Returns messages about damage that was found.
    ///
    /// # Errors
    /// [`SpoolError`].
    pub fn open(folder: &Path, max_bytes: u64) -> Result<(Self, Vec<String>), SpoolError> {
        let wrong = |source| SpoolError {
            folder: folder.to_owned(),
            what: "opened",
            source,
        };
        // The folder of all spools, which is made with the first of them.
        match folder.parent().map(check_folder) {
            Some(Err(error)) if error.kind() != io::ErrorKind::NotFound => {
                return Err(wrong(error));
            }
            _ => make_folder(folder).map_err(wrong)?,
        }

        let noted = position::read(folder).unwrap_or_default();
        let numbers = segment::list(folder).map_err(wrong)?;
        let highest = numbers.last().copied().unwrap_or(0);
        let mut segments: VecDeque<Segment> = VecDeque::new();
        let mut first = None;
        let mut problems = Vec::new();
        for number in numbers {
            if number < noted.segment {
                // It was delivered; the process ended before it was removed.
                fs::remove_file(segment::path(folder, number)).map_err(wrong)?;
                continue;
            }
            let from = if number == noted.segment {
                noted.offset
            } else {
                0
            };
            let opened = segment::open(folder, number, from).map_err(wrong)?;
            if segments.is_empty() && opened.segment.is_some() {
                first = Some(opened.start);
            }
            segments.extend(opened.segment);
            problems.extend(opened.problem);
        }
        let next_number = highest.max(noted.segment) + 1;
        let delivered = Position {
            segment: segments.front().map_or(next_number, |first| first.number),
            offset: first.unwrap_or(0),
        };
        let spool = Self {
            folder: folder.to_owned(),
            max_bytes: max_bytes.max(LEAST_BYTES),
            segments,
            delivered,
            writer: None,
            next_number,
            in_flight: 0,
            in_flight_removed: 0,
        };
        Ok((spool, problems))
    }

    /// Returns how many records wait.
    pub fn waiting(&self) -> u64 {
        self.segments.iter().map(|segment| segment.waiting).sum()
    }

    /// Returns how many bytes its files have.
    pub fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.bytes).sum()
    }

    /// Appends records, and forces them to the disk. Returns how many old records were dropped to make room, and how many
    /// of these were too long.
    ///
    /// # Errors
    /// [`SpoolError`]; then none of them is in the spool.
    pub fn append(&mut self, records: &[Arc<Record>]) -> Result<u64, SpoolError> {
        let encoded = records.iter().filter_map(|record| line::encode(record));
        let encoded: Vec<Vec<u8>> = encoded.collect();
        let too_long = (records.len() - encoded.len()) as u64;
        let lines = encoded.concat();
        if lines.is_empty() {
            return Ok(too_long);
        }
        let dropped = self
            .write(&lines, encoded.len() as u64)
            .map_err(|source| SpoolError {
                folder: self.folder.clone(),
                what: "written",
                source,
            })?;
        Ok(dropped + too_long)
    }

    fn write(&mut self, lines: &[u8], count: u64) -> io::Result<u64> {
        let file_size = self.max_bytes / FILES;
        let is_full = self
            .segments
            .back()
            .is_some_and(|last| last.bytes >= file_size);
        if self.writer.is_none() || is_full {
            self.begin_segment()?;
        }
        let mut dropped = 0;
        while self.bytes() + lines.len() as u64 > self.max_bytes && self.segments.len() > 1 {
            dropped += self.remove_oldest()?;
        }
        let (Some(writer), Some(last)) = (&mut self.writer, self.segments.back_mut()) else {
            return Err(io::Error::other("there is no file to write to"));
        };
        let written = writer.write_all(lines).and_then(|()| writer.sync_data());
        if let Err(error) = written {
            // Half a line must not stand before the next one.
            let cut = writer.set_len(last.bytes);
            let back = writer.seek(SeekFrom::Start(last.bytes));
            if cut.is_err() || back.is_err() {
                self.writer = None;
            }
            return Err(error);
        }
        last.bytes += lines.len() as u64;
        last.waiting += count;
        Ok(dropped)
    }

    fn begin_segment(&mut self) -> io::Result<()> {
        // One that nothing could be written into is not needed.
        if self.segments.back().is_some_and(|last| last.bytes == 0) {
            self.segments.pop_back();
        }
        let number = self.next_number;
        self.writer = Some(segment::create(&segment::path(&self.folder, number), true)?);
        // So that the file's name survives a loss of power, too.
        open_options().read(true).open(&self.folder)?.sync_all()?;
        self.next_number += 1;
        if self.segments.is_empty() {
            self.delivered = Position {
                segment: number,
                offset: 0,
            };
        }
        self.segments.push_back(Segment {
            number,
            bytes: 0,
            waiting: 0,
        });
        Ok(())
    }

    /// Removes the oldest file. Returns how many records are lost by it, those being delivered left out.
    fn remove_oldest(&mut self) -> io::Result<u64> {
        let Some(oldest) = self.segments.front().copied() else {
            return Ok(0);
        };
        fs::remove_file(segment::path(&self.folder, oldest.number))?;
        self.segments.pop_front();
        if let Some(next) = self.segments.front() {
            self.delivered = Position {
                segment: next.number,
                offset: 0,
            };
        }
        let in_flight = oldest.waiting.min(self.in_flight);
        self.in_flight -= in_flight;
        self.in_flight_removed += in_flight;
        Ok(oldest.waiting - in_flight)
    }

    /// Gives the oldest records, at most `max`. They stay until [`Self::acknowledge`] or [`Self::release`].
    ///
    /// # Errors
    /// [`SpoolError`].
    pub fn read(&mut self, max: usize) -> Result<SpoolBatch, SpoolError> {
        let mut batch = SpoolBatch::default();
        let mut at = self.delivered;
        for segment in &self.segments {
            let room = max.saturating_sub(batch.records.len());
            if room == 0 {
                break;
            }
            if segment.number != at.segment {
                at = Position {
                    segment: segment.number,
                    offset: 0,
                };
            }
            let lines = segment::read(&self.folder, segment, at.offset, room);
            let lines = lines.map_err(|source| SpoolError {
                folder: self.folder.clone(),
                what: "read",
                source,
            })?;
            let reads_any = !lines.is_empty();
            for (record, end) in lines {
                at.offset = end;
                match record {
                    Some(record) => batch.records.push(record),
                    None => batch.damaged += 1,
                }
            }
            // The rest of this file comes before the next one.
            if reads_any && at.offset < segment.bytes {
                break;
            }
        }
        batch.end = at;
        self.in_flight = batch.records.len() as u64;
        Ok(batch)
    }

    /// Notes that everything before `end` is delivered: `records` of those that [`Self::read`] returned. Removes files
    /// without waiting records.
    ///
    /// # Errors
    /// [`SpoolError`]; the records may be delivered once more after a restart.
    pub fn acknowledge(&mut self, end: Position, records: u64) -> Result<(), SpoolError> {
        let gone = self.in_flight_removed.min(records);
        self.in_flight = 0;
        self.in_flight_removed = 0;
        let mut left = records - gone;
        let mut emptied = Vec::new();
        for segment in &mut self.segments {
            let taken = segment.waiting.min(left);
            // A damaged line counts as waiting; it is removed with the lines before it.
            segment.waiting = match segment.number.cmp(&end.segment) {
                std::cmp::Ordering::Less => 0,
                std::cmp::Ordering::Equal if end.offset >= segment.bytes => 0,
                _ => segment.waiting - taken,
            };
            left -= taken;
            if segment.waiting == 0 {
                emptied.push(segment.number);
            }
        }
        self.delivered = self.delivered.max(end);
        let written_to = self.segments.back().map(|last| last.number);
        self.segments.retain(|segment| segment.waiting > 0);
        if self.segments.back().map(|last| last.number) != written_to {
            self.writer = None;
        }
        match self.segments.front() {
            Some(first) if first.number > self.delivered.segment => {
                self.delivered = Position {
                    segment: first.number,
                    offset: 0,
                };
            }
            Some(_) => {}
            None => {
                self.delivered = Position {
                    segment: self.next_number,
                    offset: 0,
                };
            }
        }
        // First, so that a full disk has room for the position. Without a file its position means nothing.
        let removed = emptied.into_iter().map(|number| {
            match fs::remove_file(segment::path(&self.folder, number)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            }
        });
        let removed: io::Result<()> = removed.collect();
        let noted = position::write(&self.folder, self.delivered);
        let all = removed.and(noted);
        all.map_err(|source| SpoolError {
            folder: self.folder.clone(),
            what: "cleared",
            source,
        })
    }

    /// Notes that the records that [`Self::read`] returned were not delivered. Returns how many of those records are lost, because their
    /// file was removed in the meantime.
    pub fn release(&mut self) -> u64 {
        self.in_flight = 0;
        std::mem::take(&mut self.in_flight_removed)
    }
}
