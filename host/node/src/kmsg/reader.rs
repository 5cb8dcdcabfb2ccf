//! The reader thread: it empties the kernel log faster than it is overwritten, and never waits for another thread.
//!
//! At a burst of 19,000 lines a second a ring of 256 KiB is overwritten in about 130 ms. So this thread only reads,
//! numbers and passes on; when the matcher is too far behind, it drops what it read and counts it.

use std::{
    os::fd::{AsFd, OwnedFd},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use rustix::{
    event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll},
    io::{Errno, write},
};

use super::{
    clock::{BootClock, now_ms},
    counters::{Counters, add},
    gaps::GapLog,
    intake::Intake,
    pipeline::Routing,
    queue::Queue,
    source::{Source, Step},
};
use crate::error::SourceError;

/// Records are handed on after so many, or when there are no more for now.
const BATCH_RECORDS: usize = 512;
/// The wait after the first failed read; it doubles with each further one, up to the configured retry time.
const FIRST_BACKOFF: Duration = Duration::from_secs(1);
/// How often in a row the kernel may refuse to hand out a record before the log is reopened.
const MAX_REFUSALS: u32 = 8;
/// A file does not run away, so its reader waits this long when the queue is full.
const FILE_QUEUE_WAIT: Duration = Duration::from_millis(10);
/// How long after the last record the log is looked at without waiting for the kernel to say that there is more: it wakes
/// readers only with the next timer tick (`wake_up_klogd` is lazy), up to 4 ms late with 250 Hz, and trouble comes in
/// bursts.
const ALERT: Duration = Duration::from_secs(1);
/// The pause between two such looks. An idle log costs nothing.
const ALERT_WAIT: Duration = Duration::from_millis(1);
/// The wait when a device says that there is something to read, and there is not.
const FALSE_ALARM_WAIT: Duration = Duration::from_millis(50);

/// The state of the source of kernel messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceState {
    /// Not opened yet.
    Starting,
    /// Being read; a silent log is fine.
    Following,
    /// Does not answer; tried again from time to time.
    Unavailable {
        /// The problem.
        error: SourceError,
        /// Since when, Unix milliseconds.
        since: u64,
    },
    /// Shut down.
    Stopped,
}

/// The reader's state at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// The source of the records.
    pub path: PathBuf,
    /// The state of the source.
    pub state: SourceState,
    /// When it last gave records, or said that there are none, Unix milliseconds.
    pub last_answer: Option<u64>,
}

/// The state that the reader shares with the rest of the kernel log.
#[derive(Debug)]
pub(super) struct ReaderShared {
    pub(super) queue: Queue<Routing>,
    pub(super) counters: Counters,
    pub(super) gaps: Arc<GapLog>,
    status: Mutex<Status>,
    wake: OwnedFd,
}

impl ReaderShared {
    pub(super) fn new(path: PathBuf, queue_bytes: usize) -> Result<Self, SourceError> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|errno| SourceError::from_io("eventfd", &errno.into()))?;
        Ok(Self {
            queue: Queue::new(queue_bytes),
            counters: Counters::default(),
            gaps: Arc::default(),
            status: Mutex::new(Status {
                path,
                state: SourceState::Starting,
                last_answer: None,
            }),
            wake,
        })
    }

    /// Ends both threads.
    pub(super) fn stop(&self) {
        self.queue.stop();
        // The only failure is a full counter, and then the reader is awake already.
        let _ = write(&self.wake, &1u64.to_ne_bytes());
    }

    pub(super) fn status(&self) -> MutexGuard<'_, Status> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The pauses of the reader.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReaderTiming {
    pub(super) retry: Duration,
    pub(super) file_poll: Duration,
}

/// The reader's own state.
pub(super) struct Reader {
    shared: Arc<ReaderShared>,
    path: PathBuf,
    timing: ReaderTiming,
    intake: Intake,
    caught_up: bool,
}

/// Why reading an opened source ended.
enum Exit {
    Stopped,
    Failed(Errno),
}

impl Reader {
    pub(super) fn new(
        shared: Arc<ReaderShared>,
        path: PathBuf,
        resume_after: Option<u64>,
        clock: BootClock,
        timing: ReaderTiming,
    ) -> Self {
        Self {
            shared,
            path,
            timing,
            intake: Intake::new(resume_after, clock),
            caught_up: false,
        }
    }

