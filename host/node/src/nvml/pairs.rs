//! Questions about two GPUs. They have a thread of their own: each concerns two GPUs, and would hold up the threads of both.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    driver::GpuHandle,
    gpu::{Gpu, GpuAccess, ON_THE_WAY, OpenDriver},
};
use crate::{error::SourceError, hang_pool::HangPool};

const CALL: &str = "nvmlDeviceGetP2PStatus";

/// A question that can be asked.
#[derive(Clone)]
struct Question {
    held: Arc<OpenDriver>,
    slots: (GpuHandle, GpuHandle),
    from: Arc<Gpu>,
    to: Arc<Gpu>,
}

impl Question {
    /// Or why it cannot be asked.
    fn of(from: &Arc<Gpu>, to: &Arc<Gpu>) -> Result<Self, SourceError> {
        for gpu in [from, to] {
            if let Some(error) = gpu.why_unreachable(CALL).or_else(|| gpu.hangs(CALL)) {
                return Err(error);
            }
        }
        match (from.place(), to.place()) {
            (GpuAccess::Driver(held, from_slot), GpuAccess::Driver(_, to_slot)) => Ok(Self {
                held,
                slots: (from_slot, to_slot),
                from: Arc::clone(from),
                to: Arc::clone(to),
            }),
            _ => Err(SourceError::NotFound(CALL.to_owned())),
        }
    }

    fn ask(&self) -> Result<u32, SourceError> {
        let began = Instant::now();
        let answer = self.held.0.p2p_status(self.slots.0, self.slots.1);
        let last_good = self.from.last_good();
        answer.map_err(|fault| fault.to_source(&self.who(), began.elapsed(), last_good))
    }

    /// Both, for errors.
    fn who(&self) -> String {
        let label = |gpu: &Gpu| gpu.identity().label();
        format!("{} and {}", label(&self.from), label(&self.to))
    }
}

/// All pairs of so many: 0 and 1, 0 and 2 …, 1 and 2 ….
fn of(count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count).flat_map(move |first| (first + 1..count).map(move |second| (first, second)))
}

/// `nvmlGpuP2PStatus_t` over NVLink of all pairs, on the pool's thread, in as few ways to it as their time allows. When
/// one hangs, those behind it have no answer either.
pub(super) async fn statuses(
    gpus: &[&Arc<Gpu>],
    pool: &HangPool,
    deadline: Duration,
) -> Vec<Result<u32, SourceError>> {
    let question = |(from, to): (usize, usize)| Some(Question::of(gpus.get(from)?, gpus.get(to)?));
    let questions: Vec<Result<Question, SourceError>> =
        of(gpus.len()).filter_map(question).collect();
    let mut open: Vec<Question> = questions.iter().flatten().cloned().collect();
    let mut answers = Vec::with_capacity(open.len());
    while let Some(first) = open.first() {
        let what = format!("{CALL} of {}", first.who());
        let asked = open.clone();
        let some = pool
            .run(&what, deadline, move || Ok(ask_some(&asked)))
            .await;
        match some {
            Ok(some) => {
                open.drain(..some.len());
                answers.extend(some);
            }
            Err(error) => answers.extend(open.drain(..).map(|_| Err(error.clone()))),
        }
    }
    let mut answers = answers.into_iter();
    let answered = questions.into_iter().map(|question| match question {
        Ok(_) => answers
            .next()
            .unwrap_or_else(|| Err(SourceError::NotFound(CALL.to_owned()))),
        Err(error) => Err(error),
    });
    answered.collect()
}

/// At least the first one.
fn ask_some(questions: &[Question]) -> Vec<Result<u32, SourceError>> {
    let began = Instant::now();
    let mut answers = Vec::with_capacity(questions.len());
    for question in questions {
        answers.push(question.ask());
        if began.elapsed() > ON_THE_WAY {
            break;
        }
    }
    answers
}

#[cfg(test)]
mod tests {
    #[test]
    fn each_pair_once() {
        let pairs: Vec<_> = super::of(4).collect();
        assert_eq!(pairs, [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]);
        assert_eq!(super::of(1).count(), 0);
        assert_eq!(super::of(0).count(), 0);
    }
}
