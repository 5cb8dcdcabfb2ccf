//! Threads for calls that may never return: a `stat` on a dead NFS mount, a driver that stopped answering.
//!
//! Such a call cannot be cancelled; it can only be left behind. Each [`HangPool`] therefore owns a bounded number of
//! plain threads. A caller that waited past its deadline gets [`SourceError::TimedOut`] and goes on; the thread stays
//! counted until the kernel lets it go, and then serves again. Two rules keep one dead source from eating the pool:
//! a call whose `what` already hangs fails at once instead of sending a second thread after the first, and when every
//! thread hangs, new calls fail at once and name what holds them.

mod batch;

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use tokio::sync::oneshot;

pub use batch::MAX_LOST;

use super::{clock::Clock, error::SourceError};

/// A thread that has had nothing to do for this long ends.
const IDLE_EXIT: Duration = Duration::from_secs(30);
/// Calls waiting for a thread; more are refused, so that callers cannot grow memory without bound.
const MAX_QUEUED: usize = 1024;
/// Sources whose last good time is remembered; the one that answered longest ago is forgotten first.
const MAX_REMEMBERED: usize = 1024;
/// Hung calls that an error names.
const MAX_NAMED: usize = 4;

/// A bounded pool of threads for calls that can hang in the kernel. Clones share the threads.
#[derive(Clone)]
pub struct HangPool {
    shared: Arc<PoolShared>,
}

/// A call that is past its deadline and still has not returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StuckCall {
    /// The question, as given to [`HangPool::run`].
    pub what: String,
    /// When it was asked, Unix milliseconds.
    pub since_ms: u64,
    /// How long ago that is.
    pub elapsed: Duration,
}

struct PoolShared {
    name: String,
    max_threads: usize,
    clock: Clock,
    state: Mutex<PoolState>,
    work: Condvar,
}

#[derive(Default)]
struct PoolState {
    next_id: u64,
    queue: VecDeque<Job>,
    threads: usize,
    /// Threads that sleep until they are woken.
    idle: usize,
    /// Threads that are done with a call and look at the queue before they sleep. The next question, which follows from
    /// that call's answer, arrives at about this time: no thread has to be woken for it.
    returning: usize,
    running: BTreeMap<u64, Call>,
    last_good: HashMap<String, u64>,
}

#[derive(Clone)]
struct Call {
    what: String,
    asked: Instant,
    asked_ms: u64,
    deadline: Duration,
}

/// Hands the answer to the caller. Separate from the work, so that the pool's books are right before the caller wakes.
type Deliver = Box<dyn FnOnce() + Send>;
/// Does the work of the job of this number; true when the source gave a good answer.
type Work = Box<dyn FnOnce(u64) -> (bool, Deliver) + Send>;

struct Job {
    id: u64,
    call: Call,
    work: Work,
}

impl Call {
    fn is_hung(&self) -> bool {
        self.asked.elapsed() >= self.deadline
    }
}

impl HangPool {
    /// A pool of at most `max_threads` threads (at least one), started when needed. `name` appears in thread names
    /// (the kernel shows 15 bytes) and errors.
    pub fn new(name: impl Into<String>, max_threads: usize) -> Self {
        Self {
            shared: Arc::new(PoolShared {
                name: name.into(),
                max_threads: max_threads.max(1),
                clock: Clock::Live,
                state: Mutex::default(),
                work: Condvar::new(),
            }),
        }
    }

