//! Building reports from plain values.

use crate::types::Pairs;
use crate::{
    AccessError, CheckContext, Event, EventType, Health, HealthState, MergeRule, Metric,
    MetricKind, Recovery, RepairAction, Report, SuggestedActions,
};

impl Report {
    /// A report of one state.
    pub fn of(state: HealthState) -> Self {
        Self {
            supported: true,
            states: vec![state],
            events: Vec::new(),
            metrics: Vec::new(),
            extra: Vec::new(),
        }
    }

    /// Nothing on this machine for this checker to watch: hidden from states, events and info.
    pub fn unsupported(state: HealthState) -> Self {
        Self {
            supported: false,
            ..Self::of(state)
        }
    }

    /// Adds an event.
    pub fn event(mut self, event: Event) -> Self {
        self.events.push(event);
        self
    }

    /// Adds a gauge.
    pub fn gauge(self, name: &str, value: f64) -> Self {
        self.gauge_with(name, &[], value)
    }

    /// Adds a gauge with labels.
    pub fn gauge_with(mut self, name: &str, labels: &[(&str, &str)], value: f64) -> Self {
        self.add_gauge(name, labels, value);
        self
    }

    /// The same in place, for the many of a loop.
    pub fn add_gauge(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        self.add(name, labels, value, MetricKind::Gauge);
    }

    /// Adds a metric of any kind.
    pub fn metric(
        mut self,
        name: &str,
        labels: &[(&str, &str)],
        value: f64,
        kind: MetricKind,
    ) -> Self {
        self.add(name, labels, value, kind);
        self
    }

    fn add(&mut self, name: &str, labels: &[(&str, &str)], value: f64, kind: MetricKind) {
        self.metrics.push(Metric {
            name: name.to_owned(),
            labels: pairs(labels),
            value,
            kind,
        });
    }
}

/// Longest error of a state that the host takes, bytes.
const MAX_ERROR: usize = 4096;

impl HealthState {
    /// A state under the component's name, judged now.
    pub fn new(context: &CheckContext, health: Health, reason: impl Into<String>) -> Self {
        Self {
            name: Some(context.component.clone()),
            time: Some(context.now),
            health,
            reason: reason.into(),
            error: None,
            suggested_actions: None,
            subject: None,
            recovery: Vec::new(),
            latch: false,
            evidence: Vec::new(),
            extra_info: Vec::new(),
            extra: Vec::new(),
        }
    }

    /// All well.
    pub fn healthy(context: &CheckContext, reason: impl Into<String>) -> Self {
        Self::new(context, Health::Healthy, reason)
    }

    /// Working, but needs attention.
    pub fn degraded(context: &CheckContext, reason: impl Into<String>) -> Self {
        Self::new(context, Health::Degraded, reason)
    }

    /// Not to be trusted with work.
    pub fn unhealthy(context: &CheckContext, reason: impl Into<String>) -> Self {
        Self::new(context, Health::Unhealthy, reason)
    }

    /// Not known, since a source that the verdict needs gave no answer: as gpud words and weighs an error that a checker
    /// returns. For a checker that still has something to report.
    pub fn unjudged(context: &CheckContext, error: &AccessError) -> Self {
        let health = match error {
            AccessError::TimedOut(_) | AccessError::SourceLost(_) | AccessError::NeedsReset(_) => {
                Health::Unhealthy
            }
            _ => Health::Degraded,
        };
        let text = error.text();
        Self::new(context, health, format!("cannot be judged: {text}")).error(text)
    }

    /// With the technical error behind it, as far as the host takes it (4,096 bytes): it may quote a file.
    pub fn error(mut self, error: impl ToString) -> Self {
        let mut text = error.to_string();
        text.truncate(text.floor_char_boundary(MAX_ERROR));
        self.error = Some(text);
        self
    }

    /// With an action to take and why.
    pub fn action(mut self, action: RepairAction, description: &str) -> Self {
        let actions = self
            .suggested_actions
            .get_or_insert_with(|| SuggestedActions {
                description: description.to_owned(),
                repair_actions: Vec::new(),
            });
        actions.repair_actions.push(action);
        self
    }

    /// With one fact shown beside it. Built-in checkers keep one JSON document under `data`.
    pub fn info(mut self, key: &str, value: impl Into<String>) -> Self {
        self.extra_info.push((key.to_owned(), value.into()));
        self
    }

    /// With a way in which it clears.
    pub fn clears_by(mut self, way: Recovery) -> Self {
        self.recovery.push(way);
        self
    }
}

impl Event {
    /// An event at a time, in unix milliseconds.
    pub fn new(
        time: u64,
        name: impl Into<String>,
        event_type: EventType,
        message: impl Into<String>,
    ) -> Self {
        Self {
            time,
            name: name.into(),
            event_type,
            message: message.into(),
            subject: None,
            evidence: Vec::new(),
            extra_info: Vec::new(),
            merge: None,
            extra: Vec::new(),
        }
    }

    /// Counts repeats with the same key within a window instead of storing them.
    pub fn merged_by(mut self, key: impl Into<String>, window_seconds: u32) -> Self {
        self.merge = Some(MergeRule {
            key: key.into(),
            window_seconds,
        });
        self
    }
}

fn pairs(of: &[(&str, &str)]) -> Pairs {
    of.iter()
        .map(|&(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}
