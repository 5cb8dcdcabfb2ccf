//! A second version of a checker beside the one that runs: it is asked the same questions in the same moments, and
//! what it answers goes nowhere but into a comparison.
//!
//! It never holds up the version that runs: questions wait in a short queue, and what does not fit is left out and
//! counted. Of the component's key-values it has a copy of its own, in memory.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::mpsc;

use super::{
    Services, WasmChecker,
    comparison::{self, Outcome},
};
use crate::{
    capability::{Bill, Values},
    model::{CheckContext, Event, Report},
    node::kmsg::KernelMessage,
    runtime::Finished,
    wire::{Comparison, MetaTime, ShadowView},
};

/// Comparisons that are remembered.
const REMEMBERED: usize = 50;
/// Questions that wait.
const QUEUE: usize = 4;
/// Failures in a row after which it ends: a version that always exceeds its deadline gives nothing to compare.
const MAX_FAILURES: u32 = 10;
/// Most keys, and bytes of keys and values, of its copy: the store's bounds for a component.
const MAX_KEYS: usize = 256;
const MAX_BYTES: usize = 1 << 20;

/// A version beside a component.
pub struct Shadow {
    digest: String,
    checker: Option<Arc<WasmChecker>>,
    questions: mpsc::Sender<Question>,
    waiting: Mutex<Option<mpsc::Receiver<Question>>>,
    seen: Mutex<ShadowRecord>,
}

/// A question to the running version, and its outcome.
struct Question {
    context: CheckContext,
    /// The kernel messages; `None` for a check.
    messages: Option<Vec<Arc<KernelMessage>>>,
    running: Outcome,
    bill: Bill,
}

#[derive(Default)]
struct ShadowRecord {
    view: ShadowView,
    last: VecDeque<Comparison>,
}

impl Shadow {
    /// Of a component that was loaded from a file with this SHA-256 sum, or of one that could not be, and why.
    pub fn new(digest: String, checker: Result<WasmChecker, String>) -> Self {
        let (questions, waiting) = mpsc::channel(QUEUE);
        let (checker, problem) = match checker {
            Ok(checker) => (Some(Arc::new(checker)), String::new()),
            Err(problem) => (None, problem),
        };
        let view = ShadowView {
            problem,
            ..ShadowView::default()
        };
        Self {
            digest,
            checker,
            questions,
            waiting: Mutex::new(Some(waiting)),
            seen: Mutex::new(ShadowRecord {
                view,
                last: VecDeque::new(),
            }),
        }
    }

    /// Returns the comparison so far.
    pub fn view(&self, component: &str) -> ShadowView {
        let seen = self.seen();
        ShadowView {
            component: component.to_owned(),
            digest: self.digest.clone(),
            comparisons: seen.last.iter().rev().cloned().collect(),
            ..seen.view.clone()
        }
    }

    /// Passes on that the running version was checked.
    pub(super) fn check_beside(&self, context: &CheckContext, finished: &Finished<Report>) {
        let running = match &finished.answer {
            Ok(report) => Ok(report.clone()),
            Err(error) => Err(error.to_string()),
        };
        self.ask(context, None, running, finished.bill);
    }

    /// Passes on that the running version got kernel messages.
    pub(super) fn messages_beside(
        &self,
        context: &CheckContext,
        messages: &[Arc<KernelMessage>],
        finished: &Finished<Vec<Event>>,
    ) {
        let running = match &finished.answer {
            Ok(events) => Ok(of_events(events.clone())),
            Err(error) => Err(error.to_string()),
        };
        self.ask(context, Some(messages.to_vec()), running, finished.bill);
    }

    fn ask(
        &self,
        context: &CheckContext,
        messages: Option<Vec<Arc<KernelMessage>>>,
        running: Outcome,
        bill: Bill,
    ) {
        if self.checker.is_none() || !self.seen().view.problem.is_empty() {
            return;
        }
        let question = Question {
            context: context.clone(),
            messages,
            running,
            bill,
        };
        if self.questions.try_send(question).is_err() {
            self.seen().view.skipped += 1;
        }
    }