    /// Runs `call` on a thread of the pool and gives its answer. `what` names the call for people and is the key of
    /// the "already hangs" rule, so it must say exactly what is asked (`stat /mnt/a`, not `stat`).
    ///
    /// # Errors
    /// The error of `call`; [`SourceError::TimedOut`] when `deadline` (counted from now, waiting for a thread included)
    /// passes first, at once when the same `what` or every thread already hangs; [`SourceError::Other`] when the call
    /// panics, no thread can be started, or too many calls wait.
    ///
    /// Dropping the future takes a call that has not started out of the queue.
    pub fn run<T, F>(
        &self,
        what: &str,
        deadline: Duration,
        call: F,
    ) -> impl Future<Output = Result<T, SourceError>> + Send + use<T, F>
    where
        T: Send + 'static,
        F: FnOnce() -> Result<T, SourceError> + Send + 'static,
    {
        let shared = Arc::clone(&self.shared);
        let call_record = self.record(what.to_owned(), deadline);
        let (give, take) = oneshot::channel();
        let label = what.to_owned();
        let work = Box::new(move |_| {
            let answer = catch_unwind(AssertUnwindSafe(call))
                .unwrap_or_else(|_| Err(SourceError::Other(format!("{label}: the call panicked"))));
            let good = answer.is_ok();
            // What nobody waits for any more may take its time to go: here, where it holds up nobody.
            let answer = (!give.is_closed()).then_some(answer);
            let deliver: Deliver = Box::new(move || drop(answer.map(|answer| give.send(answer))));
            (good, deliver)
        });
        async move {
            let ticket = submit(&shared, &call_record, work)?;
            let left = deadline.saturating_sub(call_record.asked.elapsed());
            match tokio::time::timeout(left, take).await {
                Ok(Ok(answer)) => answer,
                Ok(Err(_)) => Err(SourceError::Other(format!(
                    "{}: the thread died",
                    call_record.what
                ))),
                Err(_) => Err(ticket.timed_out(&call_record)),
            }
        }
    }

    /// As [`HangPool::run`], without waiting for the end; what `call` gives is dropped then. Dropping the ticket takes a
    /// call that has not started out of the queue.
    ///
    /// # Errors
    /// Where `run` has one at once.
    pub fn start<T, F>(
        &self,
        what: &str,
        deadline: Duration,
        call: F,
    ) -> Result<Ticket, SourceError>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        let work = Box::new(move |_| {
            let end = catch_unwind(AssertUnwindSafe(call));
            let good = end.is_ok();
            let deliver: Deliver = Box::new(move || drop(end));
            (good, deliver)
        });
        submit(&self.shared, &self.record(what.to_owned(), deadline), work)
    }

    /// Threads that there are.
    #[cfg(test)]
    pub(crate) fn threads(&self) -> usize {
        self.shared.lock().threads
    }

    /// The record of a call that is asked now.
    fn record(&self, what: String, deadline: Duration) -> Call {
        Call {
            what,
            asked: Instant::now(),
            asked_ms: self.shared.clock.now_ms(),
            deadline,
        }
    }

    /// The calls that are past their deadline and have not returned, oldest first.
    pub fn stuck(&self) -> Vec<StuckCall> {
        let state = self.shared.lock();
        let hung = state.running.values().filter(|call| call.is_hung());
        hung.map(|call| StuckCall {
            what: call.what.clone(),
            since_ms: call.asked_ms,
            elapsed: call.asked.elapsed(),
        })
        .collect()
    }
}

/// Puts a call in the queue and sees to it that a thread will take it.
fn submit(shared: &Arc<PoolShared>, call: &Call, work: Work) -> Result<Ticket, SourceError> {
    let mut state = shared.lock();
    let what = &call.what;
    if let Some(hangs) = state.hangs(what) {
        return Err(hangs);
    }
    if state.hung() >= shared.max_threads {
        return Err(shared.exhausted(&state, call));
    }
    if state.queue.len() >= MAX_QUEUED {
        return Err(SourceError::Other(format!(
            "{what}: {MAX_QUEUED} calls already wait for the {} threads",
            shared.name
        )));
    }
    let id = state.next_id;
    state.next_id += 1;
    state.queue.push_back(Job {
        id,
        call: call.clone(),
        work,
    });
    let taken_anyway = state.queue.len() <= state.returning;
    if state.queue.len() > state.idle + state.returning && state.threads < shared.max_threads {
        let own = Arc::clone(shared);
        let name = format!("{}-{}", shared.name, state.threads);
        match thread::Builder::new().name(name).spawn(move || own.serve()) {
            Ok(_) => state.threads += 1,
            // With other threads alive the call is served later; with none, nobody would ever take it.
            Err(error) if state.threads == 0 => {
                state.queue.pop_back();
                return Err(SourceError::Other(format!(
                    "{what}: cannot start a thread: {error}"
                )));
            }
            Err(_) => {}
        }
    }
    drop(state);
    if !taken_anyway {
        shared.work.notify_one();
    }
    Ok(Ticket {
        shared: Arc::clone(shared),
        id,
    })
}

