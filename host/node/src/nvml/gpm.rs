//! GPM metrics of GPUs: a sample, a wait, another sample.
//!
//! Samples are taken on threads of their own and one GPU after the other: drivers are said to crash when two are asked at
//! the same time, and to go to each GPU's thread costs more than the call. Only one that takes longer than a quarter of
//! a second has another asked beside it; one that hangs keeps a thread.

use std::{sync::Arc, time::Duration};

use super::{
    gpu::Gpu,
    values::{Reading, Value},
};
use crate::{
    error::SourceError,
    hang_pool::{HangPool, MAX_LOST},
};

/// Threads for calls to GPUs that hang, and one for the others.
const THREADS: usize = 8;

/// Values by the id of the metric.
type Metrics = Vec<(u32, f64)>;

/// Takes samples.
pub(super) struct Gpm {
    threads: HangPool,
    /// Held while GPUs are asked, not while they are waited for.
    turn: tokio::sync::Mutex<()>,
    /// Longest wait for one GPU.
    deadline: Duration,
}

impl Gpm {
    pub fn new(deadline: Duration) -> Self {
        Self {
            threads: HangPool::new("nvml-gpm", THREADS),
            turn: tokio::sync::Mutex::default(),
            deadline,
        }
    }

    /// The metrics of each GPU between two samples that are `period` apart, or what it answered lately.
    pub async fn metrics(
        &self,
        gpus: &[&Arc<Gpu>],
        ids: Vec<u32>,
        period: Duration,
    ) -> Vec<Result<Metrics, SourceError>> {
        let period_ms = u32::try_from(period.as_millis()).unwrap_or(u32::MAX);
        let metrics = Reading::GpmMetrics(ids, period_ms);
        // Samples belong to the caller that takes them. In the order of all callers, so that none waits for another for
        // ever.
        let mut turns = Vec::with_capacity(gpus.len());
        for gpu in gpus {
            turns.push(gpu.gpm_turn.lock().await);
        }
        let mut answers: Vec<_> = gpus.iter().map(|gpu| gpu.lately(&metrics)).collect();
        let mut open: Vec<(usize, Arc<Gpu>)> = Vec::new();
        for (place, (gpu, answer)) in gpus.iter().zip(&answers).enumerate() {
            if answer.is_none() {
                open.push((place, Arc::clone(gpu)));
            }
        }
        if !open.is_empty() {
            let mut sampled = self.ask(&open, &Reading::GpmSample).await.into_iter();
            open.retain(|(place, _)| match sampled.next() {
                Some(Err(error)) => {
                    set(&mut answers, *place, Err(error));
                    false
                }
                _ => true,
            });
        }
        // Where no GPU took a sample, such as before Hopper, there is nothing to wait for.
        if !open.is_empty() {
            tokio::time::sleep(period).await;
            let found = self.ask(&open, &metrics).await;
            for ((place, _), answer) in open.iter().zip(found) {
                set(&mut answers, *place, answer);
            }
        }
        let answers = answers.into_iter().zip(gpus);
        let answers = answers.map(|(answer, gpu)| {
            let answer = answer.unwrap_or_else(|| Err(not_asked(gpu, &metrics, self.deadline)))?;
            Metrics::try_from(answer).map_err(|_| {
                let (call, who) = (metrics.call(), gpu.identity().label());
                SourceError::Other(format!(
                    "{call} of {who}: the driver answered something else"
                ))
            })
        });
        answers.collect()
    }

    /// Asks the GPUs one after the other.
    async fn ask(
        &self,
        gpus: &[(usize, Arc<Gpu>)],
        reading: &Reading,
    ) -> Vec<Result<Value, SourceError>> {
        let _turn = self.turn.lock().await;
        let gpus: Vec<Arc<Gpu>> = gpus.iter().map(|(_, gpu)| Arc::clone(gpu)).collect();
        let call = reading.call();
        let name = |gpu: &Arc<Gpu>| format!("{call} of {}", gpu.identity().label());
        let calls = gpus.iter().map(name).collect();
        // Those that hang are given up by themselves.
        let whole = self.deadline.saturating_mul(MAX_LOST as u32 + 1);
        let (asked, question) = (gpus.clone(), reading.clone());
        let found = self
            .threads
            .run_all(
                call,
                calls,
                self.deadline,
                whole,
                move |index| match asked.get(index) {
                    Some(gpu) => gpu.read_here(&question),
                    None => Err(SourceError::NotFound(question.call().to_owned())),
                },
            )
            .await;
        let found = found.into_iter().zip(&gpus);
        let found = found.map(|(answer, gpu)| match answer {
            Some(Err(SourceError::TimedOut { after, .. })) => Err(SourceError::TimedOut {
                what: format!("{}: not answering", name(gpu)),
                after,
                last_good: gpu.last_good(),
            }),
            Some(answer) => answer,
            None => Err(not_asked(gpu, reading, whole)),
        });
        found.collect()
    }
}

fn set(
    answers: &mut [Option<Result<Value, SourceError>>],
    place: usize,
    answer: Result<Value, SourceError>,
) {
    if let Some(open) = answers.get_mut(place) {
        *open = Some(answer);
    }
}

fn not_asked(gpu: &Gpu, reading: &Reading, after: Duration) -> SourceError {
    SourceError::TimedOut {
        what: format!(
            "{} of {} (not asked: other GPUs do not answer)",
            reading.call(),
            gpu.identity().label()
        ),
        after,
        last_good: gpu.last_good(),
    }
}