    /// Answers questions until it is dropped.
    pub(super) async fn run(&self, component: &str, services: &Services) {
        let waiting = self
            .waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let (Some(checker), Some(mut waiting)) = (&self.checker, waiting) else {
            return;
        };
        let mut values = copied(component, services).await;
        let mut failures = 0;
        while let Some(question) = waiting.recv().await {
            let (outcome, bill) = answer(checker, services, &question, &mut values).await;
            failures = if outcome.is_ok() { 0 } else { failures + 1 };
            self.compare(&question, &outcome, &bill);
            if failures >= MAX_FAILURES {
                let last = outcome.err().unwrap_or_default();
                tracing::warn!(
                    component,
                    "its shadow is ended after {failures} failures: it {last}"
                );
                self.seen().view.problem = format!(
                    "it failed {failures} times in a row and is not asked any more: it {last}"
                );
                return;
            }
        }
    }

    fn compare(&self, question: &Question, shadow: &Outcome, bill: &Bill) {
        let (differences, differing, further) = comparison::between(&question.running, shadow);
        let same = differences.is_empty();
        let mut seen = self.seen();
        let ShadowRecord { view, last } = &mut *seen;
        view.compared += 1;
        view.same += u64::from(same);
        view.differing.outcome += differing.outcome;
        view.differing.health += differing.health;
        view.differing.reason += differing.reason;
        view.differing.events += differing.events;
        view.differing.metrics += differing.metrics;
        last.push_back(Comparison {
            time: MetaTime(Some(question.context.now)),
            call: match question.messages {
                Some(_) => "kernel messages",
                None => "check",
            },
            same,
            differences,
            further_differences: further,
            running: comparison::cost(&question.bill),
            shadow: comparison::cost(bill),
        });
        if last.len() > REMEMBERED {
            last.pop_front();
        }
    }

    fn seen(&self) -> MutexGuard<'_, ShadowRecord> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn answer(
    checker: &WasmChecker,
    services: &Services,
    question: &Question,
    values: &mut Values,
) -> (Outcome, Bill) {
    let context = &question.context;
    let own = Arc::clone(values);
    let (outcome, bill, writes) = match &question.messages {
        None => {
            let finished = checker.check_with(services, context, own).await;
            let outcome = finished.answer.map_err(|error| error.to_string());
            (outcome, finished.bill, finished.state_writes)
        }
        Some(_) if !checker.watches_kmsg() => {
            return (
                Err("does not watch the kernel log".to_owned()),
                Bill::default(),
            );
        }
        Some(messages) => {
            let called = checker.on_messages_with(services, context, messages, own);
            let finished = called.await;
            let outcome = finished.answer.map(of_events);
            let outcome = outcome.map_err(|error| error.to_string());
            (outcome, finished.bill, finished.state_writes)
        }
    };
    keep(values, writes);
    (outcome, bill)
}

fn of_events(events: Vec<Event>) -> Report {
    Report {
        supported: true,
        events,
        ..Report::default()
    }
}

/// Takes over the values that a call wrote: all of them, or none if they exceed the store's bounds.
fn keep(values: &mut Values, writes: BTreeMap<String, Option<Vec<u8>>>) {
    if writes.is_empty() {
        return;
    }
    let mut new = BTreeMap::clone(values);
    for (key, value) in writes {
        match value {
            Some(value) => drop(new.insert(key, value)),
            None => drop(new.remove(&key)),
        }
    }
    let bytes: usize = new.iter().map(|(key, value)| key.len() + value.len()).sum();
    if new.len() <= MAX_KEYS && bytes <= MAX_BYTES {
        *values = Arc::new(new);
    }
}

/// Returns the component's present values.
async fn copied(component: &str, services: &Services) -> Values {
    let mut values = BTreeMap::new();
    if let Some(store) = &services.store {
        for key in store.state_keys(component).await.unwrap_or_default() {
            if let Ok(Some(value)) = store.state_get(component, &key).await {
                values.insert(key, value);
            }
        }
    }
    Arc::new(values)
}

#[cfg(test)]
mod tests;
