use std::sync::Arc;

use super::*;
use crate::{
    component::feed::ChangeId,
    model::{Event, EventType},
};

fn gpus() -> nvml::Inventory {
    let gpu = nvml::values::Identity {
        index: 3,
        uuid: "GPU-3".into(),
        bus_id: "0000:3b:00.0".into(),
        serial: Some("1650".into()),
        ..nvml::values::Identity::default()
    };
    nvml::Inventory {
        gpus: vec![Arc::new(gpu)],
        ..nvml::Inventory::default()
    }
}

fn gpu_at(pci: &str) -> model::Subject {
    model::Subject::Gpu {
        uuid: None,
        serial: None,
        pci_id: Some(pci.to_owned()),
    }
}

fn change(kind: ChangeKind) -> Change {
    Change {
        id: ChangeId {
            started: 1,
            number: 1,
        },
        time: 2_000,
        component: "xid".into(),
        kind,
    }
}

#[test]
fn a_gpu_is_completed_from_the_inventory() {
    let gpus = gpus();
    for pci in ["0000:3b:00.0", "0000:3B:00"] {
        let found = subject(gpu_at(pci), Some(&gpus));
        let whole = Subject::Gpu {
            uuid: Some("GPU-3".into()),
            serial: Some("1650".into()),
            pci: Some("0000:3b:00.0".into()),
            index: Some(3),
        };
        assert_eq!(found, whole, "{pci}");
    }
    for pci in ["0000:3c:00.0", "0000:3b:00.1", ""] {
        let found = subject(gpu_at(pci), Some(&gpus)).to_string();
        assert_ne!(found, "gpu/GPU-3", "{pci}");
    }
}

#[test]
fn changes_become_records_and_what_is_no_news_does_not() {
    let (node, mut healths) = (NodeIdentity::default(), LastHealths::default());
    let mut made = |kind| record(&change(kind), &node, None, &mut healths);
    let state = |health| HealthState {
        health,
        reason: "why".into(),
        subject: Some(gpu_at("0000:3b:00.0")),
        ..HealthState::default()
    };
    let new = |health| ChangeKind::Health {
        was: model::Health::Initializing,
        state: state(health),
    };
    assert_eq!(made(new(model::Health::Healthy)), None);
    let found = made(new(model::Health::Unhealthy)).unwrap();
    let Finding::Health(changed) = &found.finding else {
        panic!("{found:?}");
    };
    assert_eq!(changed.name, "xid");
    assert_eq!(
        (&changed.from, &changed.to),
        (&Health::Healthy, &Health::Unhealthy)
    );
    let withdrawn = ChangeKind::Withdrawn {
        state: state(model::Health::Unhealthy),
    };
    let found = made(withdrawn).unwrap();
    let Finding::Health(changed) = &found.finding else {
        panic!("{found:?}");
    };
    assert_eq!(changed.reason, "this is not reported any more: why");
    let event = Event {
        time: 1_500,
        name: "error_xid".into(),
        event_type: EventType::Fatal,
        extra_info: vec![("xid".into(), "79".into())],
        ..Event::default()
    };
    let found = made(ChangeKind::Event(event)).unwrap();
    assert_eq!((found.time, found.component()), (1_500, "xid"));
    let Finding::Event(event) = &found.finding else {
        panic!("{found:?}");
    };
    assert_eq!(
        (event.severity, event.extra_info["xid"].as_str()),
        (Severity::Fatal, "79")
    );
}
