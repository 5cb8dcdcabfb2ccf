//! Many calls of one kind in few hops: one thread makes them one after the other, and only where one of them does not
//! come back does another thread go on with the rest. Each call has its own deadline all the same, and is in the pool's
//! books as if it had been made by itself.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::{sync::Notify, time::timeout};

use super::{Call, Deliver, HangPool, PoolShared, Ticket, submit};
use crate::error::SourceError;

/// A call that takes longer than this no longer holds up those after it.
const HAND_OVER: Duration = Duration::from_millis(250);
/// Threads at once on calls that are within their deadline.
const MAX_AT_ONCE: usize = 3;
/// Calls that are waited for in vain; then nothing more is asked, so that a machine full of dead mounts does not cost a
/// whole pool, and its caller all of its time.
pub const MAX_LOST: usize = 3;

/// One answer for each call; `None`: not asked, since [`MAX_LOST`] others did not answer.
pub type BatchAnswers<T> = Vec<Option<Result<T, SourceError>>>;

/// The state that the threads and the caller share.
struct CallBatch<T> {
    calls: Vec<String>,
    state: Mutex<BatchState<T>>,
    done: Notify,
}

struct BatchState<T> {
    /// The first call that no thread has taken. Beyond the end: there is nothing more to do.
    next: usize,
    answers: BatchAnswers<T>,
    /// Calls without an answer.
    open: usize,
    /// Calls that a thread is on.
    busy: Vec<(usize, Instant)>,
    lost: usize,
}

impl<T> CallBatch<T> {
    fn lock(&self) -> MutexGuard<'_, BatchState<T>> {
        // Nothing panics while holding the lock, and the state would still be usable if something did.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> BatchState<T> {
    fn take(&mut self) -> Option<usize> {
        let index = self.next;
        if index >= self.answers.len() {
            return None;
        }
        self.next += 1;
        self.busy.push((index, Instant::now()));
        Some(index)
    }

    /// Puts an answer in its place. False: the caller has given up the call in the meantime.
    fn answer(&mut self, index: usize, answer: Result<T, SourceError>) -> bool {
        let busy = self.busy.len();
        self.busy.retain(|(other, _)| *other != index);
        if self.busy.len() == busy {
            return false;
        }
        self.set(index, Some(answer));
        true
    }

    fn set(&mut self, index: usize, answer: Option<Result<T, SourceError>>) {
        if let Some(place) = self.answers.get_mut(index) {
            *place = answer;
            self.open = self.open.saturating_sub(1);
        }
    }

    /// Answers for all that no thread has taken.
    fn give_up(&mut self, answer: impl Fn() -> Option<Result<T, SourceError>>) {
        for index in self.next..self.answers.len() {
            self.set(index, answer());
        }
        self.next = self.answers.len();
    }

    fn is_waiting(&self) -> bool {
        self.next < self.answers.len()
    }
}

/// Closes a batch when its caller is gone: the threads stop after their present call.
struct CloseOnDrop<T>(Arc<CallBatch<T>>);

impl<T> Drop for CloseOnDrop<T> {
    fn drop(&mut self) {
        self.0.lock().next = usize::MAX;
    }
}

