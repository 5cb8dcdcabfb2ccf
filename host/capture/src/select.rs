//! Reads a log of any size in bounded memory: only the messages that a caller selects are retained, and repeats are
//! counted. The log of a host with too many selected messages is read a second time.

use std::io::Read;

use jiff::tz::TimeZone;

use super::{
    boots::NO_BOOT,
    dedup::{DedupedMessages, Row},
    error::CaptureError,
    file::{self, Counts},
    file_tracker::{FileTracker, Logs},
    hosts::{HostId, NO_HOST},
    overview::Overview,
    reader::Entry,
    source,
    stamp::Stamp,
};
use crate::{model::UnixMillis, node::kmsg::KernelMessage};

/// The most bytes of selected messages of all hosts together.
const BUDGET: usize = 16 << 20;
/// Messages that are handed on together when a log is read once more.
const CHUNK: usize = 4096;

/// The decision to retain a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection<T> {
    /// The caller's own data about it.
    pub tag: T,
    /// Messages of the same number say the same, other numbers and addresses aside.
    pub shape: u64,
    /// So many messages of one shape and boot come one by one, and more are counted.
    pub singles: u32,
}

/// A message that was selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selected<T> {
    /// The message, dated.
    pub message: KernelMessage,
    /// As in [`Selection`].
    pub tag: T,
    /// How many messages of its shape it represents, itself included.
    pub count: u64,
}

/// Decides which messages are retained.
pub trait Select {
    /// The caller's own data about a message.
    type Tag;
    /// Looks at a message; `None` if it is of no interest.
    fn select(&mut self, message: &KernelMessage) -> Option<Selection<Self::Tag>>;
}

/// The selected messages of a log, by host.
#[derive(Debug)]
pub struct SelectedMessages<T> {
    /// The content of the file.
    pub overview: Overview,
    now: UnixMillis,
    zone: TimeZone,
    logs: Logs,
    /// The messages of each log; `None`: too many, see [`Self::read_again`].
    selected: Vec<Option<Vec<Row<T>>>>,
}

/// Reads a log and retains the messages that `select` selects. `now` and `zone` are those of [`super::read()`].
///
/// # Errors
/// As [`super::read()`]; and the stream's.
pub fn read_selected<S: Select>(
    stream: impl Read,
    now: UnixMillis,
    zone: &TimeZone,
    select: &mut S,
) -> Result<SelectedMessages<S::Tag>, CaptureError> {
    read_selected_within(BUDGET, stream, now, zone, select)
}

/// [`read_selected()`] with a bound of its own.
pub(super) fn read_selected_within<S: Select>(
    budget: usize,
    stream: impl Read,
    now: UnixMillis,
    zone: &TimeZone,
    select: &mut S,
) -> Result<SelectedMessages<S::Tag>, CaptureError> {
    let mut tracker = FileTracker::default();
    let mut buffers = Buffers::new(budget);
    let counts = file::read(source::open(stream)?, now, zone, |entry| {
        let place = tracker.take(&entry);
        if let Some(selection) = select.select(&entry.message) {
            buffers.push(place.host(), |rows| {
                rows.push(place, entry.message, selection);
            });
        }
        Ok(())
    })?;
    let logs = tracker.finish(now, &counts.hosts);
    let selected = buffers.of_logs(&logs);
    Ok(SelectedMessages {
        overview: Overview::new(counts, &logs),
        now,
        zone: zone.clone(),
        logs,
        selected,
    })
}

impl<T> SelectedMessages<T> {
    /// A log of one message, which is dated already.
    pub fn of_message(message: KernelMessage, select: &mut impl Select<Tag = T>) -> Self {
        let now = message.time;
        let mut tracker = FileTracker::default();
        let entry = Entry {
            order: 0,
            host: NO_HOST,
            stamp: Stamp::Wall(now),
            micros: None,
            boot: NO_BOOT,
            announced: NO_BOOT,
            message,
        };
        let place = tracker.take(&entry);
        let mut rows = DedupedMessages::default();
        if let Some(selection) = select.select(&entry.message) {
            rows.push(place, entry.message, selection);
        }
        let counts = Counts::default();
        let logs = tracker.finish(now, &counts.hosts);
        Self {
            overview: Overview::new(counts, &logs),
            now,
            zone: TimeZone::UTC,
            logs,
            selected: vec![Some(rows.take())],
        }
    }

