//! One GPU: its thread, its latest answers, and what happens when it does not answer.
//!
//! All calls of one GPU run one after the other on one thread, so that a GPU that hangs holds that thread and nothing
//! else. A caller waits [`DEADLINE`] at most; while a call hangs, further questions fail at once and say for how
//! long. When it comes back, the next question is asked again.
//!
//! Going to that thread and back costs more than a call. So questions that are asked together go together, and the first
//! question of a round takes along those that were asked in the round before: no call that nobody wanted.

use std::{
    collections::HashMap,
    convert::Infallible,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use rustc_hash::FxBuildHasher;
use tokio::sync::mpsc;

use super::{
    driver::{Answer, Driver, GpuHandle},
    fault::Fault,
    values::{Identity, Reading, Value},
};
use crate::{clock::Clock, error::SourceError, hang_pool::HangPool};

/// Longest wait for one answer.
pub const DEADLINE: Duration = Duration::from_secs(5);
/// How long an answer is given to others, too: long enough for the checkers of one round that ask the same thing.
pub const SHARED_FOR: Duration = Duration::from_secs(3);
/// Most cached answers of one GPU; questions have arguments that guests choose.
const MAX_CACHED: usize = 512;
/// How old an answer is that is asked for again on the way: it is of another round, which may last for seconds (GPM
/// samples).
pub const AGAIN_AFTER: Duration = Duration::from_secs(10);
/// How old it is at most: of the round before, with the usual minute between them.
const AGAIN_WITHIN: Duration = Duration::from_secs(90);
/// The name of the thread's work while it asks for a round's answers.
const AGAIN: &str = "the questions of the last round";
/// Longest that the questions that are taken along may hold up the one that was asked.
pub(super) const ON_THE_WAY: Duration = Duration::from_millis(250);

/// The times of a driver's calls and caches, which tests shorten.
#[derive(Debug, Clone, Copy)]
pub struct NvmlTiming {
    /// See [`DEADLINE`].
    pub deadline: Duration,
    /// See [`SHARED_FOR`].
    pub shared_for: Duration,
    /// See [`AGAIN_AFTER`].
    pub again_after: Duration,
    /// How long a list of GPUs counts.
    pub round: Duration,
    /// Wait for a list of GPUs when there is an older one.
    pub patience: Duration,
    /// Wait for the first list of GPUs, and for the driver to start.
    pub first: Duration,
}

/// The settings and clock that all GPUs share.
#[derive(Clone)]
pub(super) struct Common {
    pub clock: Clock,
    pub timing: NvmlTiming,
    /// Set when an answer says that the list of GPUs may be out of date.
    pub suspect: Arc<AtomicBool>,
    /// Answers to questions that were asked before this moment are not shared any more.
    pub not_before: Arc<Mutex<Option<Instant>>>,
}

impl Common {
    /// Returns whether an answer to a question that was asked at `asked` may still be used.
    pub fn is_current(&self, asked: Instant) -> bool {
        lock(&self.not_before).is_none_or(|moment| asked >= moment)
    }
}

/// A driver that is in use. The owner of a reference may be within a call.
pub(super) struct OpenDriver(pub Arc<dyn Driver>);

/// Whether a GPU can be asked, and through which driver.
#[derive(Clone)]
pub(super) enum GpuAccess {
    /// It can be asked through this slot of the driver.
    Driver(Arc<OpenDriver>, GpuHandle),
    /// It has disappeared, or could not be opened.
    Missing(Fault),
    /// The driver was closed.
    Closed,
}

/// An answer that other callers can use.
struct CachedAnswer {
    /// When the driver was asked.
    asked: Instant,
    /// When it answered.
    at: Instant,
    answer: Answer,
    /// Whether a caller asked for it; otherwise it came along with another answer.
    wanted: bool,
}

/// The cached answers by question. The hash is quick and predictable, which is safe: there are [`MAX_CACHED`] answers at
/// most, whatever guests ask.
type AnswerCache = HashMap<Reading, CachedAnswer, FxBuildHasher>;

/// A GPU that was seen since the driver was started.
pub struct Gpu {
    identity: Mutex<Arc<Identity>>,
    place: Mutex<GpuAccess>,
    answers: Mutex<AnswerCache>,
    /// Held by the caller that uses the thread. A caller that waits for it in the meantime may find the answer when it
    /// is free.
    way: tokio::sync::Mutex<()>,
    /// The call under way.
    asking: Mutex<&'static str>,
    worker: HangPool,
    /// Unix milliseconds; 0 is never.
    last_good: AtomicU64,
    /// Held by the caller that takes GPM samples.
    pub(super) gpm_turn: tokio::sync::Mutex<()>,
    common: Common,
}

impl Gpu {
    pub(super) fn new(identity: Identity, place: GpuAccess, common: Common) -> Self {
        Self {
            worker: HangPool::new(format!("nvml-{}", identity.index), 1),
            identity: Mutex::new(Arc::new(identity)),
            place: Mutex::new(place),
            answers: Mutex::default(),
            way: tokio::sync::Mutex::default(),
            asking: Mutex::default(),
            last_good: AtomicU64::new(0),
            gpm_turn: tokio::sync::Mutex::default(),
            common,
        }
    }

    /// Its identity.
    pub fn identity(&self) -> Arc<Identity> {
        Arc::clone(&lock(&self.identity))
    }

    /// When it last answered, Unix milliseconds.
    pub fn last_good(&self) -> Option<u64> {
        match self.last_good.load(Ordering::Relaxed) {
            0 => None,
            time => Some(time),
        }
    }

    pub(super) fn set_identity(&self, identity: Identity) {
        *lock(&self.identity) = Arc::new(identity);
    }

    pub(super) fn place(&self) -> GpuAccess {
        lock(&self.place).clone()
    }

    pub(super) fn set_place(&self, place: GpuAccess) {
        // The old place may be the last to hold a driver, whose end may take long: not under the lock.
        let before = std::mem::replace(&mut *lock(&self.place), place);
        drop(before);
    }

    /// The answer to a question, from the last [`SHARED_FOR`] or fresh.
    ///
    /// # Errors
    /// What the driver says; [`SourceError::TimedOut`] when it does not answer; [`SourceError::SourceLost`] or
    /// [`SourceError::NotFound`] when the GPU or the driver has gone.
    pub async fn ask<T: TryFrom<Value>>(
        self: &Arc<Self>,
        reading: Reading,
    ) -> Result<T, SourceError> {
        let call = reading.call();
        let value = self.value(reading).await?;
        T::try_from(value).map_err(|_| {
            SourceError::Other(format!(
                "{call} of {}: the driver answered something else",
                self.identity().label()
            ))
        })
    }

    /// Asks these on one way to the thread, unless they are known: questions that come next find their answers.
    pub(super) async fn prepare(self: &Arc<Self>, readings: &[Reading]) {
        let unknown = readings
            .iter()
            .filter(|reading| self.cached(reading).is_none());
        let mut unknown = unknown.cloned();
        if let Some(first) = unknown.next() {
            // The error is ignored here: the caller that asks later receives it.
            let _ = self.value_with(first, unknown.collect()).await;
        }
    }

    /// As [`Self::ask`], of any type.
    pub(super) async fn value(self: &Arc<Self>, reading: Reading) -> Result<Value, SourceError> {
        self.value_with(reading, Vec::new()).await
    }

    /// The answer to a question that takes others along.
    async fn value_with(
        self: &Arc<Self>,
        reading: Reading,
        along: Vec<Reading>,
    ) -> Result<Value, SourceError> {
        if let Some(gone) = self.why_unreachable(reading.call()) {
            return Err(gone);
        }
        let said =
            |answer: Answer, took: Duration| answer.map_err(|fault| self.to_source(&fault, took));
        if let Some(answer) = self.cached(&reading) {
            return said(answer, Duration::ZERO);
        }
        let call = reading.call();
        let deadline = self.common.timing.deadline;
        let Ok(_way) = tokio::time::timeout(deadline, self.way.lock()).await else {
            return Err(self.not_answering(call));
        };
        if let Some(answer) = self.cached(&reading) {
            return said(answer, Duration::ZERO);
        }
        let (gpu, asked) = (Arc::clone(self), reading.clone());
        let asked = self
            .worker
            .run(call, deadline, move || Ok(gpu.ask_driver(asked, along)));
        match asked.await {
            Ok((Some(answer), took)) => said(answer, took),
            // It went while the question waited.
            Ok((None, _)) => Err(self
                .why_unreachable(call)
                .unwrap_or_else(|| self.closed(call))),
            // It may be another one, taken along, that hangs.
            Err(SourceError::TimedOut { .. }) => match self.cached(&reading) {
                Some(answer) => said(answer, Duration::ZERO),
                None => Err(self.not_answering(call)),
            },
            Err(other) => Err(other),
        }
    }

    /// Calls the driver on the GPU's thread. `None` when there is no driver to ask.
    fn ask_driver(&self, reading: Reading, along: Vec<Reading>) -> (Option<Answer>, Duration) {
        let GpuAccess::Driver(held, slot) = self.place() else {
            return (None, Duration::ZERO);
        };
        let began = Instant::now();
        let answer = self.read(&held, slot, &reading);
        let took = began.elapsed();
        if reading.is_shared() {
            self.keep(reading.clone(), began, &answer, true);
        }
        self.ask_along(&held, slot, Some(&reading), along);
        (Some(answer), took)
    }

    fn read(&self, held: &OpenDriver, slot: GpuHandle, reading: &Reading) -> Answer {
        *lock(&self.asking) = reading.call();
        let answer = held.0.read(slot, reading);
        self.note(&answer);
        answer
    }

    /// Asks what came along, and what was wanted in the last round and is no longer fresh.
    fn ask_along(
        &self,
        held: &OpenDriver,
        slot: GpuHandle,
        just_asked: Option<&Reading>,
        along: Vec<Reading>,
    ) {
        let began = Instant::now();
        let again = self.wanted_again();
        let again = again
            .into_iter()
            .filter(|it| Some(it) != just_asked && !along.contains(it));
        let again: Vec<Reading> = again.collect();
        let along = along.into_iter().map(|reading| (reading, true));
        for (reading, wanted) in along.chain(again.into_iter().map(|reading| (reading, false))) {
            if began.elapsed() > ON_THE_WAY || self.common.suspect.load(Ordering::Relaxed) {
                return;
            }
            let asked = Instant::now();
            let answer = self.read(held, slot, &reading);
            self.keep(reading, asked, &answer, wanted);
        }
    }

    fn wanted_again(&self) -> Vec<Reading> {
        let answers = lock(&self.answers);
        let again = answers
            .iter()
            .filter(|(reading, cached)| self.is_wanted_again(reading, cached));
        again.map(|(reading, _)| reading.clone()).collect()
    }

    fn is_wanted_again(&self, reading: &Reading, cached: &CachedAnswer) -> bool {
        let age = cached.at.elapsed();
        let of_last_round = age >= self.common.timing.again_after && age < AGAIN_WITHIN;
        cached.wanted && of_last_round && reading.stands_alone()
    }

    /// Takes note of when it answered, and whether it is still one of us.
    fn note(&self, answer: &Answer) {
        match answer {
            Err(fault) if fault.is_lost() || fault.needs_reset() => {
                self.common.suspect.store(true, Ordering::Relaxed);
            }
            Err(fault) if fault.is_no_driver() || fault.code == 1 => {
                self.common.suspect.store(true, Ordering::Relaxed);
            }
            _ => self
                .last_good
                .store(self.common.clock.now_ms(), Ordering::Relaxed),
        }
    }

    /// The answer of the last [`SHARED_FOR`], if there is one.
    pub(super) fn lately(&self, reading: &Reading) -> Option<Result<Value, SourceError>> {
        let answer = self.cached(reading)?;
        Some(answer.map_err(|fault| self.to_source(&fault, Duration::ZERO)))
    }

    /// Asks on the thread that calls this, which is not the GPU's own.
    pub(super) fn read_here(&self, reading: &Reading) -> Result<Value, SourceError> {
        let call = reading.call();
        if let Some(error) = self.why_unreachable(call).or_else(|| self.hangs(call)) {
            return Err(error);
        }
        let GpuAccess::Driver(held, slot) = self.place() else {
            return Err(self.closed(call));
        };
        let began = Instant::now();
        let answer = held.0.read(slot, reading);
        self.note(&answer);
        if reading.is_shared() {
            self.keep(reading.clone(), began, &answer, true);
        }
        answer.map_err(|fault| self.to_source(&fault, began.elapsed()))
    }

    fn to_source(&self, fault: &Fault, took: Duration) -> SourceError {
        fault.to_source(&self.identity().label(), took, self.last_good())
    }

    /// Returns why this GPU cannot be asked now, if so.
    pub(super) fn why_unreachable(&self, call: &'static str) -> Option<SourceError> {
        match &*lock(&self.place) {
            GpuAccess::Driver(..) => None,
            GpuAccess::Missing(fault) => {
                let who = self.identity().label();
                Some(fault.to_source(&who, Duration::ZERO, self.last_good()))
            }
            GpuAccess::Closed => Some(self.closed(call)),
        }
    }

    fn closed(&self, call: &'static str) -> SourceError {
        let who = self.identity().label();
        SourceError::NotFound(format!("{call} of {who}: the driver was unloaded"))
    }

    /// Returns an error if a call hangs.
    pub(super) fn hangs(&self, call: &'static str) -> Option<SourceError> {
        (!self.worker.stuck().is_empty()).then(|| self.not_answering(call))
    }

    fn not_answering(&self, call: &'static str) -> SourceError {
        let who = self.identity().label();
        let hanging = *lock(&self.asking);
        let (what, after) = match self.worker.stuck().into_iter().next() {
            Some(stuck) if hanging == call => {
                (format!("{call} of {who}: not answering"), stuck.elapsed)
            }
            Some(stuck) => (
                format!("{call} of {who}: not answering, {hanging} hangs"),
                stuck.elapsed,
            ),
            None => (
                format!("{call} of {who}: not answering"),
                self.common.timing.deadline,
            ),
        };
        SourceError::TimedOut {
            what,
            after,
            last_good: self.last_good(),
        }
    }

    /// Returns the recent answers; `None` if the GPU cannot be asked now.
    pub(super) fn cached_answers(&self) -> Option<CachedAnswers<'_>> {
        if !matches!(&*lock(&self.place), GpuAccess::Driver(..)) {
            return None;
        }
        Some(CachedAnswers {
            gpu: self,
            now: Instant::now(),
            answers: lock(&self.answers),
        })
    }

    fn cached(&self, reading: &Reading) -> Option<Answer> {
        let mut answers = lock(&self.answers);
        let cached = answers.get_mut(reading)?;
        self.is_shared(cached, Instant::now()).then(|| {
            cached.wanted = true;
            cached.answer.clone()
        })
    }

    fn is_shared(&self, cached: &CachedAnswer, now: Instant) -> bool {
        now.duration_since(cached.at) < self.common.timing.shared_for
            && self.common.is_current(cached.asked)
    }

    fn keep(&self, reading: Reading, asked: Instant, answer: &Answer, wanted: bool) {
        let shared_for = self.common.timing.shared_for;
        let mut answers = lock(&self.answers);
        if answers.len() >= MAX_CACHED {
            answers.retain(|_, cached| cached.at.elapsed() < shared_for);
        }
        if answers.len() < MAX_CACHED {
            let cached = CachedAnswer {
                asked,
                at: Instant::now(),
                answer: answer.clone(),
                wanted,
            };
            answers.insert(reading, cached);
        }
    }

    /// Drops the cached answers: another driver may answer differently.
    pub(super) fn forget_answers(&self) {
        lock(&self.answers).clear();
    }
}

