use std::collections::BTreeMap;

use super::*;
use crate::{Finding, Health, HealthChange, NodeEvent, NodeIdentity, Severity, Subject};

fn node() -> NodeIdentity {
    NodeIdentity {
        hostname: "node 7".into(),
        machine_id: "4c4c".into(),
    }
}

fn change() -> Record {
    let change = HealthChange {
        component: "accelerator-nvidia-error-xid".into(),
        name: "error_xid".into(),
        from: Health::Healthy,
        to: Health::Unhealthy,
        reason: "GPU \"3\":\nXid 79".into(),
        suggested_actions: vec!["REBOOT_SYSTEM".into()],
    };
    let mut record = Record::new(1_790_000_000_123, node(), Finding::Health(change));
    record.id = Uuid::from_u128(7);
    record.subject = Some(Subject::Gpu {
        uuid: Some("GPU-1".into()),
        serial: Some("1650".into()),
        pci: None,
        index: Some(3),
    });
    record
}

fn event() -> Record {
    let event = NodeEvent {
        component: "os".into(),
        name: "reboot".into(),
        severity: Severity::Warning,
        message: "system reboot".into(),
        extra_info: BTreeMap::from([("k".into(), "v".into())]),
    };
    let mut record = Record::new(1_790_000_000_000, node(), Finding::Event(event));
    record.id = Uuid::from_u128(8);
    record
}

fn webhook(yaml: &str) -> Webhook {
    let settings: Settings = serde_yaml::from_str(&format!("url: http://h\n{yaml}")).unwrap();
    settings.check().unwrap();
    Webhook::new(settings)
}

fn text(outgoing: &Outgoing) -> &str {
    std::str::from_utf8(&outgoing.body).unwrap()
}

#[test]
fn a_batch_is_a_list_of_cloud_events() {
    let sent = webhook("").outgoing(&[change(), event()]);
    assert_eq!(sent.len(), 1);
    assert_eq!(
        sent[0].content_type,
        "application/cloudevents-batch+json; charset=UTF-8"
    );
    let events: serde_json::Value = serde_json::from_slice(&sent[0].body).unwrap();
    let expected = serde_json::json!([
        {
            "specversion": "1.0",
            "id": "00000000-0000-0000-0000-000000000007",
            "source": "/gpud/nodes/node%207",
            "type": "dev.gpud.health.changed.v1",
            "time": "2026-09-21T14:13:20.123Z",
            "subject": "gpu/GPU-1",
            "datacontenttype": "application/json",
            "component": "accelerator-nvidia-error-xid",
            "severity": "unhealthy",
            "data": {
                "id": "00000000-0000-0000-0000-000000000007",
                "time": "2026-09-21T14:13:20.123Z",
                "node": {"hostname": "node 7", "machine_id": "4c4c"},
                "subject": {"kind": "gpu", "uuid": "GPU-1", "serial": "1650", "index": 3},
                "health": {
                    "component": "accelerator-nvidia-error-xid",
                    "name": "error_xid",
                    "from": "Healthy",
                    "to": "Unhealthy",
                    "reason": "GPU \"3\":\nXid 79",
                    "suggested_actions": ["REBOOT_SYSTEM"],
                },
            },
        },
        {
            "specversion": "1.0",
            "id": "00000000-0000-0000-0000-000000000008",
            "source": "/gpud/nodes/node%207",
            "type": "dev.gpud.event.v1",
            "time": "2026-09-21T14:13:20.000Z",
            "subject": "component/os",
            "datacontenttype": "application/json",
            "component": "os",
            "severity": "warning",
            "data": {
                "id": "00000000-0000-0000-0000-000000000008",
                "time": "2026-09-21T14:13:20.000Z",
                "node": {"hostname": "node 7", "machine_id": "4c4c"},
                "event": {
                    "component": "os",
                    "name": "reboot",
                    "severity": "Warning",
                    "message": "system reboot",
                    "extra_info": {"k": "v"},
                },
            },
        },
    ]);
    assert_eq!(events, expected);
    let again = webhook("").outgoing(&[change(), event()]);
    assert_eq!(again, sent, "a repeat is the same to the byte");
    assert_ne!(webhook("").outgoing(&[event()])[0].id, sent[0].id);
}

#[test]
fn each_event_may_come_by_itself() {
    let sent = webhook("mode: structured").outgoing(&[change(), event()]);
    let ids: Vec<_> = sent.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(ids, [change().id.to_string(), event().id.to_string()]);
    assert_eq!(
        sent[0].content_type,
        "application/cloudevents+json; charset=UTF-8"
    );
    let sample = Record::sample(0, node());
    let sent = webhook("mode: structured").outgoing(&[sample]);
    assert!(text(&sent[0]).contains(r#""sample":true"#));
}

#[test]
fn a_template_makes_the_body_that_a_chat_tool_wants() {
    let json = webhook(r#"template: '{"text": "{{ summary }}", "n": "{{node}}"}'"#);
    let sent = json.outgoing(&[change(), event()]);
    assert_eq!(
        text(&sent[0]),
        r#"{"text": "node 7: accelerator-nvidia-error-xid (gpu/GPU-1) is Unhealthy: GPU \"3\":\nXid 79; do: REBOOT_SYSTEM", "n": "node 7"}"#
    );
    assert_eq!(
        text(&sent[1]),
        r#"{"text": "node 7: os: Warning event reboot: system reboot", "n": "node 7"}"#
    );
    assert_eq!(sent[0].content_type, "application/json");
    let plain = webhook("content_type: text/plain\ntemplate: '{{ severity }} {{ message }}'");
    assert_eq!(
        text(&plain.outgoing(&[change()])[0]),
        "Unhealthy GPU \"3\":\nXid 79"
    );
    let form = webhook(
        "content_type: application/x-www-form-urlencoded\ntemplate: 'text={{ message }}&f={{ from }}'",
    );
    assert_eq!(
        text(&form.outgoing(&[change()])[0]),
        "text=GPU%20%223%22%3A%0AXid%2079&f=Healthy"
    );
}

#[test]
fn every_field_stands_for_something_in_a_change_or_an_event() {
    for field in template::FIELDS {
        let one = Template::parse(&format!("<{{{{ {field} }}}}>")).unwrap();
        let filled = [
            one.fill(&change(), "text/plain"),
            one.fill(&event(), "text/plain"),
        ];
        assert!(filled.iter().any(|text| text.len() > 2), "{field}");
        assert!(filled[0].len() > 2, "{field} of a change");
    }
    assert_eq!(Template::parse("{{ id"), Err(TemplateError::Open));
    assert_eq!(
        Template::parse("{{ x }}"),
        Err(TemplateError::NoField("x".into()))
    );
    assert_eq!(
        Template::parse("{ } }}")
            .unwrap()
            .fill(&event(), "text/plain"),
        "{ } }}"
    );
}
