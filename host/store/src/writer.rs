//! The one thread that writes: it commits all jobs that wait together and answers each only after the commit.
//!
//! A job runs in its own savepoint, so a job that fails takes nothing of the others with it. When the transaction as a
//! whole is lost (SQLite rolls back by itself on a full disk, for example), every job is tried again alone.

use std::slice;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::counters::{Counters, Kind};
use super::fallback::Replacement;
use super::health::HealthCell;
use super::lock::FolderLock;
use super::patience;
use super::{StoreError, open};

/// Jobs that may wait before callers do.
const QUEUE: usize = 256;
/// Most jobs of one transaction.
const BATCH: usize = 128;
/// Pages of the write-ahead log from which on they are written back into the file.
const LONG_LOG: i64 = 1000;

/// A piece of work for the writer thread.
trait Job: Send {
    fn kind(&self) -> Kind;
    /// Whether nobody waits for it any more.
    fn is_given_up(&self) -> bool;
    /// Does the work (again) and stores the outcome.
    fn run(&mut self, conn: &Connection) -> Result<(), StoreError>;
    /// Takes in the fate of the transaction, and shows the error that will be answered.
    fn settle(&mut self, commit: Result<(), StoreError>) -> Option<&StoreError>;
    /// Answers the caller.
    fn answer(self: Box<Self>);
}

struct Work<T, F, A> {
    kind: Kind,
    work: F,
    after: A,
    outcome: Result<T, StoreError>,
    reply: oneshot::Sender<Result<T, StoreError>>,
    at_work: patience::PendingWork,
}

impl<T, F, A> Job for Work<T, F, A>
where
    T: Send,
    F: FnMut(&Connection) -> Result<T, StoreError> + Send,
    A: FnOnce() + Send,
{
    fn kind(&self) -> Kind {
        self.kind
    }

    fn is_given_up(&self) -> bool {
        self.at_work.is_given_up()
    }

    fn run(&mut self, conn: &Connection) -> Result<(), StoreError> {
        self.outcome = (self.work)(conn);
        self.outcome.as_ref().map(|_| ()).map_err(Clone::clone)
    }

    fn settle(&mut self, commit: Result<(), StoreError>) -> Option<&StoreError> {
        if let Err(error) = commit {
            self.outcome = Err(error);
        }
        self.outcome.as_ref().err()
    }

    fn answer(self: Box<Self>) {
        let Self {
            after,
            outcome,
            reply,
            at_work,
            ..
        } = *self;
        after();
        // A caller that went away no longer wants the answer; the work is done all the same.
        let _ = reply.send(outcome);
        drop(at_work);
    }
}

enum Message {
    Job(Box<dyn Job>),
    Replace(Box<Replacement>, oneshot::Sender<Result<(), StoreError>>),
    Close(oneshot::Sender<Result<(), StoreError>>),
}

/// The way to the writer thread. The thread ends when all clones are gone or after [`Writer::close`].
#[derive(Clone)]
pub(super) struct Writer {
    queue: mpsc::Sender<Message>,
    health: Arc<HealthCell>,
    patience: Duration,
}

impl Writer {
    /// Starts the thread; it owns `conn` and the folder's lock until it ends.
    pub(super) fn start(
        conn: Connection,
        lock: Option<FolderLock>,
        counters: Arc<Counters>,
        health: Arc<HealthCell>,
        patience: Duration,
    ) -> Result<Self, StoreError> {
        let (queue, receiver) = mpsc::channel(QUEUE);
        let thread = Thread {
            conn,
            lock,
            counters,
            health: Arc::clone(&health),
        };
        std::thread::Builder::new()
            .name("gpud-store".to_owned())
            .spawn(move || thread.serve(receiver))?;
        Ok(Self {
            queue,
            health,
            patience,
        })
    }

    /// Runs `work` in a transaction and returns once it is committed. `work` may run twice; the first run is then
    /// rolled back.
    pub(super) async fn run<T, F>(&self, kind: Kind, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        self.run_then(kind, work, || {}).await
    }

