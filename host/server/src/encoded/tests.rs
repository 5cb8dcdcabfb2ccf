use super::*;
use crate::model::{EventType, Health, Subject};
use gpud_summary::KnownGpu;

fn change(number: u64, kind: ChangeKind) -> Change {
    Change {
        id: ChangeId { started: 7, number },
        time: 1_741_064_767_000,
        component: "disk".to_owned(),
        kind,
    }
}

fn event(message: &str) -> ChangeKind {
    ChangeKind::Event(Event {
        time: 1_741_064_767_999,
        name: "read_only".to_owned(),
        event_type: EventType::Warning,
        message: message.to_owned(),
        ..Event::default()
    })
}

fn text(number: u64, kind: ChangeKind) -> String {
    text_on(&Gpus::default(), number, kind)
}

/// On a machine with these GPUs.
fn text_on(gpus: &Gpus, number: u64, kind: ChangeKind) -> String {
    String::from_utf8(to_event(&change(number, kind), gpus).to_vec()).unwrap()
}

#[test]
fn every_kind_of_change() {
    let state = HealthState {
        name: Some("disk".to_owned()),
        health: Health::Unhealthy,
        reason: "it does not answer".to_owned(),
        subject: Some(Subject::Mount("/scratch".to_owned())),
        ..HealthState::default()
    };
    let was = Health::Healthy;
    let shown = [
        text(1, event("Remounting filesystem read-only")),
        text(
            2,
            ChangeKind::Health {
                was,
                state: state.clone(),
            },
        ),
        text(3, ChangeKind::Withdrawn { state }),
    ];
    let time = "\"time\":\"2025-03-04T05:06:07Z\"";
    let expected = [
        format!(
            "id: 7-1\nevent: event\ndata: {{\"id\":\"7-1\",{time},\"kind\":\"event\",\"component\":\"disk\",\"name\":\"read_only\",\"severity\":\"Warning\",\"message\":\"Remounting filesystem read-only\"}}\n\n"
        ),
        format!(
            "id: 7-2\nevent: health\ndata: {{\"id\":\"7-2\",{time},\"kind\":\"health\",\"component\":\"disk\",\"name\":\"disk\",\"from\":\"Healthy\",\"to\":\"Unhealthy\",\"message\":\"it does not answer\",\"subject\":{{\"kind\":\"mount\",\"label\":\"/scratch\"}}}}\n\n"
        ),
        format!(
            "id: 7-3\nevent: health\ndata: {{\"id\":\"7-3\",{time},\"kind\":\"health\",\"component\":\"disk\",\"name\":\"disk\",\"from\":\"Unhealthy\",\"to\":null,\"message\":\"it does not answer\",\"subject\":{{\"kind\":\"mount\",\"label\":\"/scratch\"}}}}\n\n"
        ),
    ];
    assert_eq!(shown, expected);
}

#[test]
fn text_of_the_machine_begins_no_line_of_its_own() {
    let shown = text(4, event("a\n\ndata: b\r\nevent: c\u{2028}\0"));
    let lines: Vec<_> = shown.split(['\n', '\r']).collect();
    assert_eq!(lines.len(), 5, "{shown:?}");
    assert!(lines.ends_with(&["", ""]), "{shown:?}");
}

#[test]
fn a_gpu_has_its_number_and_all_its_names() {
    let gpus = Gpus::new([KnownGpu {
        uuid: Some("GPU-3".to_owned()),
        serial: Some("1650".to_owned()),
        pci: Some("0000:3b:00.0".to_owned()),
        index: Some(3),
    }]);
    let state = |subject, reason: &str| ChangeKind::Health {
        was: Health::Healthy,
        state: HealthState {
            health: Health::Unhealthy,
            reason: reason.to_owned(),
            subject,
            ..HealthState::default()
        },
    };
    let at = |id: &str| Subject::Gpu {
        uuid: None,
        serial: None,
        pci_id: Some(id.to_owned()),
    };
    let whole = "\"subject\":{\"kind\":\"gpu\",\"label\":\"GPU 3\",\"detail\":\"0000:3b:00.0, serial 1650\",\"uuid\":\"GPU-3\",\"serial\":\"1650\",\"pci\":\"0000:3b:00.0\",\"index\":3}";
    let known = text_on(&gpus, 1, state(Some(at("0000:3B:00")), "it is lost"));
    assert!(known.contains(whole), "{known}");
    let named = text_on(&gpus, 2, state(None, "GPU lost: GPU-3"));
    assert!(named.contains(whole), "{named}");
    let other = text_on(&gpus, 3, state(Some(at("0000:4b:00.0")), "GPU lost: GPU-3"));
    let label = "\"subject\":{\"kind\":\"gpu\",\"label\":\"GPU 0000:4b:00.0\"";
    assert!(other.contains(label), "{other}");
    let nameless = Subject::Gpu {
        uuid: None,
        serial: None,
        pci_id: None,
    };
    let nameless = text_on(&gpus, 4, state(Some(nameless), "it is lost"));
    let label = "\"subject\":{\"kind\":\"gpu\",\"label\":\"a GPU\"}";
    assert!(nameless.contains(label), "{nameless}");
}

#[test]
fn a_change_is_encoded_once() {
    let encoder = Encoder::default();
    let first = encoder.encode(&change(5, event("a")));
    // Another text under the same number shows that nothing was encoded.
    let second = encoder.encode(&change(5, event("b")));
    assert_eq!(first.as_ptr(), second.as_ptr());
    for number in 6..3000 {
        encoder.encode(&change(number, event("c")));
    }
    assert_eq!(encoder.held.lock().unwrap().len(), HELD);
    let old = encoder.encode(&change(5, event("d")));
    assert!(String::from_utf8_lossy(&old).contains("\"d\""));
    assert_eq!(encoder.held.lock().unwrap().front().unwrap().0.number, 1976);
}
