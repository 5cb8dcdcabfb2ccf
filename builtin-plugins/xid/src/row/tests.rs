//! Tests the stored events to the byte, and reading back rows of all ages.

use gpud_sdk::{EventType, GpuId, MergeRule, Trigger};

use super::*;

const NOW: u64 = 1_740_824_500_000;

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

fn kernel(text: &str) -> Message {
    Message {
        sequence: 42,
        time: 1_740_824_430_987,
        level: 3,
        facility: 0,
        text: text.into(),
        dictionary: None,
    }
}

fn stored(text: &str) -> Event {
    let gpus = [Gpu {
        uuid: "GPU-a".into(),
        bus_id: "0000:3b:00.0".into(),
        ..Gpu::default()
    }];
    event(
        &context(),
        ErrorView::Gpud,
        &kernel(text),
        &xid::decode(text).unwrap(),
        &gpus,
    )
    .unwrap()
}

fn info<'a>(event: &'a Event, key: &str) -> Option<&'a str> {
    event
        .extra_info
        .iter()
        .find(|(k, _)| k == key)
        .map(|(_, value)| value.as_str())
}

#[test]
fn an_error_is_stored_with_everything() {
    let event =
        stored("NVRM: Xid (PCI:0000:3B:00): 79, pid=1, name=x, GPU has fallen off the bus.");
    assert_eq!(event.time, 1_740_824_430_987);
    assert_eq!(
        (event.name.as_str(), &event.event_type),
        ("error_xid", &EventType::Fatal)
    );
    assert_eq!(
        event.message,
        "XID 79 ROBUST_CHANNEL_GPU_HAS_FALLEN_OFF_THE_BUS GPU has fallen off the bus detected on GPU PCI:0000:3B:00 UUID:GPU-a"
    );
    let gpu = GpuId {
        uuid: Some("GPU-a".into()),
        serial: None,
        pci_id: Some("0000:3b:00.0".into()),
    };
    assert_eq!(event.subject, Some(Subject::Gpu(gpu)));
    assert_eq!(
        event.evidence,
        [Evidence::Kmsg(42), Evidence::Other("boot b0".into())]
    );
    assert_eq!(source(&event.evidence), Some(("b0", 42)));
    let keys = event.extra_info.iter().map(|(key, _)| key.as_str());
    assert_eq!(
        keys.collect::<Vec<_>>(),
        [
            "device_uuid",
            "data",
            "gpu",
            "pid",
            "process",
            "detail",
            "xid_catalog",
            "gpud_verdict",
            "nvidia_verdict",
            "vendor_action",
            "vendor_action_words",
            "vendor_name",
            "vendor_investigates"
        ]
    );
    assert_eq!(info(&event, "pid"), Some("1"));
    assert_eq!(info(&event, "process"), Some("x"));
    assert_eq!(info(&event, "vendor_action"), Some("RESTART_BM"));
    assert_eq!(info(&event, "gpu"), Some("0000:3b:00.0, GPU-a"));
    assert_eq!(info(&event, "device_uuid"), Some("PCI:0000:3B:00"));
    assert_eq!(
        info(&event, "data"),
        Some(
            r#"{"time":"2025-03-01T10:20:30Z","data_source":"kmsg","device_uuid":"PCI:0000:3B:00","xid":79,"description":"GPU has fallen off the bus","suggested_actions_by_gpud":{"description":"","repair_actions":["REBOOT_SYSTEM","HARDWARE_INSPECTION"]}}"#
        )
    );
    // Nothing to say: no keys.
    let event = stored("NVRM: Xid (PCI:0000:04:00): 999, unknown");
    assert_eq!(event.message, "XID 999 detected on GPU PCI:0000:04:00");
    assert_eq!(
        info(&event, "data"),
        Some(
            r#"{"time":"2025-03-01T10:20:30Z","data_source":"kmsg","device_uuid":"PCI:0000:04:00","xid":999}"#
        )
    );
}

