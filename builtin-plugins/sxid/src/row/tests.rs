//! Tests the stored events to the byte, and reading them back.

use gpud_sdk::{EventType, Trigger};

use super::*;

const NOW: u64 = 1_740_824_500_000;
const FAULT: &str =
    "nvidia-nvswitch5: SXid (PCI:0000:C4:00.0): 20034, Fatal, Link 11 LTSSM Fault Up";

fn context() -> CheckContext {
    CheckContext {
        component: crate::COMPONENT.into(),
        now: NOW,
        trigger: Trigger::Scheduled,
        boot_id: "b0".into(),
        boot_time: 0,
        previous_check: None,
        extra: Vec::new(),
    }
}

fn stored_in(context: &CheckContext, time: u64, text: &str) -> Event {
    let message = Message {
        sequence: 42,
        time,
        level: 3,
        facility: 0,
        text: text.into(),
        dictionary: None,
    };
    event(
        context,
        ErrorView::Gpud,
        &message,
        &sxid::decode(text, 0).unwrap(),
    )
    .unwrap()
}

fn stored(text: &str) -> Event {
    stored_in(&context(), 1_740_824_430_987, text)
}

fn info(event: &Event) -> Vec<(&str, &str)> {
    let pairs = event.extra_info.iter();
    pairs.map(|(key, value)| (&**key, &**value)).collect()
}

#[test]
fn an_error_is_stored_with_everything() {
    let event = stored(FAULT);
    assert_eq!(event.time, 1_740_824_430_987);
    assert_eq!(
        (event.name.as_str(), &event.event_type),
        ("error_sxid", &EventType::Fatal)
    );
    assert_eq!(
        event.message,
        "SXID 20034(LTSSM Fault Up) detected on PCI:0000:C4:00.0"
    );
    let switch = ("nvswitch".to_owned(), "0000:c4:00.0".to_owned());
    assert_eq!(event.subject, Some(Subject::Other(switch)));
    assert_eq!(
        event.evidence,
        [Evidence::Kmsg(42), Evidence::Other("boot b0".into())]
    );
    assert_eq!(
        info(&event),
        [
            ("device_uuid", "PCI:0000:C4:00.0"),
            (
                "data",
                r#"{"time":"2025-03-01T10:20:30Z","data_source":"kmsg","device_uuid":"PCI:0000:C4:00.0","sxid":20034,"suggested_actions_by_gpud":{"description":"","repair_actions":["REBOOT_SYSTEM","HARDWARE_INSPECTION"]}}"#
            ),
            ("severity", "Fatal"),
            ("link", "11"),
            ("detail", "20034, Fatal, Link 11 LTSSM Fault Up"),
            ("xid_catalog", "gpud"),
            ("gpud_verdict", "Fatal, REBOOT_SYSTEM"),
            ("nvidia_verdict", "Fatal, REBOOT_SYSTEM"),
            ("vendor_action", "RESET_BY_SCOPE"),
            (
                "vendor_action_words",
                "reset the GPUs of the job (access link) or all GPUs and NVSwitches (trunk link)"
            ),
        ]
    );
    // No actions, and no entry.
    for (code, message) in [
        (20_001, "SXID 20001(TX Replay Error) detected on PCI:0:1"),
        (28_006, "SXID 28006 detected on PCI:0:1"),
    ] {
        let event = stored(&format!("SXid (PCI:0:1): {code}, Fatal, x"));
        assert_eq!(
            (event.message.as_str(), &event.event_type),
            (message, &EventType::Warning)
        );
        let data = format!(
            r#"{{"time":"2025-03-01T10:20:30Z","data_source":"kmsg","device_uuid":"PCI:0:1","sxid":{code}}}"#
        );
        assert_eq!(info(&event)[1], ("data", data.as_str()));
    }
}

#[test]
fn repeats_and_follow_up_lines_are_counted() {
    let key = |text: &str| stored(text).merge.unwrap();
    let one = key(FAULT);
    assert_eq!(one.window_seconds, 60);
    for same in [
        "nvidia-nvswitch5: SXid (PCI:0000:C4:00.0): 20034, Severity 1 Engine instance 11 Sub-engine instance 00",
        "nvidia-nvswitch5: SXid (PCI:0000:C4:00.0): 20034, Data {0x20000000, 0x20000000}",
    ] {
        assert_eq!(key(same), one);
    }
    for other in [
        "SXid (PCI:0000:C4:00.0): 20033, x",
        "SXid (PCI:0000:C5:00.0): 20034, x",
    ] {
        assert_ne!(key(other), one);
    }
    // On the other side of a reboot.
    let next_boot = CheckContext {
        boot_id: "b1".into(),
        ..context()
    };
    assert_ne!(stored_in(&next_boot, NOW, FAULT).merge, Some(one));
}

#[test]
fn what_is_not_known_is_left_out() {
    let nowhere = CheckContext {
        boot_id: String::new(),
        ..context()
    };
    let event = stored_in(&nowhere, NOW + 5_000, FAULT);
    assert_eq!(event.time, NOW, "a time in the future would be refused");
    assert_eq!(event.evidence, [Evidence::Kmsg(42)]);
    assert_eq!(subject(""), None);
}

fn row(event_type: EventType, data: &str) -> StoredEvent {
    let mut event = Event::new(5_999, EVENT_NAME, event_type, "");
    event.extra_info = vec![("data".into(), data.into())];
    StoredEvent {
        event,
        count: 1,
        last_time: 5_999,
    }
}

#[test]
fn what_is_stored_is_read_back() {
    let stored = StoredEvent {
        event: stored(FAULT),
        count: 1,
        last_time: 0,
    };
    let row = read(&stored).unwrap();
    assert_eq!((row.second, row.code), (1_740_824_430, 20_034));
    assert_eq!(row.action.as_deref(), Some("REBOOT_SYSTEM"));
    assert_eq!(row.evidence, stored.event.evidence);
    assert_eq!(row.message(), stored.event.message);
}

#[test]
fn the_catalogue_decides_where_it_can() {
    let own = r#","suggested_actions_by_gpud":{"repair_actions":["X","Y"]},"later":[1]"#;
    for (event_type, code, more, expected, action) in [
        (
            EventType::Warning,
            20_034,
            own,
            EventType::Fatal,
            Some("REBOOT_SYSTEM"),
        ),
        (EventType::Fatal, 20_001, own, EventType::Warning, None),
        (
            EventType::Fatal,
            12_028,
            "",
            EventType::Fatal,
            Some("REBOOT_SYSTEM"),
        ),
        // Stored by a version that knew more.
        (EventType::Fatal, 28_006, own, EventType::Fatal, Some("X")),
        (EventType::Warning, 28_006, "", EventType::Warning, None),
        (
            EventType::Warning,
            28_006,
            r#","suggested_actions_by_gpud":null"#,
            EventType::Warning,
            None,
        ),
    ] {
        let stored = row(event_type, &format!(r#"{{"sxid":{code}{more}}}"#));
        let row = read(&stored).unwrap();
        assert_eq!((row.second, &*row.device), (5, ""), "{code}");
        assert_eq!(
            (row.severity.event_type(), row.action.as_deref()),
            (expected, action),
            "{code}"
        );
    }
    for data in [
        "",
        "x",
        "20034",
        "{}",
        r#"{"sxid":0}"#,
        r#"{"sxid":"20034"}"#,
        "[20034]",
        "null",
    ] {
        assert_eq!(read(&row(EventType::Fatal, data)), None, "{data}");
    }
    let mut without = row(EventType::Fatal, "");
    without.event.extra_info.clear();
    assert_eq!(read(&without), None);
}
