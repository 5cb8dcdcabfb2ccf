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

/// A bill as it is shown.
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

    /// Lists what only one has, and what both have with another value.
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

/// How often each event comes, by name, type and message.
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
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::{Event, EventType, Health, Metric};

    fn state(name: &str, health: Health, reason: &str) -> HealthState {
        HealthState {
            name: Some(name.into()),
            health,
            reason: reason.into(),
            ..HealthState::default()
        }
    }

    fn report() -> Report {
        Report {
            supported: true,
            states: vec![
                state("a", Health::Healthy, "fine"),
                state("b", Health::Degraded, "hot"),
            ],
            events: vec![Event {
                name: "overheat".into(),
                event_type: EventType::Warning,
                message: "90 °C".into(),
                ..Event::default()
            }],
            metrics: vec![Metric {
                name: "celsius".into(),
                labels: vec![("zone".into(), "1".into())],
                value: 90.0,
                ..Metric::default()
            }],
        }
    }

    /// Returns the listed differences of a report and a changed one: what, of, running, shadow.
    fn listed(change: impl FnOnce(&mut Report)) -> Vec<String> {
        let mut other = report();
        change(&mut other);
        let (listed, ..) = between(&Ok(report()), &Ok(other));
        listed
            .iter()
            .map(|d| format!("{} | {} | {} | {}", d.what, d.of, d.running, d.shadow))
            .collect()
    }

    #[test]
    fn what_is_different_is_named() {
        assert_eq!(listed(|_| {}), [""; 0]);
        assert_eq!(
            listed(|r| r.states.reverse()),
            [""; 0],
            "order says nothing"
        );
        assert_eq!(
            listed(|r| r.states[0] = state("a", Health::Unhealthy, "broken")),
            ["health | a | Healthy | Unhealthy"]
        );
        assert_eq!(
            listed(|r| r.states[1] = state("b", Health::Degraded, "warm")),
            ["reason | b | hot | warm"]
        );
        assert_eq!(
            listed(|r| r.states[1] = state("c", Health::Degraded, "hot")),
            ["health | b | Degraded | ", "health | c |  | Degraded"]
        );
        assert_eq!(
            listed(|r| r.supported = false),
            ["health | component | supported | not supported"]
        );
        assert_eq!(
            listed(|r| r.events.push(r.events[0].clone())),
            ["events | overheat (Warning): 90 °C | 1 × | 2 ×"]
        );
        assert_eq!(
            listed(|r| r.events.clear()),
            ["events | overheat (Warning): 90 °C | 1 × | "]
        );
        assert_eq!(
            listed(|r| r.metrics[0].value = 91.5),
            ["metrics | celsius{zone=\"1\"} | 90 | 91.5"]
        );
        assert_eq!(
            listed(|r| r.metrics[0].labels.clear()),
            [
                "metrics | celsius |  | 90",
                "metrics | celsius{zone=\"1\"} | 90 | "
            ]
        );
    }

    #[test]
    fn outcomes_are_compared() {
        let failed = |text: &str| -> Outcome { Err(text.to_owned()) };
        let (listed, differing, _) = between(&Ok(report()), &failed("trapped: x"));
        assert_eq!(listed[0].shadow, "it trapped: x");
        assert_eq!(listed[0].running, "an answer");
        assert_eq!(differing.outcome, 1);
        assert!(between(&failed("a"), &failed("a")).0.is_empty());
        assert_eq!(between(&failed("a"), &failed("b")).0.len(), 1);
    }

    #[test]
    fn what_is_listed_is_bounded() {
        let mut many = report();
        many.states = (0..100)
            .map(|n| state(&n.to_string(), Health::Healthy, ""))
            .collect();
        let (listed, differing, further) = between(&Ok(report()), &Ok(many));
        assert_eq!(
            (listed.len(), further, differing.health),
            (LISTED, 102 - 16, 1)
        );
        let long = short(&"é".repeat(1000));
        assert!(long.len() <= MAX_TEXT + 3 && long.ends_with('…'));
    }

    proptest! {
        #[test]
        fn a_report_is_like_itself_and_the_same_way_round(names in proptest::collection::vec("[a-c]", 0..5), other in proptest::collection::vec("[a-c]", 0..5)) {
            let of = |names: &[String]| -> Outcome {
                let mut report = report();
                report.states = names.iter().map(|name| state(name, Health::Healthy, name)).collect();
                report.metrics.clear();
                Ok(report)
            };
            prop_assert!(between(&of(&names), &of(&names)).0.is_empty());
            let (one, back) = (between(&of(&names), &of(&other)), between(&of(&other), &of(&names)));
            prop_assert_eq!(one.0.len(), back.0.len());
        }
    }
}