#[test]
fn an_nvlink_error_is_stored_with_its_fields() {
    let event = stored(
        "NVRM: Xid (PCI:0008:01:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 03 (0x020465c6 0x00000000 0x00000000)",
    );
    assert_eq!(
        info(&event, "data"),
        Some(
            r#"{"time":"2025-03-01T10:20:30Z","data_source":"kmsg","device_uuid":"PCI:0008:01:00","xid":149,"sub_code":32,"sub_code_description":"NETIR_LINK_EVT","investigatory_hint":"INVESTIGATE_PEER_DEVICE","description":"NVLINK: NETIR Error","suggested_actions_by_gpud":{"description":"","repair_actions":["REBOOT_SYSTEM"]}}"#
        )
    );
    let event = stored(
        "NVRM: Xid (PCI:0008:01:00): 145, RLW_RXPIPE Nonfatal XC0 i0 Link 07 (0x0402e0c2 0x00000004)",
    );
    assert_eq!(
        info(&event, "data"),
        Some(
            r#"{"time":"2025-03-01T10:20:30Z","data_source":"kmsg","device_uuid":"PCI:0008:01:00","xid":145,"sub_code_description":"RLW_RXPIPE","error_status":4,"description":"NVLINK: RLW Error","suggested_actions_by_gpud":{"description":"","repair_actions":["IGNORE_NO_ACTION_REQUIRED"]}}"#
        )
    );
}

#[test]
fn repeats_are_counted() {
    let key = |text: &str| stored(text).merge;
    let one = key("NVRM: Xid (PCI:0000:3b:00): 31, pid=1, name=x, MMU Fault at 0x1");
    assert_eq!(one.as_ref().map(|rule| rule.window_seconds), Some(60));
    assert_eq!(
        key("NVRM: Xid (PCI:0000:3b:00): 31, pid=2, name=y, MMU Fault at 0x2"),
        one
    );
    // However its address is written.
    for device in ["0000:3b:00", "PCI:00000000:3B:00.0", "3b:00"] {
        assert_eq!(
            key(&format!("NVRM: Xid ({device}): 31, x")),
            one,
            "{device}"
        );
    }
    let nvlink = |unit: &str, severity: &str, first: &str, second: &str| {
        key(&format!(
            "NVRM: Xid (PCI:0:1): 149, {unit} {severity} XC0 i0 Link 1 (0x{first} 0x{second})"
        ))
    };
    let keys: Vec<Option<MergeRule>> = vec![
        one,
        key("NVRM: Xid (PCI:0000:3c:00): 31, x"),
        key("NVRM: Xid (PCI:0000:3b:00): 32, x"),
        key("NVRM: Xid (PCI:0000:3b:00 GPU-I:01): 31, x"),
        key("NVRM: Xid (PCI:0000:3b:00 GPU-I:02): 31, x"),
        nvlink("OTHER", "Nonfatal", "03f00000", "0"),
        nvlink("OTHER", "Fatal", "03f00000", "0"),
        nvlink("ANOTHER", "Nonfatal", "03f00000", "0"),
        nvlink("OTHER", "Nonfatal", "03e00000", "0"),
        nvlink("OTHER", "Nonfatal", "03f00000", "1"),
    ];
    for (at, key) in keys.iter().enumerate() {
        assert!(!keys[..at].contains(key), "{key:?}");
    }
    // On the other side of a reboot.
    let text = "NVRM: Xid (PCI:0000:3b:00): 31, x";
    let next_boot = CheckContext {
        boot_id: "b1".into(),
        ..context()
    };
    let after = event(
        &next_boot,
        ErrorView::Gpud,
        &kernel(text),
        &xid::decode(text).unwrap(),
        &[],
    )
    .unwrap();
    assert_ne!(after.merge, key(text));
}

#[test]
fn what_is_not_known_is_left_out() {
    let text = "NVRM: Xid (PCI:0 GPU-I:01): 31, x";
    let message = Message {
        time: NOW + 5_000,
        ..kernel(text)
    };
    let nowhere = CheckContext {
        boot_id: String::new(),
        ..context()
    };
    let event = event(
        &nowhere,
        ErrorView::Gpud,
        &message,
        &xid::decode(text).unwrap(),
        &[],
    )
    .unwrap();
    assert_eq!(event.time, NOW, "a time in the future would be refused");
    assert_eq!(event.subject, None);
    assert_eq!(event.evidence, [Evidence::Kmsg(42)]);
    assert_eq!(source(&event.evidence), Some(("", 42)));
    assert_eq!(info(&event, "mig_instance"), Some("GPU-I:01"));
}

