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