impl HangPool {
    /// Makes `call` with every index of `calls`, which name them as [`HangPool::run`]'s `what`. `deadline` is that of each
    /// call, counted from when a thread takes it; `whole` that of all together.
    ///
    /// Each answer has the index of its call. Each call that hangs delays the others by a quarter of a second.
    pub async fn run_all<T: Send + 'static>(
        &self,
        label: &str,
        calls: Vec<String>,
        deadline: Duration,
        whole: Duration,
        call: impl Fn(usize) -> Result<T, SourceError> + Send + Sync + 'static,
    ) -> BatchAnswers<T> {
        let began = Instant::now();
        let count = calls.len();
        let batch = Arc::new(CallBatch {
            calls,
            state: Mutex::new(BatchState {
                next: 0,
                answers: std::iter::repeat_with(|| None).take(count).collect(),
                open: count,
                busy: Vec::new(),
                lost: 0,
            }),
            done: Notify::new(),
        });
        let closing = CloseOnDrop(Arc::clone(&batch));
        let call: Arc<dyn Fn(usize) -> Result<T, SourceError> + Send + Sync> = Arc::new(call);
        let mut threads: Vec<Ticket> = Vec::new();
        // When something was last under way.
        let mut moved = began;
        loop {
            let wanted = {
                let mut state = batch.lock();
                self.expire(&batch.calls, &mut state, deadline, began, whole);
                if state.lost >= MAX_LOST || began.elapsed() >= whole {
                    state.give_up(|| None);
                }
                if state.open == 0 {
                    break;
                }
                if !state.busy.is_empty() {
                    moved = Instant::now();
                }
                let alive = threads.len().saturating_sub(state.lost);
                let slow = |(_, since): &(usize, Instant)| since.elapsed() >= HAND_OVER;
                let all_slow = state.busy.len() >= alive && state.busy.iter().all(slow);
                state.is_waiting() && (alive == 0 || (all_slow && alive < MAX_AT_ONCE))
            };
            if wanted {
                match self.begin(label, &batch, &call, deadline) {
                    Ok(ticket) => threads.push(ticket),
                    Err(error) if batch.lock().busy.is_empty() => {
                        batch.lock().give_up(|| Some(Err(error.clone())));
                        continue;
                    }
                    // Those that are on their way may yet do the rest.
                    Err(_) => {}
                }
            } else if moved.elapsed() >= deadline
                && let Some(ticket) = threads.last()
            {
                // No thread became free for them.
                let error = ticket.timed_out(&self.record(label.to_owned(), deadline));
                batch.lock().give_up(|| Some(Err(error.clone())));
                continue;
            }
            let _ = timeout(HAND_OVER, batch.done.notified()).await;
        }
        drop(closing);
        let mut state = batch.lock();
        std::mem::take(&mut state.answers)
    }

    /// Gives up the calls that are past their deadline.
    fn expire<T>(
        &self,
        calls: &[String],
        state: &mut BatchState<T>,
        deadline: Duration,
        began: Instant,
        whole: Duration,
    ) {
        let over = began.elapsed() >= whole;
        let late = |(_, since): &(usize, Instant)| over || since.elapsed() >= deadline;
        let lost: Vec<_> = state.busy.iter().copied().filter(late).collect();
        state.busy.retain(|call| !late(call));
        for (index, since) in lost {
            state.lost += 1;
            let what = calls.get(index).cloned().unwrap_or_default();
            let last_good = self.shared.lock().last_good.get(&what).copied();
            let after = since.elapsed();
            let error = SourceError::TimedOut {
                what,
                after,
                last_good,
            };
            state.set(index, Some(Err(error)));
        }
    }

    /// Sends a thread after the calls that no thread has taken.
    fn begin<T: Send + 'static>(
        &self,
        label: &str,
        batch: &Arc<CallBatch<T>>,
        call: &Arc<dyn Fn(usize) -> Result<T, SourceError> + Send + Sync>,
        deadline: Duration,
    ) -> Result<Ticket, SourceError> {
        let (shared, batch, call) = (
            Arc::clone(&self.shared),
            Arc::clone(batch),
            Arc::clone(call),
        );
        let work = Box::new(move |id| {
            shared.serve_all(id, &batch, &*call, deadline);
            let deliver: Deliver = Box::new(|| ());
            // Each of its calls was remembered by itself.
            (false, deliver)
        });
        submit(&self.shared, &self.record(label.to_owned(), deadline), work)
    }
}

impl PoolShared {
    /// Takes one call after the other until there are none, or one was given up.
    fn serve_all<T>(
        &self,
        id: u64,
        batch: &CallBatch<T>,
        call: &(dyn Fn(usize) -> Result<T, SourceError> + Send + Sync),
        deadline: Duration,
    ) {
        loop {
            // A statement of its own, so that the lock is free before the call.
            let taken = batch.lock().take();
            let Some((index, what)) =
                taken.and_then(|index| Some((index, batch.calls.get(index)?)))
            else {
                return;
            };
            let answer = self.enter(id, what, deadline).and_then(|()| {
                catch_unwind(AssertUnwindSafe(|| call(index))).unwrap_or_else(|_| {
                    Err(SourceError::Other(format!("{what}: the call panicked")))
                })
            });
            if answer.is_ok() {
                let now = self.clock.now_ms();
                self.lock().remember(what.clone(), now);
            }
            let mut state = batch.lock();
            if !state.answer(index, answer) {
                return;
            }
            if state.open == 0 {
                batch.done.notify_one();
            }
        }
    }

    /// Puts the next call of a thread into the books.
    fn enter(&self, id: u64, what: &str, deadline: Duration) -> Result<(), SourceError> {
        let call = Call {
            what: what.to_owned(),
            asked: Instant::now(),
            asked_ms: self.clock.now_ms(),
            deadline,
        };
        let mut state = self.lock();
        // Its own last call is over.
        state.running.remove(&id);
        let hangs = state.hangs(what);
        state.running.insert(id, call);
        hangs.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests;
