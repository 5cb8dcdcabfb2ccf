//! Judges kernel messages that do not come from this machine's log: pasted lines and saved logs. The same sandboxed
//! checkers, fed with what their patterns match, with a history in memory and the log's own time.
//!
//! A log may be larger than memory: [`Matcher`] says which messages are wanted and which of them are repeats, and of a
//! component's events only so many are kept that the worst and the newest are among them ([`merged`]).

mod counts;
mod matcher;
mod merged;
mod shape;

use std::sync::Arc;

use self::merged::MergedEvents;
pub use self::{
    matcher::{MatchedComponents, Matcher},
    merged::OmittedEvents,
};
use super::{Component, Services, WasmChecker};
use crate::{
    capture::Selected,
    model::{CheckContext, HealthState, Trigger, UnixMillis},
    node::kmsg::KernelMessage,
    store::{Commit, StoredEvent},
};

/// Messages handed over at once, as the contract promises.
const BATCH: usize = 512;
/// A log that has ended is judged once more as of this many milliseconds later, longer than any checker waits for further
/// lines.
const AFTER_THE_END_MS: u64 = 60_000;
/// Most problems of one component that are reported; further ones are counted.
const MAX_PROBLEMS: usize = 10;

/// The judgement of one component about a log.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Judgement {
    /// The component.
    pub component: String,
    /// Its events, newest first.
    pub events: Vec<StoredEvent>,
    /// The events that were left out.
    pub left_out: OmittedEvents,
    /// Its verdicts, if it judges by the log alone. Other components would judge this machine.
    pub states: Vec<HealthState>,
    /// The problems while it judged.
    pub problems: Vec<String>,
}

impl Judgement {
    /// Whether all events of the component were retained and judged.
    pub fn is_complete(&self) -> bool {
        self.problems.is_empty() && self.left_out.events == 0
    }
}

/// The components that watch the kernel log, judging one log.
pub struct Judge<'s> {
    services: &'s Services,
    /// The beginnings of all boots but the first, ascending.
    boots: Vec<UnixMillis>,
    /// By the component's place among those given; `None` for those that do not watch the log.
    listeners: Vec<Option<Listener<'s>>>,
}

/// A message and the number of equal messages that it represents.
type CountedMessage = (Arc<KernelMessage>, u64);

struct Listener<'s> {
    component: &'s Component,
    checker: Arc<WasmChecker>,
    context: CheckContext,
    waiting: Vec<CountedMessage>,
    merged: MergedEvents,
    fed: bool,
    problems: Vec<String>,
}

impl<'s> Judge<'s> {
    /// `services` has a store of its own, and a clock that is at the end of the log. `components` are those that `matcher`
    /// was made of, or loaded like them. `boots`: when each boot but the first began.
    pub fn new(
        services: &'s Services,
        components: &'s [Component],
        matcher: &Matcher,
        boots: Vec<UnixMillis>,
    ) -> Self {
        let listener = |(place, component): (usize, &'s Component)| {
            Some(Listener {
                component,
                checker: component.kmsg_watcher()?,
                context: component.context(services, Trigger::Event, None),
                waiting: Vec::new(),
                merged: MergedEvents::default(),
                fed: false,
                problems: matcher.problems(place),
            })
        };
        Self {
            services,
            boots,
            listeners: components.iter().enumerate().map(listener).collect(),
        }
    }

    /// Judges the next messages of the log.
    pub async fn take(&mut self, selected: Vec<Selected<MatchedComponents>>) {
        for Selected {
            message,
            tag,
            count,
        } in selected
        {
            let message = Arc::new(message);
            for place in tag.places() {
                let Some(Some(listener)) = self.listeners.get_mut(place) else {
                    continue;
                };
                listener.waiting.push((Arc::clone(&message), count));
                if listener.waiting.len() >= BATCH {
                    listener.feed_waiting(self.services, &self.boots).await;
                }
            }
        }
    }

    /// Returns the judgements at the end of the log. Components without events and problems are left out.
    pub async fn finish(self) -> Vec<Judgement> {
        let mut judgements = Vec::new();
        for listener in self.listeners.into_iter().flatten() {
            let judgement = listener.finish(self.services, &self.boots).await;
            if !judgement.events.is_empty() || !judgement.problems.is_empty() {
                judgements.push(judgement);
            }
        }
        judgements
    }
}

impl Listener<'_> {
    async fn feed_waiting(&mut self, services: &Services, boots: &[UnixMillis]) {
        if !self.waiting.is_empty() {
            self.fed = true;
            let messages = std::mem::take(&mut self.waiting);
            self.feed(services, boots, &messages).await;
        }
    }

    async fn feed(
        &mut self,
        services: &Services,
        boots: &[UnixMillis],
        counted: &[CountedMessage],
    ) {
        let messages = counted.iter().map(|(message, _)| Arc::clone(message));
        let messages: Vec<_> = messages.collect();
        let finished = self
            .checker
            .on_messages(services, &self.context, &messages)
            .await;
        match finished.answer {
            Ok(events) => {
                let counts = counts::of_events(&events, counted);
                for (event, count) in events.into_iter().zip(counts) {
                    let boot = boots.partition_point(|begin| *begin <= event.time);
                    self.merged.add(event, boot, count);
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
        self.feed_waiting(services, boots).await;
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
