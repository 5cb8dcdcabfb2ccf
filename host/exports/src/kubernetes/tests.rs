//! Tables: from snapshots, settings and the server's node to requests.

mod conditions;
mod metadata;
mod restarts;

use super::Settings;
use crate::{ComponentHealth, Health, HealthView, Snapshot, Subject, UnixMillis};

const T: UnixMillis = 1_790_000_000_000;
const XID: &str = "accelerator-nvidia-error-xid";

fn settings(yaml: &str) -> Settings {
    serde_yaml::from_str(yaml).unwrap()
}

fn state(health: Health, reason: &str, gpu: Option<&str>) -> HealthView {
    HealthView {
        name: "state".into(),
        suggested_actions: match health {
            Health::Unhealthy => vec!["REBOOT_SYSTEM".into()],
            _ => Vec::new(),
        },
        health,
        reason: reason.into(),
        subject: gpu.map(|uuid| Subject::Gpu {
            uuid: Some(uuid.into()),
            serial: None,
            pci: None,
            index: None,
        }),
        since: 0,
    }
}

fn snapshot(components: &[(&str, &[HealthView])]) -> Snapshot {
    let component = |(name, states): &(&str, &[HealthView])| ComponentHealth {
        component: (*name).to_owned(),
        states: states.to_vec(),
    };
    Snapshot {
        components: components.iter().map(component).collect(),
        ..Snapshot::default()
    }
}

fn one(component: &str, health: Health) -> Snapshot {
    snapshot(&[(component, &[state(health, "why", None)])])
}

fn xid() -> Snapshot {
    let lost = state(
        Health::Unhealthy,
        "XID 79 GPU has fallen off the bus",
        Some("GPU-1"),
    );
    let well = state(Health::Healthy, "", None);
    snapshot(&[(XID, &[lost]), ("disk", &[well])])
}

fn xid_gone() -> Snapshot {
    let well = [state(Health::Healthy, "", None)];
    snapshot(&[(XID, &well), ("disk", &well)])
}
