use super::*;

#[test]
fn a_record_survives_its_json() {
    let node = NodeIdentity {
        hostname: "node-7".into(),
        machine_id: "4c4c".into(),
    };
    let change = HealthChange {
        component: "xid".into(),
        name: "error_xid".into(),
        from: Health::Healthy,
        to: Health::Other("Lost".into()),
        reason: "GPU 3: Xid 79\nreboot".into(),
        suggested_actions: vec!["REBOOT_SYSTEM".into()],
    };
    let mut record = Record::new(1_790_000_000_123, node, Finding::Health(change));
    record.subject = Some(Subject::Gpu {
        uuid: Some("GPU-1".into()),
        serial: None,
        pci: Some("0000:3b:00.0".into()),
        index: Some(3),
    });
    let json = serde_json::to_string(&record).unwrap();
    assert!(
        json.contains(r#""time":"2026-09-21T14:13:20.123Z""#),
        "{json}"
    );
    assert!(json.contains(r#""health":{"component":"xid""#), "{json}");
    assert!(!json.contains("sample"), "{json}");
    assert_eq!(serde_json::from_str::<Record>(&json).unwrap(), record);
    let sample = Record::sample(5, record.node.clone());
    let json = serde_json::to_string(&sample).unwrap();
    assert!(json.contains(r#""sample":true"#), "{json}");
    assert_eq!(serde_json::from_str::<Record>(&json).unwrap(), sample);
}

#[test]
fn ids_ascend_with_time_and_differ() {
    let ids: Vec<Uuid> = [1_000, 1_000, 2_000, 500_000].map(new_id).to_vec();
    assert_ne!(ids[0], ids[1]);
    assert!(ids[1] < ids[2] && ids[2] < ids[3]);
}

#[test]
fn subjects_name_what_lasts() {
    let gpu = |uuid: Option<&str>, index| Subject::Gpu {
        uuid: uuid.map(str::to_owned),
        serial: None,
        pci: None,
        index,
    };
    for (subject, text) in [
        (gpu(Some("GPU-1"), Some(3)), "gpu/GPU-1"),
        (gpu(None, Some(3)), "gpu/3"),
        (gpu(None, None), "gpu/unknown"),
        (Subject::Node, "node"),
        (
            Subject::Port {
                device: "mlx5_0".into(),
                port: 1,
            },
            "port/mlx5_0/1",
        ),
        (
            Subject::Mount {
                path: "/data".into(),
            },
            "mount/data",
        ),
    ] {
        assert_eq!(subject.to_string(), text);
    }
}
