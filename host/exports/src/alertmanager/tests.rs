use super::*;
use crate::{ComponentHealth, Health, HealthView, NodeIdentity, Subject};

fn settings(yaml: &str) -> Settings {
    serde_yaml::from_str(yaml).unwrap()
}

fn snapshot(health: Health) -> Snapshot {
    Snapshot {
        node: NodeIdentity {
            hostname: "node-7".into(),
            machine_id: String::new(),
        },
        components: vec![ComponentHealth {
            component: "accelerator-nvidia-error-xid".into(),
            states: vec![HealthView {
                name: "error_xid".into(),
                health,
                reason: "GPU 3: Xid 79".into(),
                suggested_actions: vec!["REBOOT_SYSTEM".into()],
                subject: Some(Subject::Gpu {
                    uuid: Some("GPU-1".into()),
                    serial: None,
                    pci: None,
                    index: None,
                }),
                since: 1_000,
            }],
        }],
        ..Snapshot::default()
    }
}

#[test]
fn what_is_not_healthy_fires_and_ends_when_it_is() {
    let settings = settings("url: http://a\nlabels: {cluster: c1}\nresend: 30s");
    let labels = settings.labels.clone();
    let mut export = Alertmanager::new(settings);
    assert_eq!(
        export.outgoing(&firing_alerts(&snapshot(Health::Healthy), &labels), 5_000),
        []
    );
    let unhealthy = firing_alerts(&snapshot(Health::Unhealthy), &labels);
    let sent = export.outgoing(&unhealthy, 5_000);
    insta::assert_snapshot!(serde_json::to_string_pretty(&sent).unwrap(), @r#"
    [
      {
        "labels": {
          "alertname": "GpudUnhealthy",
          "cluster": "c1",
          "component": "accelerator-nvidia-error-xid",
          "gpu_uuid": "GPU-1",
          "instance": "node-7",
          "severity": "critical",
          "state": "error_xid",
          "subject": "gpu/GPU-1"
        },
        "annotations": {
          "action": "REBOOT_SYSTEM",
          "description": "GPU 3: Xid 79",
          "summary": "node-7: accelerator-nvidia-error-xid (gpu/GPU-1) is Unhealthy"
        },
        "startsAt": "1970-01-01T00:00:01.000Z",
        "endsAt": "1970-01-01T00:02:05.000Z"
      }
    ]
    "#);
    export.fired = unhealthy;
    let degraded = firing_alerts(&snapshot(Health::Degraded), &labels);
    let sent = export.outgoing(&degraded, 6_000);
    let ends: Vec<_> = sent
        .iter()
        .map(|alert| (alert.labels["alertname"].as_str(), alert.ends_at))
        .collect();
    assert_eq!(ends, [("GpudDegraded", 126_000), ("GpudUnhealthy", 6_000)]);
    let back = export.outgoing(&BTreeMap::new(), 10);
    assert_eq!(
        (back[0].starts_at, back[0].ends_at),
        (10, 10),
        "the clock was set back"
    );
}

#[test]
fn settings_are_checked() {
    for (yaml, problem) in [
        ("url: http://a\nlabels: {a-b: c}", "no name of a label"),
        ("url: http://a\nlabels: {severity: c}", "is set by gpud"),
        ("url: http://a\nresend: 2h", "from 1s to 1h"),
        ("url: http://a\nca_file: x", "absolute"),
    ] {
        let found = settings(yaml).check().unwrap_err();
        assert!(found.contains(problem), "{found}");
    }
    settings("url: http://a").check().unwrap();
}