    /// [`Self::run`], and `after` once its outcome is certain, before the caller is answered; also if the caller is
    /// gone by then.
    pub(super) async fn run_then<T, F, A>(
        &self,
        kind: Kind,
        work: F,
        after: A,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> Result<T, StoreError> + Send + 'static,
        A: FnOnce() + Send + 'static,
    {
        let (at_work, pending) = patience::begin(&self.health)?;
        let (reply, answer) = oneshot::channel();
        let job = Box::new(Work {
            kind,
            work,
            after,
            outcome: Err(StoreError::Closed),
            reply,
            at_work,
        });
        let answer = async {
            let sent = self.queue.send(Message::Job(job)).await;
            sent.map_err(|_| StoreError::Closed)?;
            answer.await.map_err(|_| StoreError::Closed)?
        };
        pending.wait(answer, self.patience, || {}).await
    }

    /// Whether the thread is there.
    pub(super) fn is_alive(&self) -> bool {
        !self.queue.is_closed()
    }

    /// Finishes the waiting writes and continues with another database, which gets all rows of the present one.
    pub(super) async fn replace(&self, with: Replacement) -> Result<(), StoreError> {
        let (reply, answer) = oneshot::channel();
        let sent = self
            .queue
            .send(Message::Replace(Box::new(with), reply))
            .await;
        sent.map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    /// Finishes what waits, writes the log back into the file and ends the thread. A thread that hangs is left behind.
    pub(super) async fn close(&self) -> Result<(), StoreError> {
        if self.health.hangs() {
            return Err(StoreError::Hangs);
        }
        let (reply, answer) = oneshot::channel();
        let closed = async {
            let sent = self.queue.send(Message::Close(reply)).await;
            sent.map_err(|_| StoreError::Closed)?;
            answer.await.map_err(|_| StoreError::Closed)?
        };
        let closed = tokio::time::timeout(self.patience, closed).await;
        closed.unwrap_or(Err(StoreError::Hangs))
    }
}

struct Thread {
    conn: Connection,
    lock: Option<FolderLock>,
    counters: Arc<Counters>,
    health: Arc<HealthCell>,
}

impl Thread {
    fn serve(mut self, mut queue: mpsc::Receiver<Message>) {
        let mut jobs = Vec::with_capacity(BATCH);
        while let Some(first) = queue.blocking_recv() {
            let mut next = Some(first);
            let mut close = None;
            let mut replace = None;
            while let Some(message) = next {
                match message {
                    Message::Job(job) => jobs.push(job),
                    Message::Replace(with, reply) => {
                        replace = Some((with, reply));
                        break;
                    }
                    Message::Close(reply) => {
                        close = Some(reply);
                        break;
                    }
                }
                next = if jobs.len() < BATCH {
                    queue.try_recv().ok()
                } else {
                    None
                };
            }
            self.commit(&mut jobs);
            if let Some((with, reply)) = replace {
                let _ = reply.send(self.replace(*with));
            }
            self.shorten_log();
            if let Some(reply) = close {
                // The lock is released before the answer: a caller that closed a store may open it again at once.
                let closed = self.shut();
                let _ = reply.send(closed);
                return;
            }
        }
    }

    /// Commits the jobs together if that works, one by one otherwise, and answers them.
    fn commit(&self, jobs: &mut Vec<Box<dyn Job>>) {
        // Their callers try again.
        jobs.retain(|job| !job.is_given_up());
        if jobs.is_empty() {
            return;
        }
        let changes = self.conn.total_changes();
        let together = self.transaction(jobs);
        // Waiting for a foreign lock once per job would take minutes, and end the same.
        let retry = jobs.len() > 1
            && together
                .as_ref()
                .is_err_and(|error| !matches!(error, StoreError::Locked(_)));
        let mut fault = None;
        for job in jobs.iter_mut() {
            let committed = if retry {
                self.transaction(slice::from_mut(job))
            } else {
                together.clone()
            };
            let error = job.settle(committed);
            fault = error.filter(|error| error.is_outage()).cloned().or(fault);
        }
        // Before the answers, so that a caller finds the store's health as its own call left it. A job that had nothing
        // to write, such as a purge of what is not there, is no evidence that there is room again.
        if fault.is_some() || self.conn.total_changes() != changes || !self.health.is_full() {
            self.health.set(fault);
        }
        for job in jobs.drain(..) {
            job.answer();
        }
    }

    /// Writes the log back once it is long. SQLite would do it within a commit, and a caller that waits for that commit
    /// would wait for the disk as well (`wal_autocheckpoint` is higher, for one transaction that is longer than this).
    fn shorten_log(&self) {
        let pages = |mode: &str| {
            let sql = format!("PRAGMA wal_checkpoint({mode})");
            let mut checkpoint = self.conn.prepare_cached(&sql)?;
            // Whether a lock was in the way, pages in the log, and how many of them are in the file already.
            checkpoint.query_row([], |row| Ok(row.get::<_, i64>(1)? - row.get::<_, i64>(2)?))
        };
        let outcome = match pages("NOOP") {
            Ok(waiting) if waiting >= LONG_LOG => pages("PASSIVE"),
            other => other,
        };
        if let Err(error) = outcome {
            // What is committed is in the log, so nothing is lost; the next commit tries again.
            tracing::debug!("the write-ahead log was not written back: {error}");
        }
    }

    fn transaction(&self, jobs: &mut [Box<dyn Job>]) -> Result<(), StoreError> {
        let patience = match self.health.is_locked() {
            true => open::LOCKED_TIMEOUT,
            false => open::BUSY_TIMEOUT,
        };
        self.conn.busy_timeout(patience)?;
        self.conn.execute_batch("BEGIN IMMEDIATE")?;
        let done = jobs
            .iter_mut()
            .try_for_each(|job| self.isolated(job.as_mut()))
            .and_then(|()| Ok(self.conn.execute_batch("COMMIT")?));
        if done.is_err() && !self.conn.is_autocommit() {
            self.conn.execute_batch("ROLLBACK")?;
        }
        done
    }

    /// Runs one job in a savepoint. An error means that the whole transaction is lost, not that the job failed.
    fn isolated(&self, job: &mut dyn Job) -> Result<(), StoreError> {
        self.conn.execute_batch("SAVEPOINT job")?;
        let begun = Instant::now();
        let outcome = job.run(&self.conn);
        self.counters.add(job.kind(), begun.elapsed());
        match outcome {
            Ok(()) => self.conn.execute_batch("RELEASE job")?,
            Err(error) if self.conn.is_autocommit() => return Err(error),
            Err(_) => self.conn.execute_batch("ROLLBACK TO job; RELEASE job")?,
        }
        Ok(())
    }

    /// Goes on with another database if all rows fit into it.
    fn replace(&mut self, with: Replacement) -> Result<(), StoreError> {
        with.fill(&self.conn)?;
        self.conn = with.conn;
        if with.lock.is_some() {
            self.lock = with.lock;
        }
        self.health.set(None);
        Ok(())
    }

    fn shut(self) -> Result<(), StoreError> {
        let marked = open::mark_clean(&self.conn, !self.health.is_corrupt());
        let closed = self
            .conn
            .close()
            .map_err(|(_, error)| StoreError::from(error));
        drop(self.lock);
        marked.and(closed)
    }
}