/// The answers of the last [`SHARED_FOR`], for a caller with many questions: under one lock, and without copies.
/// Another caller that asks the GPU in the meantime waits.
pub struct CachedAnswers<'a> {
    gpu: &'a Gpu,
    now: Instant,
    answers: MutexGuard<'a, AnswerCache>,
}

impl CachedAnswers<'_> {
    /// Returns the answer to one question, if it is cached.
    pub fn get(&mut self, reading: &Reading) -> Option<Result<&Value, SourceError>> {
        let cached = self.answers.get_mut(reading)?;
        if !self.gpu.is_shared(cached, self.now) {
            return None;
        }
        cached.wanted = true;
        let answer = cached.answer.as_ref();
        Some(answer.map_err(|fault| self.gpu.to_source(fault, Duration::ZERO)))
    }
}

/// Asks each of these GPUs what was wanted of it in the last round and is no longer fresh. Waits as long as it may hold up
/// others, and is woken once, not by each GPU.
pub(super) async fn ask_again(gpus: &[Arc<Gpu>]) {
    let (one_less, mut none_left) = mpsc::channel::<Infallible>(1);
    let mut asked = Vec::with_capacity(gpus.len());
    for gpu in gpus {
        // The caller that holds the thread takes these questions along.
        let Ok(way) = gpu.way.try_lock() else {
            continue;
        };
        if !lock(&gpu.answers)
            .iter()
            .any(|(reading, cached)| gpu.is_wanted_again(reading, cached))
        {
            continue;
        }
        let (own, one_less) = (Arc::clone(gpu), one_less.clone());
        let asking = gpu
            .worker
            .start(AGAIN, gpu.common.timing.deadline, move || {
                if let GpuAccess::Driver(held, slot) = own.place() {
                    own.ask_along(&held, slot, None, Vec::new());
                }
                one_less
            });
        // The error is ignored here: the caller that asks later receives it.
        asked.extend(asking.ok().map(|ticket| (way, ticket)));
    }
    drop(one_less);
    let _ = tokio::time::timeout(ON_THE_WAY, none_left.recv()).await;
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while it holds one of these, and the books would still be right.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