impl PoolShared {
    fn lock(&self) -> MutexGuard<'_, PoolState> {
        // Nothing panics while holding the lock, and the state would still be usable if something did.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs one thread of the pool.
    fn serve(&self) {
        let mut state = self.lock();
        while let Some(job) = self.next_job(state) {
            let what = job.call.what;
            let (good, deliver) = (job.work)(job.id);
            state = self.lock();
            state.running.remove(&job.id);
            if good {
                state.remember(what, self.clock.now_ms());
            }
            state.returning += 1;
            drop(state);
            deliver();
            state = self.lock();
            state.returning -= 1;
        }
    }

    /// Waits for work; `None` when there was none for [`IDLE_EXIT`].
    fn next_job(&self, mut state: MutexGuard<'_, PoolState>) -> Option<Job> {
        loop {
            if let Some(job) = state.queue.pop_front() {
                state.running.insert(job.id, job.call.clone());
                return Some(job);
            }
            state.idle += 1;
            let (woken, waited) = self
                .work
                .wait_timeout(state, IDLE_EXIT)
                .unwrap_or_else(PoisonError::into_inner);
            state = woken;
            state.idle -= 1;
            if waited.timed_out() && state.queue.is_empty() {
                state.threads -= 1;
                return None;
            }
        }
    }

    /// The error for a call that got no thread: it says what occupies them.
    fn exhausted(&self, state: &PoolState, call: &Call) -> SourceError {
        let mut holders: Vec<String> = state
            .running
            .values()
            .take(MAX_NAMED)
            .map(|held| format!("{} for {} s", held.what, held.asked.elapsed().as_secs()))
            .collect();
        if state.running.len() > MAX_NAMED {
            holders.push("…".to_owned());
        }
        SourceError::TimedOut {
            what: format!(
                "{} (not started: all {} {} threads are held by {})",
                call.what,
                self.max_threads,
                self.name,
                holders.join(", ")
            ),
            after: call.asked.elapsed(),
            last_good: state.last_good.get(&call.what).copied(),
        }
    }
}

impl PoolState {
    fn hung(&self) -> usize {
        self.running.values().filter(|call| call.is_hung()).count()
    }

    /// The error for a call whose like still hangs.
    fn hangs(&self, what: &str) -> Option<SourceError> {
        let mut running = self.running.values();
        let hung = running.find(|other| other.what == what && other.is_hung())?;
        Some(SourceError::TimedOut {
            what: format!("{what} (an earlier call still hangs)"),
            after: hung.asked.elapsed(),
            last_good: self.last_good.get(what).copied(),
        })
    }

    fn remember(&mut self, what: String, now_ms: u64) {
        if self.last_good.len() >= MAX_REMEMBERED && !self.last_good.contains_key(&what) {
            let oldest = self.last_good.iter().min_by_key(|(_, at)| **at);
            if let Some(oldest) = oldest.map(|(what, _)| what.clone()) {
                self.last_good.remove(&oldest);
            }
        }
        self.last_good.insert(what, now_ms);
    }
}

/// A call in the queue or on a thread. Dropped, it takes the call out of the queue if it has not started.
pub struct Ticket {
    shared: Arc<PoolShared>,
    id: u64,
}

impl Ticket {
    fn timed_out(&self, call: &Call) -> SourceError {
        let state = self.shared.lock();
        if state.queue.iter().any(|job| job.id == self.id) {
            return self.shared.exhausted(&state, call);
        }
        SourceError::TimedOut {
            what: call.what.clone(),
            after: call.asked.elapsed(),
            last_good: state.last_good.get(&call.what).copied(),
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        let at = state.queue.iter().position(|job| job.id == self.id);
        let unstarted = at.and_then(|at| state.queue.remove(at));
        drop(state);
        // After the lock is free: what the closure owns may take its time to go.
        drop(unstarted);
    }
}

#[cfg(test)]
mod tests;
