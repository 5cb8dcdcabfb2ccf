//! The result of one check, as a JSON document and as text.

use std::{collections::BTreeMap, fmt::Write as _};

use serde::Serialize;

use crate::{
    capability::Bill,
    cli::{
        output,
        sizes::iec,
        terminal::{Terminal, printable},
    },
    component::trial::{Trial, TrialOutcome},
    model::{Event, Metric, MetricKind},
    runtime::Limits,
    wire::{HealthState, Origin},
};

/// Most events and metrics that the text lists; `--json` has all.
const SHOWN: usize = 50;

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
    pub fn of(trial: &Trial, outcome: &TrialOutcome) -> Self {
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

    /// Returns the result as text. `limits` is what the check was allowed to use.
    pub fn text(&self, limits: &Limits, terminal: Terminal) -> String {
        let mut text = output::component(terminal, &self.component, &self.states);
        if !self.supported {
            text.push_str("  there is nothing for it to watch on this machine\n");
        }
        for event in self.events.iter().take(SHOWN) {
            let _ = writeln!(text, "  event {}", event.text());
        }
        for metric in self.metrics.iter().take(SHOWN) {
            let _ = writeln!(text, "  metric {}", metric.text());
        }
        for (what, count) in [
            ("events", self.events.len()),
            ("metrics", self.metrics.len()),
        ] {
            if count > SHOWN {
                let _ = writeln!(
                    text,
                    "  and {} more {what}: --json shows them",
                    count - SHOWN
                );
            }
        }
        if !self.values_written.is_empty() {
            let keys = printable(&self.values_written.join(", "));
            let _ = writeln!(text, "  values written: {keys}");
        }
        text.push_str(&self.bill.text(limits));
        text
    }
}

impl ReportedEvent {
    /// One line.
    pub fn text(&self) -> String {
        let (name, message) = (printable(&self.name), printable(&self.message));
        format!("{name} ({}): {message}", self.event_type)
    }
}

impl ReportedMetric {
    /// One line, as Prometheus writes it.
    pub fn text(&self) -> String {
        let labels: Vec<_> = self
            .labels
            .iter()
            .map(|(name, value)| format!("{}={:?}", printable(name), printable(value)))
            .collect();
        let labels = match labels.is_empty() {
            true => String::new(),
            false => format!("{{{}}}", labels.join(",")),
        };
        format!(
            "{}{labels} {} ({})",
            printable(&self.name),
            self.value,
            self.kind
        )
    }
}

impl ReportedBill {
    fn text(&self, limits: &Limits) -> String {
        format!(
            "  took {:.3} ms ({:.3} ms of it waiting for the machine), {} of {} memory, {} of {} host calls, {} of {} handed over\n",
            self.seconds * 1000.0,
            self.waiting_seconds * 1000.0,
            iec(self.memory_high_water_bytes),
            iec(limits.memory_bytes),
            self.host_calls,
            limits.host_calls,
            iec(self.bytes),
            iec(limits.host_bytes),
        )
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn for_people() {
        let check_result = CheckResult {
            component: "fan-check".into(),
            supported: true,
            states: vec![HealthState {
                health: "Degraded".into(),
                reason: "fan2 stands still".into(),
                ..HealthState::default()
            }],
            events: vec![ReportedEvent {
                time: 5,
                name: "fan_stopped".into(),
                event_type: "Warning".into(),
                message: "fan2\n".into(),
            }],
            metrics: vec![ReportedMetric {
                name: "fan_rpm".into(),
                labels: BTreeMap::from([("fan".to_owned(), "fan1".to_owned())]),
                value: 1200.0,
                kind: "gauge",
            }],
            values_written: vec!["stopped".into()],
            error: None,
            bill: ReportedBill {
                seconds: 0.0021,
                waiting_seconds: 0.001,
                memory_high_water_bytes: 1_114_112,
                host_calls: 3,
                bytes: 40,
            },
        };
        insta::assert_snapshot!(check_result.text(&Limits::default(), Terminal::PLAIN), @r#"
        ✘ fan-check: fan2 stands still
          event fan_stopped (Warning): fan2
          metric fan_rpm{fan="fan1"} 1200 (gauge)
          values written: stopped
          took 2.100 ms (1.000 ms of it waiting for the machine), 1.1 MiB of 64 MiB memory, 3 of 10000 host calls, 40 B of 32 MiB handed over
        "#);
    }
}
