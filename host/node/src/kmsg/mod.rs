//! The kernel log: one thread reads `/dev/kmsg`, another one finds what the watchers asked for.
//!
//! A record's way: `reader` → bounded queue → `pipeline` (one regular-expression set over all watchers) → the
//! [`Inbox`] of each watcher that has a matching pattern. Nothing on this way waits for what comes after it; where
//! something is full, records are counted: those that an inbox had no room for are read from the log again
//! ([`KernelLog::refill`]), the others are lost, and [`KernelLog::gaps`] says which. [`read_back()`] looks through the
//! log once, on demand; [`inject()`] writes into it.

pub mod accounting;
mod clock;
mod counters;
mod gaps;
mod inbox;
mod inject;
mod intake;
mod lines;
mod overflow;
mod pipeline;
mod prefilter;
mod queue;
mod read_back;
mod reader;
mod record;
mod source;
mod text;

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

pub use self::{
    clock::BootClock,
    counters::CounterValues,
    gaps::{Gap, GapCause, GapLog},
    inbox::{Batch, Inbox, InboxLimits},
    inject::{MAX_MESSAGE, inject, severity, validate_message},
    lines::LineSplitter,
    pipeline::{Matcher, Watcher, WatcherInboxes},
    prefilter::{MAX_PATTERN_LENGTH, MAX_PATTERNS, PatternError, Prefilter, WatcherId},
    read_back::{ReadBack, oldest, probe, read_back},
    reader::{SourceState, Status},
    record::{KernelMessage, MAX_RECORD, RawRecord, RecordError, parse},
    text::{Escapes, escape, text, without_layout},
};
use self::{
    pipeline::Routing,
    reader::{Reader, ReaderShared, ReaderTiming},
};
use crate::{error::SourceError, trusted};

pub(crate) use self::source::open_source;

/// The environment variable that names another source; see [`source_path`].
pub const PATH_VARIABLE: &str = "KMSG_FILE_PATH";
/// The device of the kernel log.
const DEVICE: &str = "/dev/kmsg";
/// How long [`KernelLog::shutdown`] waits for the threads.
const SHUTDOWN_WAIT: Duration = Duration::from_secs(1);

/// The path to read, given the value of [`PATH_VARIABLE`]: that value without surrounding blanks if there is something
/// left, else `/dev/kmsg`.
pub fn source_path(variable: Option<&str>) -> PathBuf {
    variable
        .map(str::trim)
        .filter(|path| !path.is_empty())
        .unwrap_or(DEVICE)
        .into()
}

/// Returns the path to read by this process's environment, where the variable is [trusted](trusted::input). Blocks.
pub fn configured_path() -> PathBuf {
    let variable = trusted::input(PATH_VARIABLE).and_then(|path| path.into_string().ok());
    source_path(variable.as_deref())
}

/// How to read the kernel log.
#[derive(Debug, Clone)]
pub struct Config {
    /// A character device (one read is one record) or a file with records, which is then followed as it grows.
    pub path: PathBuf,
    /// The last sequence number that an earlier run of the daemon dealt with **in this boot**: what is missing after it
    /// is a [`Gap`].
    pub resume_after: Option<u64>,
    /// Dates the records.
    pub clock: BootClock,
    /// How much of what was read may wait for the matcher, bytes.
    pub queue_bytes: usize,
    /// The wait before a source that could not be opened is tried again, and the longest one after a failed read.
    pub retry: Duration,
    /// How often a file is looked at for growth.
    pub file_poll: Duration,
}

impl Config {
    /// The usual settings: a queue of 32 MiB (more than a whole ring on almost every machine), a retry after 30 s, a
    /// look at a file every second.
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            resume_after: None,
            clock: BootClock::read(),
            queue_bytes: 32 << 20,
            retry: Duration::from_secs(30),
            file_poll: Duration::from_secs(1),
        }
    }
}

