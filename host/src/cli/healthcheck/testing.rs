//! States for tests.

use std::io;

use super::error::HealthcheckError;
use crate::cli::{client::ClientError, status::ask::Component};

/// Returns a state.
pub fn state(component: &str, health: &str, reason: &str, actions: &[&str]) -> Component {
    Component {
        component: component.to_owned(),
        health: health.to_owned(),
        reason: reason.to_owned(),
        repair_actions: actions.iter().map(|action| (*action).to_owned()).collect(),
    }
}

/// Returns the error for a daemon that does not run.
pub fn no_daemon() -> HealthcheckError {
    let error = ClientError::Connect {
        server: "https://localhost:15132".to_owned(),
        source: io::Error::other("Connection refused"),
    };
    error.into()
}

/// Returns answers of a daemon, by what they are.
pub fn named_states() -> Vec<(&'static str, Vec<Component>)> {
    let fine = state("cpu", "Healthy", "ok", &[]);
    let disk = state("disk", "Degraded", "/data is 91 % full", &[]);
    let xid = state(
        "accelerator-nvidia-error-xid",
        "Unhealthy",
        "XID 79 (GPU has fallen off the bus) detected on PCI:0000:04:00",
        &["REBOOT_SYSTEM"],
    );
    let starting = state("os", "Initializing", "", &[]);
    let many = (0..7).map(|n| state(&format!("check-{n}"), "Unhealthy", "broken", &[]));
    vec![
        ("healthy", vec![fine.clone()]),
        ("just started", vec![starting.clone()]),
        ("partly started", vec![fine.clone(), starting.clone()]),
        ("degraded", vec![fine.clone(), disk.clone()]),
        ("unhealthy", vec![fine, disk, xid.clone()]),
        ("unhealthy, partly started", vec![xid, starting]),
        ("many", many.collect()),
    ]
}
