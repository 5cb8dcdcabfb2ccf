//! One Xid or SXid of several devices. A component reports the newest; each device is a trouble of its own.

use crate::{
    component::offline::Judgement,
    model::{EventType, Health, HealthState, Subject, UnixMillis},
};

/// Returns the states of a component, and one more for each further device that met the error of one of them since the
/// last boot.
pub fn states(judgement: &Judgement, last_boot: UnixMillis) -> Vec<HealthState> {
    let mut states = judgement.states.clone();
    for state in &judgement.states {
        let is_trouble = matches!(state.health, Health::Degraded | Health::Unhealthy);
        let (Some(subject), Some(error)) = (&state.subject, numbered(&state.reason)) else {
            continue;
        };
        if !is_trouble {
            continue;
        }
        let mut seen = vec![subject];
        // Newest first: the last that a device met decides.
        for stored in &judgement.events {
            let event = &stored.event;
            let Some(other) = &event.subject else {
                continue;
            };
            let is_it = numbered(&event.message) == Some(error) && stored.last_time >= last_boot;
            if !is_it || seen.iter().any(|known| is_same(known, other)) {
                continue;
            }
            seen.push(other);
            if matches!(event.event_type, EventType::Fatal | EventType::Critical) {
                states.push(HealthState {
                    reason: event.message.clone(),
                    subject: Some(other.clone()),
                    evidence: event.evidence.clone(),
                    time: Some(event.time),
                    extra_info: Vec::new(),
                    ..state.clone()
                });
            }
        }
    }
    states
}

/// Returns the error of a message without its device: `XID 79 …`, `SXID 20034(…)`; `None` for other texts.
fn numbered(text: &str) -> Option<&str> {
    let (error, _) = text.split_once(" detected on ")?;
    (error.starts_with("XID ") || error.starts_with("SXID ")).then_some(error)
}

/// Whether two names are of one device. What is known of a GPU grows with the lines of a log.
fn is_same(one: &Subject, other: &Subject) -> bool {
    match (one, other) {
        (
            Subject::Gpu {
                pci_id: Some(one), ..
            },
            Subject::Gpu {
                pci_id: Some(other),
                ..
            },
        ) => one == other,
        _ => one == other,
    }
}

#[cfg(test)]
mod tests;