fn row(event_type: EventType, data: &str) -> StoredEvent {
    let mut event = Event::new(5_999, EVENT_NAME, event_type, "");
    event.extra_info = vec![
        ("device_uuid".into(), "PCI:0:1".into()),
        ("data".into(), data.into()),
    ];
    StoredEvent {
        event,
        count: 1,
        last_time: 5_999,
    }
}

#[test]
fn what_is_stored_is_read_back() {
    let text = "NVRM: Xid (PCI:0000:3b:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 03 (0x020465c6 0x00000000)";
    let stored = StoredEvent {
        event: stored(text),
        count: 1,
        last_time: 0,
    };
    let row = read(&stored).unwrap();
    assert_eq!(
        (row.second, row.code, row.sub_code, row.status),
        (1_740_824_430, 149, 32, 0)
    );
    assert_eq!(
        (row.severity, row.uuid, &*row.device),
        (Severity::Fatal, Some("GPU-a"), "PCI:0000:3b:00")
    );
    assert_eq!(row.actions, ["REBOOT_SYSTEM"]);
    assert_eq!(row.evidence, stored.event.evidence);
    assert_eq!(row.message(row.uuid), stored.event.message);
}

#[test]
fn rows_are_completed_from_the_catalogue() {
    let fatal = || EventType::Fatal;
    let none = || EventType::Other(String::new());
    for (event_type, data, severity, actions, label) in [
        // The row's own words win.
        (
            EventType::Critical,
            r#"{"xid":79,"description":"own","suggested_actions_by_gpud":{"repair_actions":["X"]},"later":[1]}"#,
            Severity::Critical,
            &["X"][..],
            "own",
        ),
        (fatal(), r#"{"xid":14}"#, Severity::Fatal, &[], "Unused"),
        (
            none(),
            r#"{"xid":79}"#,
            Severity::Fatal,
            &["REBOOT_SYSTEM", "HARDWARE_INSPECTION"],
            "GPU has fallen off the bus",
        ),
        (
            EventType::Unknown,
            r#"{"xid":79,"suggested_actions_by_gpud":null}"#,
            Severity::Unknown,
            &["REBOOT_SYSTEM", "HARDWARE_INSPECTION"],
            "GPU has fallen off the bus",
        ),
        // By sub-code and status.
        (
            none(),
            r#"{"xid":149,"sub_code":38}"#,
            Severity::Fatal,
            &["IGNORE_NO_ACTION_REQUIRED"],
            "NVLINK: NETIR Error",
        ),
        (
            none(),
            r#"{"xid":145,"error_status":2}"#,
            Severity::Fatal,
            &[
                "HARDWARE_INSPECTION",
                "IGNORE_NO_ACTION_REQUIRED",
                "REBOOT_SYSTEM",
            ],
            "NVLINK: RLW Error",
        ),
        (none(), r#"{"xid":999}"#, Severity::Unknown, &[], ""),
        // Bare numbers.
        (
            EventType::Warning,
            "79",
            Severity::Warning,
            &["REBOOT_SYSTEM", "HARDWARE_INSPECTION"],
            "GPU has fallen off the bus",
        ),
        (
            none(),
            "149",
            Severity::Fatal,
            &["REBOOT_SYSTEM"],
            "NVLINK: NETIR Error",
        ),
    ] {
        let stored = row(event_type, data);
        let row = read(&stored).unwrap();
        assert_eq!(row.severity, severity, "{data}");
        assert_eq!(row.actions, actions, "{data}");
        assert_eq!((row.second, row.label.as_ref()), (5, label), "{data}");
        assert_eq!((row.device.as_ref(), row.uuid), ("PCI:0:1", None), "{data}");
    }
    assert_eq!(
        read(&row(fatal(), r#"{"xid":14}"#)).unwrap().label,
        catalog::code(14).unwrap().entry.label
    );
    for data in [
        "",
        "x",
        "0",
        "133",
        "177",
        "-1",
        "{}",
        r#"{"xid":0}"#,
        r#"{"xid":"79"}"#,
        "[79]",
        "null",
    ] {
        assert_eq!(read(&row(fatal(), data)), None, "{data}");
    }
    let mut without = row(fatal(), "");
    without.event.extra_info.clear();
    assert_eq!(read(&without), None);
    without.event.extra_info = vec![(
        "data".into(),
        r#"{"xid":79,"device_uuid":"PCI:0:2"}"#.into(),
    )];
    assert_eq!(read(&without).unwrap().device, "PCI:0:2");
}
