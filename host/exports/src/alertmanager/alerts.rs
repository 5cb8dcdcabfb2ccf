//! From the node's state to alerts.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{Health, Record, Snapshot, Subject, UnixMillis, record::rfc3339};

/// Labels that are not for the operator to set.
pub const OWN_LABELS: [&str; 9] = [
    "alertname",
    "severity",
    "instance",
    "component",
    "state",
    "subject",
    "gpu_uuid",
    "gpu_serial",
    "gpu_pci",
];

/// The identity of an alert.
pub type Labels = BTreeMap<String, String>;

/// When an alert began, and its annotations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertContent {
    pub since: UnixMillis,
    pub annotations: BTreeMap<String, String>,
}

/// An alert as the API has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Alert {
    pub labels: Labels,
    pub annotations: BTreeMap<String, String>,
    #[serde(with = "rfc3339")]
    pub starts_at: UnixMillis,
    #[serde(with = "rfc3339")]
    pub ends_at: UnixMillis,
}

/// Returns an alert for each state that is not healthy. Alerts about one GPU share `gpu_uuid`, so that Alertmanager can
/// group them.
pub fn firing_alerts(snapshot: &Snapshot, labels: &Labels) -> BTreeMap<Labels, AlertContent> {
    let mut firing = BTreeMap::new();
    for component in &snapshot.components {
        for state in component
            .states
            .iter()
            .filter(|state| state.health.is_bad())
        {
            let (name, severity) = match state.health {
                Health::Degraded => ("GpudDegraded", "warning"),
                _ => ("GpudUnhealthy", "critical"),
            };
            let mut labels = labels.clone();
            for (key, value) in [
                ("alertname", name),
                ("severity", severity),
                ("instance", &snapshot.node.hostname),
                ("component", &component.component),
                ("state", &state.name),
            ] {
                labels.insert(key.to_owned(), value.to_owned());
            }
            if let Some(subject) = &state.subject {
                label_subject(&mut labels, subject);
            }
            let about = state
                .subject
                .as_ref()
                .map(|subject| format!(" ({subject})"));
            let mut annotations = BTreeMap::from([
                (
                    "summary".to_owned(),
                    format!(
                        "{}: {}{} is {}",
                        snapshot.node.hostname,
                        component.component,
                        about.unwrap_or_default(),
                        state.health.as_str()
                    ),
                ),
                ("description".to_owned(), state.reason.clone()),
            ]);
            if !state.suggested_actions.is_empty() {
                annotations.insert("action".to_owned(), state.suggested_actions.join(", "));
            }
            let since = state.since;
            firing.insert(labels, AlertContent { since, annotations });
        }
    }
    firing
}

fn label_subject(labels: &mut Labels, subject: &Subject) {
    labels.insert("subject".to_owned(), subject.to_string());
    if let Subject::Gpu {
        uuid, serial, pci, ..
    } = subject
    {
        let known = [("gpu_uuid", uuid), ("gpu_serial", serial), ("gpu_pci", pci)];
        for (key, value) in known {
            if let Some(value) = value {
                labels.insert(key.to_owned(), value.clone());
            }
        }
    }
}

/// Makes an alert that ends at a time.
pub fn alert(labels: &Labels, firing: &AlertContent, end: UnixMillis) -> Alert {
    Alert {
        labels: labels.clone(),
        annotations: firing.annotations.clone(),
        // Alertmanager refuses an alert that ends before it starts, as after the clock was set back.
        starts_at: firing.since.min(end),
        ends_at: end,
    }
}

/// Makes the alert of a sample, which ends after a minute.
pub fn sample(sample: &Record, labels: &Labels) -> Alert {
    let mut labels = labels.clone();
    for (key, value) in [
        ("alertname", "GpudExportTest"),
        ("severity", "none"),
        ("instance", &sample.node.hostname),
    ] {
        labels.insert(key.to_owned(), value.to_owned());
    }
    let text = "a sample that was sent to try the export; nothing is wrong".to_owned();
    let firing = AlertContent {
        since: sample.time,
        annotations: BTreeMap::from([("summary".to_owned(), text)]),
    };
    alert(&labels, &firing, sample.time.saturating_add(60_000))
}
