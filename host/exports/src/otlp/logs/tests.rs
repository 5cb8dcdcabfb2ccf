use std::collections::BTreeMap;

use super::*;
use crate::{HealthChange, NodeEvent, otlp::attributes::tests::shown};
use uuid::Uuid;

fn event(severity: Severity, message: &str) -> Record {
    let event = NodeEvent {
        component: "accelerator-nvidia-error-xid".into(),
        name: "error_xid".into(),
        severity,
        message: message.into(),
        extra_info: BTreeMap::from([("xid".into(), "79".into())]),
    };
    let node = NodeIdentity {
        hostname: "node-7".into(),
        ..NodeIdentity::default()
    };
    let mut record = Record::new(1_790_000_000_123, node, Finding::Event(event));
    record.subject = Some(Subject::Gpu {
        uuid: Some("GPU-1".into()),
        serial: Some("1650".into()),
        pci: Some("0000:3b:00.0".into()),
        index: Some(3),
    });
    record
}

fn change(to: Health, reason: &str) -> Record {
    let change = HealthChange {
        component: "disk".into(),
        name: "disk".into(),
        from: Health::Healthy,
        to,
        reason: reason.into(),
        suggested_actions: vec!["HARDWARE_INSPECTION".into(), "REBOOT_SYSTEM".into()],
    };
    Record::new(2_000, NodeIdentity::default(), Finding::Health(change))
}

fn body(record: &LogRecord) -> &str {
    match record.body.as_ref().unwrap().value.as_ref().unwrap() {
        Value::StringValue(text) => text.as_str(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_event_of_a_gpu() {
    let mut record = event(Severity::Fatal, "GPU has fallen off the bus");
    // Noticed a second after it happened.
    record.id = crate::record::new_id(record.time + 1000);
    let made = log_record(&record);
    assert_eq!(made.time_unix_nano, 1_790_000_000_123_000_000);
    assert_eq!(made.observed_time_unix_nano, 1_790_000_001_123_000_000);
    assert_eq!(
        (made.severity_number, made.severity_text.as_str()),
        (21, "Fatal")
    );
    assert_eq!(
        body(&made),
        "accelerator-nvidia-error-xid (gpu/GPU-1): GPU has fallen off the bus"
    );
    assert_eq!(made.event_name, "gpud.event");
    assert_eq!(
        shown(&made.attributes),
        [
            format!("log.record.uid={}", record.id).as_str(),
            "event.name=gpud.event",
            "gpud.component=accelerator-nvidia-error-xid",
            "gpud.event.name=error_xid",
            "gpud.event.extra.xid=79",
            "gpud.subject=gpu/GPU-1",
            "hw.type=gpu",
            "hw.id=GPU-1",
            "hw.serial_number=1650",
            "gpud.gpu.pci=0000:3b:00.0",
            "gpud.gpu.index=3",
        ]
    );
}

#[test]
fn a_change_of_health() {
    let mut record = change(Health::Unhealthy, "no space is left");
    record.id = Uuid::from_u128(7);
    record.subject = Some(Subject::Mount {
        path: "/data".into(),
    });
    let made = log_record(&record);
    assert_eq!(
        body(&made),
        "disk (mount/data) is Unhealthy: no space is left"
    );
    assert_eq!(made.observed_time_unix_nano, made.time_unix_nano);
    assert_eq!(made.event_name, "gpud.health.changed");
    assert_eq!(
        shown(&made.attributes),
        [
            "log.record.uid=00000000-0000-0000-0000-000000000007",
            "event.name=gpud.health.changed",
            "gpud.component=disk",
            "gpud.state.name=disk",
            "gpud.health=Unhealthy",
            "gpud.health.before=Healthy",
            "gpud.suggested_actions=2 values",
            "gpud.subject=mount/data",
            "system.filesystem.mountpoint=/data",
        ]
    );
    let sample = log_record(&Record::sample(0, NodeIdentity::default()));
    let attributes = shown(&sample.attributes);
    assert!(attributes.contains(&"gpud.sample=true".to_owned()));
}

#[test]
fn severities() {
    for (severity, number) in [
        (Severity::Unknown, 0),
        (Severity::Info, 9),
        (Severity::Warning, 13),
        (Severity::Critical, 17),
        (Severity::Fatal, 21),
    ] {
        let made = log_record(&event(severity, ""));
        assert_eq!(made.severity_number, number, "{severity:?}");
        assert!(body(&made).ends_with(": event error_xid"));
    }
    for (health, number) in [
        (Health::Healthy, 9),
        (Health::Initializing, 9),
        (Health::Degraded, 13),
        (Health::Unhealthy, 17),
        (Health::Other("Lost".into()), 17),
    ] {
        let made = log_record(&change(health.clone(), ""));
        assert_eq!(made.severity_number, number, "{health:?}");
        assert_eq!(body(&made), format!("disk is {}", health.as_str()));
    }
}

#[test]
fn subjects_have_the_ids_of_metrics() {
    for (subject, expected) in [
        (Subject::Node, vec![]),
        (
            Subject::Port {
                device: "mlx5_0".into(),
                port: 1,
            },
            vec!["hw.type=network", "hw.id=mlx5_0_1", "hw.name=mlx5_0 port 1"],
        ),
        (
            Subject::Disk {
                name: "nvme0n1".into(),
            },
            vec!["hw.type=physical_disk", "hw.id=nvme0n1", "hw.name=nvme0n1"],
        ),
        (
            Subject::Unit {
                name: "kubelet.service".into(),
            },
            vec!["gpud.unit=kubelet.service"],
        ),
        (
            Subject::Gpu {
                uuid: None,
                serial: None,
                pci: Some("0000:03:00.0".into()),
                index: None,
            },
            vec![
                "hw.type=gpu",
                "hw.id=0000:03:00.0",
                "gpud.gpu.pci=0000:03:00.0",
            ],
        ),
    ] {
        assert_eq!(shown(&parts(&subject)), expected, "{subject}");
    }
}

#[test]
fn records_of_before_a_new_host_name_have_a_resource_of_their_own() {
    let mut renamed = event(Severity::Info, "");
    renamed.node.hostname = "new".into();
    let batch = [
        event(Severity::Info, ""),
        event(Severity::Info, ""),
        renamed,
    ];
    let resource = |node: &NodeIdentity| Resource {
        attributes: vec![text("host.name", node.hostname.as_str())],
        ..Resource::default()
    };
    let made = request(&batch, resource);
    let groups: Vec<_> = made
        .resource_logs
        .iter()
        .map(|group| {
            let attributes = &group.resource.as_ref().unwrap().attributes;
            (shown(attributes), group.scope_logs[0].log_records.len())
        })
        .collect();
    assert_eq!(
        groups,
        [
            (vec!["host.name=node-7".to_owned()], 2),
            (vec!["host.name=new".to_owned()], 1)
        ]
    );
    assert_eq!(request(&batch, resource), made, "a repeat is the same");
}
