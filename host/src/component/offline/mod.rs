//! Judges kernel messages that do not come from this machine's log: pasted lines and saved logs. The same sandboxed
//! checkers, fed with what their patterns match, with a history in memory and the log's own time.
//!
//! A log may be larger than memory: messages come one after another, and of a component's events only so many are kept
//! that the worst and the newest are among them ([`merged`]).

mod merged;
mod shape;

use std::sync::Arc;

pub use self::merged::LeftOut;
use self::merged::Merged;
use super::{Component, Services, WasmChecker};
use crate::{
    model::{CheckContext, HealthState, Trigger, UnixMillis},
    node::kmsg::{KernelMessage, Prefilter, WatcherId},
    store::{Commit, StoredEvent},
};

/// Messages handed over at once, as the contract promises.
const BATCH: usize = 512;
/// A log that has ended is judged once more as if so long had passed, in milliseconds: longer than any checker waits for
/// further lines.
const AFTER_THE_END_MS: u64 = 60_000;
/// Most problems of one component that are told; further ones are counted.
const MAX_PROBLEMS: usize = 10;

/// What one component makes of a log.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Judgement {
    /// The component.
    pub component: String,
    /// Its events, newest first.
    pub events: Vec<StoredEvent>,
    /// Events that there was no room for.
    pub left_out: LeftOut,
    /// Its verdicts, if it draws them from the log and nothing else: what it says of this machine is not asked.
    pub states: Vec<HealthState>,
    /// What went wrong while it looked.
    pub problems: Vec<String>,
}

impl Judgement {
    /// Whether everything that the component found could be kept and judged.
    pub fn is_complete(&self) -> bool {
        self.problems.is_empty() && self.left_out.events == 0
    }
}

/// Messages for one component.
#[derive(Debug)]
pub struct Batch {
    watcher: WatcherId,
    messages: Vec<Arc<KernelMessage>>,
}

/// Sorts messages by the components that want them. Apart from [`Judge`], so that it can run on another thread.
#[derive(Debug)]
pub struct Sorter {
    prefilter: Prefilter,
    waiting: Vec<Vec<Arc<KernelMessage>>>,
    hits: Vec<WatcherId>,
}

impl Sorter {
    /// Takes the next message of the log, and hands full batches on.
    pub fn take(&mut self, message: &KernelMessage, mut hand_on: impl FnMut(Batch)) {
        let text = message.text.as_bytes();
        self.prefilter.watchers_for_bytes(text, &mut self.hits);
        if self.hits.is_empty() {
            return;
        }
        let message = Arc::new(message.clone());
        for &watcher in &self.hits {
            let Some(waiting) = self.waiting.get_mut(watcher) else {
                continue;
            };
            waiting.push(Arc::clone(&message));
            if waiting.len() >= BATCH {
                let messages = std::mem::replace(waiting, Vec::with_capacity(BATCH));
                hand_on(Batch { watcher, messages });
            }
        }
    }

    /// The log has ended: hands on what is left.
    pub fn finish(self, mut hand_on: impl FnMut(Batch)) {
        for (watcher, messages) in self.waiting.into_iter().enumerate() {
            if !messages.is_empty() {
                hand_on(Batch { watcher, messages });
            }
        }
    }
}

/// The components that watch the kernel log, judging one log.
pub struct Judge<'s> {
    services: &'s Services,
    /// When each boot but the first began, ascending.
    boots: Vec<UnixMillis>,
    listeners: Vec<Listener<'s>>,
}

struct Listener<'s> {
    component: &'s Component,
    checker: Arc<WasmChecker>,
    context: CheckContext,
    merged: Merged,
    fed: bool,
    problems: Vec<String>,
}

impl<'s> Judge<'s> {
    /// Asks every component that watches the kernel log what it wants to see. `services` has a store of its own, and a
    /// clock that stands at the end of the log. `boots`: when each boot but the first began.
    pub async fn new(
        services: &'s Services,
        components: &'s [Component],
        boots: Vec<UnixMillis>,
    ) -> (Self, Sorter) {
        let mut listeners: Vec<Listener<'s>> = Vec::new();
        let mut patterns = Vec::new();
        for component in components {
            let Some(checker) = component.kmsg_watcher() else {
                continue;
            };
            let mut problems = Vec::new();
            match checker.patterns(services).await.answer {
                Ok(wanted) => patterns.push((listeners.len(), wanted)),
                Err(error) => problems.push(format!("no kernel log patterns: it {error}")),
            }
            listeners.push(Listener {
                component,
                checker,
                context: component.context(services, Trigger::Event, None),
                merged: Merged::default(),
                fed: false,
                problems,
            });
        }
        let (prefilter, refused) = Prefilter::new(&patterns);
        for refused in refused {
            if let Some(listener) = listeners.get_mut(refused.watcher()) {
                listener.problems.push(refused.to_string());
            }
        }
        let sorter = Sorter {
            prefilter,
            waiting: listeners.iter().map(|_| Vec::new()).collect(),
            hits: Vec::new(),
        };
        let judge = Self {
            services,
            boots,
            listeners,
        };
        (judge, sorter)
    }

    /// Shows a component its next messages.
    pub async fn feed(&mut self, batch: Batch) {
        if let Some(listener) = self.listeners.get_mut(batch.watcher) {
            listener.fed = true;
            listener
                .feed(self.services, &self.boots, &batch.messages)
                .await;
        }
    }

    /// The log has ended. Components that make nothing of it are left out.
    pub async fn finish(self) -> Vec<Judgement> {
        let mut judgements = Vec::new();
        for listener in self.listeners {
            let judgement = listener.finish(self.services, &self.boots).await;
            if !judgement.events.is_empty() || !judgement.problems.is_empty() {
                judgements.push(judgement);
            }
        }
        judgements
    }
}

impl Listener<'_> {
    async fn feed(
        &mut self,
        services: &Services,
        boots: &[UnixMillis],
        messages: &[Arc<KernelMessage>],
    ) {
        let finished = self
            .checker
            .on_messages(services, &self.context, messages)
            .await;
        match finished.answer {
            Ok(events) => {
                for event in events {
                    let boot = boots.partition_point(|begin| *begin <= event.time);
                    self.merged.add(event, boot);
                }
            }
            Err(error) => self.problem(format!("the checker itself failed: it {error}")),
        }
        if let Some(store) = &services.store
            && !finished.state_writes.is_empty()
        {
            let values = Commit {
                state_writes: finished.state_writes,
                ..Commit::default()
            };
            if let Err(error) = store.commit(self.component.name(), values).await {
                self.problem(error.to_string());
            }
        }
    }

    fn problem(&mut self, problem: String) {
        if self.problems.len() < MAX_PROBLEMS && !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    async fn finish(mut self, services: &Services, boots: &[UnixMillis]) -> Judgement {
        if self.fed {
            self.context.now = self.context.now.saturating_add(AFTER_THE_END_MS);
            self.feed(services, boots, &[]).await;
        }
        let name = self.component.name();
        let (events, left_out) = std::mem::take(&mut self.merged).finish();
        if let Some(store) = &services.store
            && let Err(error) = store.insert_counted(name, events.clone()).await
        {
            self.problem(error.to_string());
        }
        let mut judgement = Judgement {
            component: name.to_owned(),
            events,
            left_out,
            states: Vec::new(),
            problems: self.problems,
        };
        if !judgement.events.is_empty() && self.checker.judges_by_log_alone() {
            judgement.states = self.component.check(services, Trigger::Manual).await;
        }
        judgement
    }
}
