//! Compares the answers of two versions of a checker to the same input.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    capability::Bill,
    model::{HealthState, Pairs, Report},
    wire::{CallCost, Difference, Differing},
};

/// Most differences that are listed of one call.
const LISTED: usize = 16;
/// Longest text in one, bytes.
const MAX_TEXT: usize = 200;

/// An answer: a report (of kernel messages only its events), or how the call failed.
pub(super) type Outcome = Result<Report, String>;

/// Returns the differences, and how many of them are not listed.
pub(super) fn between(running: &Outcome, shadow: &Outcome) -> (Vec<Difference>, Differing, u64) {
    let mut found = FoundDifferences::default();
    match (running, shadow) {
        (Ok(running), Ok(shadow)) => {
            if running.supported != shadow.supported {
                let word = |supported: bool| {
                    if supported {
                        "supported"
                    } else {
                        "not supported"
                    }
                };
                let (mine, theirs) = (word(running.supported), word(shadow.supported));
                found.add(DifferenceKind::Health, "component", mine, theirs);
            }
            states(&mut found, running, shadow);
            events(&mut found, running, shadow);
            metrics(&mut found, running, shadow);
        }
        (Err(running), Err(shadow)) if running == shadow => {}
        (running, shadow) => {
            let text = |outcome: &Outcome| match outcome {
                Ok(_) => "an answer".to_owned(),
                Err(error) => format!("it {error}"),
            };
            found.add(
                DifferenceKind::Outcome,
                "call",
                &text(running),
                &text(shadow),
            );
        }
    }
    (found.listed, found.differing, found.further)
}

/// Converts a bill to the costs that are shown.
pub(super) fn cost(bill: &Bill) -> CallCost {
    CallCost {
        seconds: bill.time.as_secs_f64(),
        memory_bytes: bill.memory_high_water,
        host_calls: bill.host_calls,
        host_bytes: bill.bytes,
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum DifferenceKind {
    Outcome,
    Health,
    Reason,
    Events,
    Metrics,
}

#[derive(Default)]
struct FoundDifferences {
    listed: Vec<Difference>,
    differing: Differing,
    further: u64,
}

impl FoundDifferences {
    fn add(&mut self, what: DifferenceKind, of: &str, running: &str, shadow: &str) {
        let Differing {
            outcome,
            health,
            reason,
            events,
            metrics,
        } = &mut self.differing;
        let (word, count) = match what {
            DifferenceKind::Outcome => ("outcome", outcome),
            DifferenceKind::Health => ("health", health),
            DifferenceKind::Reason => ("reason", reason),
            DifferenceKind::Events => ("events", events),
            DifferenceKind::Metrics => ("metrics", metrics),
        };
        *count = 1;
        if self.listed.len() >= LISTED {
            self.further += 1;
            return;
        }
        self.listed.push(Difference {
            what: word,
            of: short(of),
            running: short(running),
            shadow: short(shadow),
        });
    }

    /// Lists the items that only one has, and those that differ.
    fn compare<'a, K: Ord, V: PartialEq + 'a>(
        &mut self,
        what: DifferenceKind,
        running: &BTreeMap<K, V>,
        shadow: &BTreeMap<K, V>,
        name: impl Fn(&K) -> String,
        show: impl Fn(&V) -> String,
    ) {
        let keys: BTreeSet<&K> = running.keys().chain(shadow.keys()).collect();
        for key in keys {
            let (mine, theirs) = (running.get(key), shadow.get(key));
            if mine != theirs {
                let text = |value: Option<&V>| value.map(&show).unwrap_or_default();
                self.add(what, &name(key), &text(mine), &text(theirs));
            }
        }
    }
}

fn states(found: &mut FoundDifferences, running: &Report, shadow: &Report) {
    let by_name = |report: &Report| -> BTreeMap<String, HealthState> {
        let states = report.states.iter();
        states
            .map(|state| (state_name(state), state.clone()))
            .collect()
    };
    let (running, shadow) = (by_name(running), by_name(shadow));
    let health = |states: &BTreeMap<String, HealthState>| -> BTreeMap<String, String> {
        let words = states.iter();
        words
            .map(|(name, state)| (name.clone(), state.health.as_str().to_owned()))
            .collect()
    };
    found.compare(
        DifferenceKind::Health,
        &health(&running),
        &health(&shadow),
        Clone::clone,
        Clone::clone,
    );
    for (name, state) in &running {
        let other = shadow
            .get(name)
            .filter(|other| other.health == state.health);
        if let Some(other) = other.filter(|other| other.reason != state.reason) {
            found.add(DifferenceKind::Reason, name, &state.reason, &other.reason);
        }
    }
}

fn state_name(state: &HealthState) -> String {
    let name = state.name.clone().unwrap_or_default();
    match &state.subject {
        Some(subject) => format!("{name} of {subject:?}"),
        None => name,
    }
}

/// Compares how often each event occurs, by name, type and message.
fn events(found: &mut FoundDifferences, running: &Report, shadow: &Report) {
    let count = |report: &Report| {
        let mut counts: BTreeMap<(String, String), u64> = BTreeMap::new();
        for event in &report.events {
            let name = format!("{} ({:?})", event.name, event.event_type);
            *counts.entry((name, event.message.clone())).or_default() += 1;
        }
        counts
    };
    found.compare(
        DifferenceKind::Events,
        &count(running),
        &count(shadow),
        |(name, message)| format!("{name}: {message}"),
        |count| format!("{count} ×"),
    );
}

fn metrics(found: &mut FoundDifferences, running: &Report, shadow: &Report) {
    let values = |report: &Report| -> BTreeMap<String, f64> {
        let metrics = report.metrics.iter();
        metrics
            .map(|metric| (series(&metric.name, &metric.labels), metric.value))
            .collect()
    };
    found.compare(
        DifferenceKind::Metrics,
        &values(running),
        &values(shadow),
        Clone::clone,
        f64::to_string,
    );
}

fn series(name: &str, labels: &Pairs) -> String {
    let mut labels: Vec<String> = labels
        .iter()
        .map(|(key, value)| format!("{key}={value:?}"))
        .collect();
    if labels.is_empty() {
        return name.to_owned();
    }
    labels.sort_unstable();
    format!("{name}{{{}}}", labels.join(","))
}

fn short(text: &str) -> String {
    let end = text.floor_char_boundary(MAX_TEXT);
    match text.get(..end) {
        Some(start) if end < text.len() => format!("{start}…"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