    /// Reads until the queue is stopped.
    pub(super) fn run(mut self) {
        let mut backoff = FIRST_BACKOFF;
        let mut opened = false;
        while !self.shared.queue.is_stopped() {
            let (error, wait) = match Source::open(&self.path) {
                Ok(source) => {
                    if std::mem::replace(&mut opened, true) {
                        add(&self.shared.counters.reopened, 1);
                        self.intake.accounting.reopened();
                    }
                    let read_before = self.shared.counters.values().records_read;
                    let Exit::Failed(errno) = self.follow(source) else {
                        break;
                    };
                    if self.shared.counters.values().records_read > read_before {
                        backoff = FIRST_BACKOFF;
                    }
                    let wait = backoff.min(self.timing.retry);
                    backoff = wait * 2;
                    (
                        SourceError::from_io(self.path.display().to_string(), &errno.into()),
                        wait,
                    )
                }
                Err(error) => (error, self.timing.retry),
            };
            self.unavailable(error);
            self.wait(None, Some(wait));
        }
        self.shared.status().state = SourceState::Stopped;
    }

    fn follow(&mut self, mut source: Source) -> Exit {
        let mut refusals = 0;
        // The device was waited for and nothing was read since.
        let mut false_alarm = false;
        let mut last_record: Option<Instant> = None;
        self.shared.queue.set_patient(!source.overwrites());
        loop {
            if self.intake.batch.len() >= BATCH_RECORDS {
                self.hand_on(&source);
                self.answered();
            }
            // Checked per batch and per wait, not per record.
            if self.intake.batch.is_empty() && self.shared.queue.is_stopped() {
                return Exit::Stopped;
            }
            let step = source.next(self.intake.batch.tail());
            if step.is_ok() {
                refusals = 0;
            }
            match step {
                Ok(Step::Record) => {
                    false_alarm = false;
                    last_record = None;
                    self.intake.take(&self.shared);
                }
                // What was lost shows in the next record's number.
                Ok(Step::Overrun) => {}
                Ok(Step::Restarted) => {
                    self.hand_on(&source);
                    add(&self.shared.counters.reopened, 1);
                    self.intake.accounting.restarted();
                }
                Ok(step @ (Step::Idle | Step::End)) => {
                    self.hand_on(&source);
                    self.caught_up();
                    if step == Step::End {
                        self.wait(None, None);
                    } else if !source.overwrites() {
                        self.wait(None, Some(self.timing.file_poll));
                    } else if last_record.get_or_insert_with(Instant::now).elapsed() < ALERT {
                        self.wait(None, Some(ALERT_WAIT));
                    } else if false_alarm {
                        self.wait(None, Some(FALSE_ALARM_WAIT));
                        false_alarm = false;
                    } else {
                        self.wait(Some(&source), None);
                        false_alarm = true;
                    }
                    if self.shared.queue.is_stopped() {
                        return Exit::Stopped;
                    }
                }
                // The kernel passes over a record that it will not hand out; the hole in the numbers is counted.
                Err(Errno::INVAL) if refusals < MAX_REFUSALS => refusals += 1,
                Err(errno) => {
                    self.hand_on(&source);
                    return Exit::Failed(errno);
                }
            }
        }
    }

    /// Puts the batch into the queue. Only for a file, whose records do not run away, it waits for room.
    fn hand_on(&mut self, source: &Source) {
        while let Err(batch) = self.intake.offer(&self.shared) {
            if source.overwrites() || self.shared.queue.is_stopped() {
                self.intake.drop_batch(&batch, &self.shared);
                return;
            }
            self.intake.batch = batch;
            self.wait(None, Some(FILE_QUEUE_WAIT));
        }
    }

    fn answered(&self) {
        let mut status = self.shared.status();
        status.last_answer = Some(now_ms());
        if status.state != SourceState::Following {
            tracing::info!(path = %self.path.display(), "following the kernel log");
            status.state = SourceState::Following;
        }
    }

    fn caught_up(&mut self) {
        self.answered();
        self.intake.accounting.caught_up();
        if !std::mem::replace(&mut self.caught_up, true) {
            self.shared
                .queue
                .mark_caught_up(self.intake.accounting.last());
        }
    }

    fn unavailable(&self, error: SourceError) {
        let mut status = self.shared.status();
        let since = match &status.state {
            SourceState::Unavailable { since, .. } => *since,
            _ => {
                tracing::warn!(%error, "the kernel log cannot be read");
                now_ms()
            }
        };
        status.state = SourceState::Unavailable { error, since };
    }

    /// Waits for the source to have something, for the time, or for the shutdown, whatever comes first.
    fn wait(&self, source: Option<&Source>, time: Option<Duration>) {
        let timeout = time.and_then(|time| Timespec::try_from(time).ok());
        let mut fds = vec![PollFd::from_borrowed_fd(
            self.shared.wake.as_fd(),
            PollFlags::IN,
        )];
        fds.extend(source.map(|source| PollFd::new(source, PollFlags::IN)));
        // A failure (a signal, no memory) is like a wake-up for nothing: the caller looks again.
        let _ = poll(&mut fds, timeout.as_ref());
    }
}
