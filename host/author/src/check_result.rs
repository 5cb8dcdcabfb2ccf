//! The result of one check, as a JSON document.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    capability::Bill,
    component::trial::{Trial, TrialOutcome},
    model::{Event, Metric, MetricKind},
    wire::{HealthState, Origin},
};

/// The result of one check.
#[derive(Debug, Serialize)]
pub struct CheckResult {
    /// The component's name.
    pub component: String,
    /// Whether there is something for it to watch.
    pub supported: bool,
    /// Its verdicts; if it gave no report, the one that names the cause.
    pub states: Vec<HealthState>,
    /// The reported events.
    pub events: Vec<ReportedEvent>,
    /// The reported metrics.
    pub metrics: Vec<ReportedMetric>,
    /// Keys of the values that it wrote or deleted.
    pub values_written: Vec<String>,
    /// Why it gave no report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The cost of the check.
    pub bill: ReportedBill,
}

/// An event.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReportedEvent {
    /// Unix milliseconds.
    pub time: u64,
    /// Its name.
    pub name: String,
    /// How serious.
    #[serde(rename = "type")]
    pub event_type: String,
    /// For a person.
    pub message: String,
}

/// A sample.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReportedMetric {
    /// Full name.
    pub name: String,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Value.
    pub value: f64,
    /// `gauge`, `counter` or `histogram`.
    pub kind: &'static str,
}

/// The cost of a check.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ReportedBill {
    /// Time from taking an instance to the answer.
    pub seconds: f64,
    /// The part of it in which the machine answered.
    pub waiting_seconds: f64,
    /// Peak of its memory.
    pub memory_high_water_bytes: u64,
    /// Number of calls to the host.
    pub host_calls: u64,
    /// Bytes that passed between it and the host.
    pub bytes: u64,
}

impl CheckResult {
    /// Makes the document of a check.
    pub(crate) fn of(trial: &Trial, outcome: &TrialOutcome) -> Self {
        let component = &trial.descriptor().name;
        let states = trial.states(outcome).into_iter();
        let report = outcome.report.as_ref();
        Self {
            component: component.clone(),
            supported: report.map_or(true, |report| report.supported),
            states: states
                .map(|state| HealthState::from_model(component, &Origin::default(), state))
                .collect(),
            events: report.map_or_else(
                |_| Vec::new(),
                |report| report.events.iter().map(ReportedEvent::from).collect(),
            ),
            metrics: report.map_or_else(
                |_| Vec::new(),
                |report| report.metrics.iter().map(ReportedMetric::from).collect(),
            ),
            values_written: outcome.values.clone(),
            error: report
                .err()
                .map(ToString::to_string)
                .or(outcome.problem.clone()),
            bill: ReportedBill::from(&outcome.bill),
        }
    }
}

impl From<&Bill> for ReportedBill {
    fn from(bill: &Bill) -> Self {
        Self {
            seconds: bill.time.as_secs_f64(),
            waiting_seconds: bill.waiting.as_secs_f64(),
            memory_high_water_bytes: bill.memory_high_water,
            host_calls: bill.host_calls,
            bytes: bill.bytes,
        }
    }
}

impl From<&Event> for ReportedEvent {
    fn from(event: &Event) -> Self {
        Self {
            time: event.time,
            name: event.name.clone(),
            event_type: event.event_type.as_str().to_owned(),
            message: event.message.clone(),
        }
    }
}

impl From<&Metric> for ReportedMetric {
    fn from(metric: &Metric) -> Self {
        Self {
            name: metric.name.clone(),
            labels: metric.labels.iter().cloned().collect(),
            value: metric.value,
            kind: match metric.kind {
                MetricKind::Gauge | MetricKind::Other(_) => "gauge",
                MetricKind::Counter => "counter",
                MetricKind::Histogram => "histogram",
            },
        }
    }
}