/// The running kernel log. Dropping it shuts it down.
#[derive(Debug)]
pub struct KernelLog {
    shared: Arc<ReaderShared>,
    inboxes: Mutex<BTreeMap<WatcherId, Inbox>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl KernelLog {
    /// Starts reading. A source that is not there is no error: it shows in [`status`](Self::status) and is tried again.
    ///
    /// # Errors
    /// The system gives no more threads or descriptors.
    pub fn start(config: Config) -> Result<Self, SourceError> {
        let Config {
            path,
            resume_after,
            clock,
            queue_bytes,
            retry,
            file_poll,
        } = config;
        let log = Self {
            shared: Arc::new(ReaderShared::new(path.clone(), queue_bytes)?),
            inboxes: Mutex::default(),
            threads: Mutex::default(),
        };
        let timing = ReaderTiming { retry, file_poll };
        let reader = Reader::new(
            Arc::clone(&log.shared),
            path.clone(),
            resume_after,
            clock,
            timing,
        );
        log.spawn("kmsg-read", move || reader.run())?;
        let (matcher, _) = Matcher::new(clock, Vec::new());
        let shared = Arc::clone(&log.shared);
        log.spawn("kmsg-match", move || {
            pipeline::run(matcher, &shared.queue, &shared.counters, &path)
        })?;
        Ok(log)
    }

    /// Replaces all watchers, between two batches and without losing a record.
    ///
    /// A watcher that was there before (the same `id`) keeps its inbox and position; only its patterns change. A new one
    /// gets everything after its cursor, also what was logged before this call (as far as the log still holds it). The
    /// inbox of one that is not in the list any more, or is refused, is closed. Ids are distinct.
    ///
    /// Compiles the patterns on the calling thread: some milliseconds for the usual hundred.
    pub fn set_watchers(&self, watchers: Vec<Watcher>) -> WatcherInboxes {
        // Held to the end, so that two calls hand over in the order in which they ended.
        let mut inboxes = self.inboxes();
        let (routing, watching) = Routing::new(watchers, &inboxes);
        for (id, inbox) in inboxes.iter() {
            if !watching.inboxes.contains_key(id) {
                inbox.close();
            }
        }
        inboxes.clone_from(&watching.inboxes);
        self.shared.queue.change(routing);
        watching
    }

    /// Reads from the log again what did not fit into inboxes that have room by now. What the log no longer holds is in
    /// [`Batch::lost`]. Returns at once; the thread that matches does it.
    pub fn refill(&self) {
        self.shared.queue.refill();
    }

    /// The numbers of records read and lost since the start.
    pub fn counters(&self) -> CounterValues {
        self.shared.counters.values()
    }

    /// Whether the source answers.
    pub fn status(&self) -> Status {
        self.shared.status().clone()
    }

    /// The runs of lost records, to make events of.
    pub fn gaps(&self) -> Arc<GapLog> {
        Arc::clone(&self.shared.gaps)
    }

    /// Ends both threads and closes the inboxes (what they hold can still be drained). Waits a second at most; a thread
    /// that hangs in the kernel is left behind.
    pub fn shutdown(&self) {
        self.shared.stop();
        let end = Instant::now() + SHUTDOWN_WAIT;
        let threads =
            std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            while !thread.is_finished() && Instant::now() < end {
                thread::sleep(Duration::from_millis(2));
            }
            if !thread.is_finished() || thread.join().is_err() {
                tracing::warn!("a kernel log thread did not end well");
            }
        }
        self.inboxes().values().for_each(Inbox::close);
    }

    fn spawn(&self, name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), SourceError> {
        let thread = thread::Builder::new()
            .name(name.into())
            .spawn(work)
            .map_err(|error| SourceError::from_io(format!("thread {name}"), &error))?;
        self.threads
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(thread);
        Ok(())
    }

    fn inboxes(&self) -> MutexGuard<'_, BTreeMap<WatcherId, Inbox>> {
        self.inboxes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for KernelLog {
    fn drop(&mut self) {
        self.shutdown();
    }
}

#[cfg(test)]
mod tests;
