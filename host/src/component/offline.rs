//! Judges kernel messages that do not come from this machine's log: pasted lines and saved logs. The same sandboxed
//! checkers, fed with what their patterns match, with a history in memory and the log's own time.

use std::{collections::BTreeMap, sync::Arc};

use super::{Component, Services, WasmChecker, commit};
use crate::{
    model::{Event, HealthState, Trigger, UnixMillis},
    node::kmsg::{KernelMessage, Prefilter},
};

/// Messages handed over at once, as the contract promises.
const BATCH: usize = 512;
/// A log that has ended is judged once more as if so long had passed, in milliseconds: longer than any checker waits for
/// further lines.
const AFTER_THE_END_MS: u64 = 60_000;
/// Most events of one component that are told, the newest.
const MAX_EVENTS: u32 = 1000;

/// What one component makes of a log.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Judgement {
    /// The component.
    pub component: String,
    /// Its events, newest first.
    pub events: Vec<Seen>,
    /// Its verdicts, if it draws them from the log and nothing else: what it says of this machine is not asked.
    pub states: Vec<HealthState>,
    /// What went wrong while it looked.
    pub problems: Vec<String>,
}

/// An event and its repeats.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// The first.
    pub event: Event,
    /// How often it was seen, at least 1.
    pub count: u64,
    /// When it was seen last.
    pub last: UnixMillis,
}

/// What each component watches for, so that the patterns of a component are compiled once for the logs of many hosts.
#[derive(Default)]
pub struct Filters(BTreeMap<String, Result<Prefilter, String>>);

/// Lets every component that watches the kernel log judge these messages of one host, which are in the order of its log.
/// `services` has a store of its own, and a clock that stands at the end of the log. Components that make nothing of it
/// are left out.
pub async fn judge(
    services: &Services,
    components: &[Component],
    messages: &[Arc<KernelMessage>],
    filters: &mut Filters,
) -> Vec<Judgement> {
    let mut judgements = Vec::new();
    for component in components {
        let Some(checker) = component.kmsg_watcher() else {
            continue;
        };
        let judgement = of_one(services, component, &checker, messages, filters).await;
        if !judgement.events.is_empty() || !judgement.problems.is_empty() {
            judgements.push(judgement);
        }
    }
    judgements
}

async fn of_one(
    services: &Services,
    component: &Component,
    checker: &WasmChecker,
    messages: &[Arc<KernelMessage>],
    filters: &mut Filters,
) -> Judgement {
    let name = component.name();
    let mut judgement = Judgement {
        component: name.to_owned(),
        ..Judgement::default()
    };
    let filter = match filters.0.remove(name) {
        Some(known) => known,
        None => filter(services, checker).await,
    };
    let found = match &filter {
        Ok(filter) => Ok(wanted(filter, messages)),
        Err(problem) => Err(problem.clone()),
    };
    filters.0.insert(name.to_owned(), filter);
    let wanted = match found {
        Ok(wanted) => wanted,
        Err(problem) => {
            judgement.problems.push(problem);
            return judgement;
        }
    };
    let mut context = component.context(services, Trigger::Event, None);
    let the_end: &[_] = &[];
    let batches = wanted.chunks(BATCH);
    let end = (!wanted.is_empty()).then_some(the_end);
    for batch in batches.chain(end) {
        if batch.is_empty() {
            context.now = context.now.saturating_add(AFTER_THE_END_MS);
        }
        let finished = checker.on_messages(services, &context, batch).await;
        let stored = match finished.answer {
            Ok(events) => {
                commit::events_and_state(services, name, events, finished.state_writes, None)
                    .await
                    .map(drop)
                    .map_err(|error| error.to_string())
            }
            Err(error) => Err(format!("the checker itself failed: it {error}")),
        };
        judgement.problems.extend(stored.err());
    }
    if let Some(store) = &services.store {
        match store.events(name, 0, Some(MAX_EVENTS)).await {
            Ok(events) => {
                let seen = events.into_iter().map(|stored| Seen {
                    event: stored.event,
                    count: stored.count,
                    last: stored.last_time,
                });
                judgement.events = seen.collect();
            }
            Err(error) => judgement.problems.push(error.to_string()),
        }
    }
    if !judgement.events.is_empty() && checker.judges_by_log_alone() {
        judgement.states = component.check(services, Trigger::Manual).await;
    }
    judgement
}

/// What a checker asks for.
async fn filter(services: &Services, checker: &WasmChecker) -> Result<Prefilter, String> {
    let patterns = checker.patterns(services).await.answer;
    let patterns = patterns.map_err(|error| format!("no kernel log patterns: it {error}"))?;
    let (prefilter, refused) = Prefilter::new(&[(0, patterns)]);
    match refused.first() {
        Some(refused) => Err(refused.to_string()),
        None => Ok(prefilter),
    }
}

/// The messages that match.
fn wanted(filter: &Prefilter, messages: &[Arc<KernelMessage>]) -> Vec<Arc<KernelMessage>> {
    let mut hits = Vec::new();
    let matching = messages.iter().filter(|message| {
        filter.watchers_for_bytes(message.text.as_bytes(), &mut hits);
        !hits.is_empty()
    });
    matching.cloned().collect()
}