    /// Takes the messages of a log out, by the log's place in the overview; `None` if there were too many to remember.
    pub fn take(&mut self, log: usize) -> Option<Vec<Selected<T>>> {
        let rows = self.selected.get_mut(log)?.take()?;
        Some(rows.into_iter().map(|row| dated(&self.logs, row)).collect())
    }

    /// Reads the file once more for the messages of one log, in portions. `hand_on` answers whether it wants more.
    ///
    /// # Errors
    /// As [`read_selected()`].
    pub fn read_again<S: Select<Tag = T>>(
        &self,
        log: usize,
        stream: impl Read,
        select: &mut S,
        mut hand_on: impl FnMut(Vec<Selected<T>>) -> bool,
    ) -> Result<(), CaptureError> {
        let mut tracker = FileTracker::default();
        let mut rows = DedupedMessages::default();
        let mut goes_on = true;
        let mut give = |rows: &mut DedupedMessages<T>| {
            let rows = rows.take().into_iter();
            hand_on(rows.map(|row| dated(&self.logs, row)).collect())
        };
        let source = source::open(stream)?;
        file::read(source, self.now, &self.zone, |entry| {
            let place = tracker.take(&entry);
            if !goes_on || self.logs.of_host(place.host()) != log {
                return Ok(());
            }
            if let Some(selection) = select.select(&entry.message) {
                rows.push(place, entry.message, selection);
                if rows.len() >= CHUNK || rows.size() > BUDGET {
                    goes_on = give(&mut rows);
                }
            }
            Ok(())
        })?;
        if goes_on {
            give(&mut rows);
        }
        Ok(())
    }
}

fn dated<T>(logs: &Logs, row: Row<T>) -> Selected<T> {
    let mut message = row.message;
    message.time = logs.date(&row.place);
    Selected {
        message,
        tag: row.tag,
        count: row.count,
    }
}

/// The messages of each host, of bounded size.
struct Buffers<T> {
    budget: usize,
    size: usize,
    /// By number of the host; `None`: too many.
    of_hosts: Vec<Option<DedupedMessages<T>>>,
}

impl<T> Buffers<T> {
    fn new(budget: usize) -> Self {
        Self {
            budget,
            size: 0,
            of_hosts: Vec::new(),
        }
    }

    fn push(&mut self, host: HostId, push: impl FnOnce(&mut DedupedMessages<T>)) {
        let host = usize::try_from(host).unwrap_or(0);
        if self.of_hosts.len() <= host {
            self.of_hosts
                .resize_with(host + 1, || Some(DedupedMessages::default()));
        }
        let Some(rows) = self.of_hosts.get_mut(host).and_then(Option::as_mut) else {
            return;
        };
        let before = rows.size();
        push(rows);
        self.size = self.size.saturating_sub(before) + rows.size();
        if self.size > self.budget {
            self.drop_largest();
        }
    }

    fn drop_largest(&mut self) {
        let largest = self
            .of_hosts
            .iter_mut()
            .max_by_key(|rows| rows.as_ref().map_or(0, DedupedMessages::size));
        if let Some(rows) = largest {
            self.size -= rows.take().map_or(0, |rows| rows.size().min(self.size));
        }
    }

    fn of_logs(self, logs: &Logs) -> Vec<Option<Vec<Row<T>>>> {
        let mut selected: Vec<_> = logs.logs.iter().map(|_| Some(Vec::new())).collect();
        for (host, rows) in (0..).zip(self.of_hosts) {
            let Some(log) = selected.get_mut(logs.of_host(host)) else {
                continue;
            };
            match (log.as_mut(), rows) {
                (Some(log), Some(mut rows)) => log.append(&mut rows.take()),
                _ => *log = None,
            }
        }
        // Messages without a host are among those of the only one.
        for log in selected.iter_mut().flatten() {
            log.sort_by_key(|row: &Row<T>| row.place.order());
        }
        selected
    }
}
