//! A record as one flat row, for databases and files.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{Finding, Record, Subject};

/// A record of either kind as one row. Its fields are the columns of files, in this order.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Row {
    /// The record's id.
    pub id: String,
    /// `event` or `health`.
    pub kind: &'static str,
    /// When it happened, RFC 3339 in UTC.
    pub time: String,
    /// The cluster.
    pub cluster: String,
    /// The node.
    pub node: String,
    /// Machine id of the operating system.
    pub machine_id: String,
    /// The component.
    pub component: String,
    /// The name of the event or of the state.
    pub name: String,
    /// How serious an event is.
    pub severity: Option<&'static str>,
    /// The health before.
    pub health_from: Option<String>,
    /// The health now.
    pub health_to: Option<String>,
    /// The event's message, or the reason for the health.
    pub message: String,
    /// Suggested actions, most important first.
    pub suggested_actions: Vec<String>,
    /// Its subject, as a short path.
    pub subject: Option<String>,
    /// NVML UUID of the GPU that it is about.
    pub gpu_uuid: Option<String>,
    /// Serial number of that GPU's board.
    pub gpu_serial: Option<String>,
    /// PCI address of that GPU.
    pub gpu_pci: Option<String>,
    /// Index of that GPU.
    pub gpu_index: Option<u32>,
    /// Further facts of an event.
    pub extra_info: BTreeMap<String, String>,
    /// True for a sample that an operator sent.
    pub sample: bool,
}

impl Row {
    /// Makes the row of a record.
    pub fn of(record: &Record, cluster: &str, node: &str) -> Self {
        let mut row = Self {
            id: record.id.to_string(),
            time: record.time_text(),
            cluster: cluster.to_owned(),
            node: node.to_owned(),
            machine_id: record.node.machine_id.clone(),
            component: record.component().to_owned(),
            subject: record.subject.as_ref().map(ToString::to_string),
            sample: record.sample,
            ..Self::default()
        };
        if let Some(Subject::Gpu {
            uuid,
            serial,
            pci,
            index,
        }) = &record.subject
        {
            row.gpu_uuid.clone_from(uuid);
            row.gpu_serial.clone_from(serial);
            row.gpu_pci.clone_from(pci);
            row.gpu_index = *index;
        }
        match &record.finding {
            Finding::Event(event) => {
                row.kind = "event";
                row.name.clone_from(&event.name);
                row.severity = Some(event.severity.as_str());
                row.message.clone_from(&event.message);
                row.extra_info.clone_from(&event.extra_info);
            }
            Finding::Health(change) => {
                row.kind = "health";
                row.name.clone_from(&change.name);
                row.health_from = Some(change.from.as_str().to_owned());
                row.health_to = Some(change.to.as_str().to_owned());
                row.message.clone_from(&change.reason);
                row.suggested_actions.clone_from(&change.suggested_actions);
            }
        }
        row
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{Health, HealthChange, NodeEvent, NodeIdentity, Severity};

    /// An Xid of one GPU.
    pub fn event() -> Record {
        let event = NodeEvent {
            component: "xid".into(),
            name: "error_xid".into(),
            severity: Severity::Fatal,
            message: "Xid 79, \"off the bus\"\nreboot".into(),
            extra_info: [("xid".to_owned(), "79".to_owned())].into(),
        };
        Record {
            subject: Some(Subject::Gpu {
                uuid: Some("GPU-1".into()),
                serial: Some("1650".into()),
                pci: None,
                index: Some(3),
            }),
            ..Record::new(1_790_000_000_123, node(), Finding::Event(event))
        }
    }

    /// A change of health of the whole component.
    pub fn change() -> Record {
        let change = HealthChange {
            component: "disk".into(),
            name: "disk".into(),
            from: Health::Healthy,
            to: Health::Unhealthy,
            reason: "full".into(),
            suggested_actions: vec!["REBOOT_SYSTEM".into(), "HARDWARE_INSPECTION".into()],
        };
        Record::new(1_790_000_000_000, node(), Finding::Health(change))
    }

    fn node() -> NodeIdentity {
        NodeIdentity {
            hostname: "host".into(),
            machine_id: "4c4c".into(),
        }
    }

    #[test]
    fn both_kinds_fill_one_shape() {
        let row = Row::of(&event(), "c1", "n1");
        assert_eq!(
            (
                row.kind,
                row.severity,
                row.gpu_serial.as_deref(),
                row.gpu_index
            ),
            ("event", Some("Fatal"), Some("1650"), Some(3))
        );
        assert_eq!(row.time, "2026-09-21T14:13:20.123Z");
        assert_eq!((row.cluster.as_str(), row.node.as_str()), ("c1", "n1"));
        assert_eq!(row.subject.as_deref(), Some("gpu/GPU-1"));
        assert_eq!((row.health_from, row.health_to), (None, None));
        let row = Row::of(&change(), "c1", "n1");
        assert_eq!(
            (
                row.kind,
                row.health_from.as_deref(),
                row.health_to.as_deref()
            ),
            ("health", Some("Healthy"), Some("Unhealthy"))
        );
        assert_eq!(
            (row.severity, row.subject, row.gpu_uuid),
            (None, None, None)
        );
        assert_eq!(row.suggested_actions.len(), 2);
    }
}
