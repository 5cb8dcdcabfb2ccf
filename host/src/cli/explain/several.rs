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
mod tests {
    use super::*;
    use crate::{model::Event, store::StoredEvent};

    fn gpu(bus: &str, uuid: Option<&str>) -> Option<Subject> {
        Some(Subject::Gpu {
            uuid: uuid.map(str::to_owned),
            serial: None,
            pci_id: Some(format!("0000:{bus}:00.0")),
        })
    }

    fn event(bus: &str, code: u32, time: UnixMillis) -> StoredEvent {
        StoredEvent {
            event: Event {
                name: "error_xid".to_owned(),
                event_type: EventType::Fatal,
                time,
                message: format!("XID {code} A_B x detected on GPU PCI:0000:{bus}:00"),
                subject: gpu(bus, None),
                ..Event::default()
            },
            count: 1,
            last_time: time,
        }
    }

    fn reasons(health: Health, last_boot: UnixMillis) -> Vec<String> {
        let judgement = Judgement {
            component: "accelerator-nvidia-error-xid".to_owned(),
            events: vec![
                event("3b", 79, 50),
                event("3c", 79, 40),
                event("3c", 79, 30),
                event("3d", 54, 20),
                event("3e", 79, 10),
            ],
            states: vec![HealthState {
                health,
                reason: "XID 79 A_B x detected on GPU PCI:0000:3b:00 UUID:GPU-a".to_owned(),
                subject: gpu("3b", Some("GPU-a")),
                ..HealthState::default()
            }],
            ..Judgement::default()
        };
        let states = states(&judgement, last_boot);
        states
            .into_iter()
            .skip(1)
            .map(|state| state.reason)
            .collect()
    }

    #[test]
    fn each_device_with_the_error_is_a_trouble() {
        let of = |bus: &str| format!("XID 79 A_B x detected on GPU PCI:0000:{bus}:00");
        assert_eq!(reasons(Health::Unhealthy, 0), [of("3c"), of("3e")]);
        // The machine was booted after one of them.
        assert_eq!(reasons(Health::Unhealthy, 20), [of("3c")]);
        let nothing: [String; 0] = [];
        assert_eq!(reasons(Health::Healthy, 0), nothing);
    }
}
