use super::*;
use gpud_sdk::types::TimeoutInfo;
use gpud_sdk::{Health, Trigger};

mod unread_connections;

const MOUNTINFO: &str = "40 27 0:42 / /mnt/s3 rw shared:9 - fuse.s3fs bucket rw\n\
    41 27 0:43 / /mnt/s3b rw - fuse.s3fs bucket rw\n\
    42 27 8:1 / /win rw - fuseblk /dev/sda1 rw\n";

fn context() -> CheckContext {
    CheckContext {
        component: "fuse".into(),
        now: 1_800_000_000_000,
        trigger: Trigger::Scheduled,
        boot_id: "b-1".into(),
        boot_time: 1_799_000_000_000,
        previous_check: None,
        extra: Vec::new(),
    }
}

fn connection(
    device: u32,
    congestion_threshold: i64,
    max_background: i64,
    waiting: i64,
) -> Connection {
    Connection {
        name: device.to_string(),
        values: Ok(Values {
            device,
            congestion_threshold,
            max_background,
            waiting,
        }),
    }
}

fn unread(name: &str, why: NumbersError) -> Connection {
    Connection {
        name: name.into(),
        values: Err(why),
    }
}

fn judged(connections: Vec<Connection>, before: &Memory) -> (Report, Memory) {
    let inputs = Inputs {
        connections: Ok(connections),
        mountinfo: MOUNTINFO,
    };
    judge(&context(), inputs, before)
}

fn first(connections: Vec<Connection>) -> Report {
    judged(connections, &Memory::default()).0
}

fn short(report: &Report) -> (Health, &str, Option<&str>) {
    let state = &report.states[0];
    (state.health.clone(), &state.reason, state.error.as_deref())
}

#[test]
fn connections_within_their_limits() {
    let report = first(vec![
        connection(42, 9, 12, 3),
        connection(8_388_609, 9, 12, 0),
    ]);
    let data = r#"{"connection_infos":[{"device":42,"fstype":"fuse.s3fs","device_name":"bucket","congestion_threshold":9,"congested_percent":33.33333333333333,"max_background":12,"max_background_percent":25,"waiting":3},{"device":8388609,"fstype":"fuseblk","device_name":"/dev/sda1","congestion_threshold":9,"congested_percent":0,"max_background":12,"max_background_percent":0,"waiting":0}]}"#;
    let expected =
        HealthState::healthy(&context(), "successfully fuse connection(s)").info("data", data);
    assert_eq!(report.states, [expected]);
    assert_eq!(report.events, []);
    let metrics: Vec<_> = report
        .metrics
        .iter()
        .map(|m| (m.name.as_str(), m.labels[0].1.as_str(), m.value))
        .collect();
    assert_eq!(
        metrics,
        [
            (CONGESTED_METRIC, "/dev/sda1", 0.0),
            (BACKGROUND_METRIC, "/dev/sda1", 0.0),
            (CONGESTED_METRIC, "bucket", 3.0 / 9.0 * 100.0),
            (BACKGROUND_METRIC, "bucket", 25.0),
        ]
    );
    assert!(
        report
            .metrics
            .iter()
            .all(|m| m.labels[0].0 == "device_name")
    );
}

#[test]
fn thresholds_are_strict() {
    for (threshold, background, waiting, parts) in [
        (100, 1000, 90, ""),
        (
            100,
            1000,
            91,
            "congested percent 91.00% exceeds threshold 90.00%",
        ),
        (1000, 100, 80, ""),
        (
            1000,
            100,
            81,
            "max background percent 81.00% exceeds threshold 80.00%",
        ),
        (
            9,
            12,
            13,
            "congested percent 144.44% exceeds threshold 90.00%, max background percent 108.33% exceeds threshold 80.00%",
        ),
        // No limit, no congestion.
        (0, 0, 5, ""),
    ] {
        let report = first(vec![connection(42, threshold, background, waiting)]);
        let messages: Vec<_> = report
            .events
            .iter()
            .map(|event| event.message.as_str())
            .collect();
        let expected = format!("bucket: {parts}");
        let expected: Vec<&str> = if parts.is_empty() {
            vec![]
        } else {
            vec![&expected]
        };
        assert_eq!(messages, expected);
        // Congestion is an event, not a verdict.
        assert_eq!(
            short(&report),
            (Health::Healthy, "successfully fuse connection(s)", None)
        );
    }
}

#[test]
fn an_event_has_all_facts() {
    let report = first(vec![connection(42, 10, 100, 10)]);
    let event = &report.events[0];
    assert_eq!(
        (event.name.as_str(), &event.event_type, event.time),
        ("fuse_connections", &EventType::Critical, context().now)
    );
    assert_eq!(event.subject, Some(Subject::Mount("/mnt/s3".into())));
    let row = r#"{"device":42,"fstype":"fuse.s3fs","device_name":"bucket","congestion_threshold":10,"congested_percent":100,"max_background":100,"max_background_percent":10,"waiting":10}"#;
    assert_eq!(event.extra_info, [("data".to_owned(), row.to_owned())]);
}

#[test]
fn an_event_is_a_change() {
    let full = || vec![connection(42, 10, 100, 10)];
    let (report, memory) = judged(full(), &Memory::default());
    assert_eq!(report.events.len(), 1);
    let (report, memory) = judged(full(), &memory);
    assert_eq!(report.events.len(), 0, "still congested");
    let (report, memory) = judged(vec![connection(42, 10, 100, 95)], &memory);
    assert_eq!(report.events.len(), 1, "and over the background limit, too");
    let (report, memory) = judged(vec![connection(42, 10, 100, 0)], &memory);
    assert_eq!((report.events.len(), &memory), (0, &Memory::default()));
    let (report, _) = judged(full(), &memory);
    assert_eq!(report.events.len(), 1, "again");
}

#[test]
fn filesystems_of_one_name_are_all_looked_at() {
    let report = first(vec![
        connection(42, 10, 100, 1),
        connection(43, 10, 100, 10),
    ]);
    assert_eq!(report.events.len(), 1);
    assert_eq!(
        report.events[0].subject,
        Some(Subject::Mount("/mnt/s3b".into()))
    );
    let values: Vec<f64> = report.metrics.iter().map(|m| m.value).collect();
    assert_eq!(values, [100.0, 10.0], "the worst of a name");
}

#[test]
fn connections_without_a_mount_are_distinguished_by_number() {
    let report = first(vec![
        connection(77, 10, 100, 10),
        connection(78, 10, 100, 10),
    ]);
    let messages: Vec<_> = report
        .events
        .iter()
        .map(|event| &event.message[..8])
        .collect();
    assert_eq!(messages, ["fuse:77:", "fuse:78:"]);
    assert!(report.events.iter().all(|event| event.subject.is_none()));
    assert_eq!(report.metrics.len(), 4);
}

#[test]
fn a_machine_without_fuse_is_well() {
    for connections in [Err(AccessError::NotFound(ROOT.into())), Ok(Vec::new())] {
        let inputs = Inputs {
            connections,
            mountinfo: "",
        };
        let (report, memory) = judge(&context(), inputs, &Memory::default());
        let state = &report.states[0];
        assert_eq!((&state.health, &state.error), (&Health::Healthy, &None));
        assert_eq!(state.extra_info[0].1, r#"{"connection_infos":null}"#);
        assert!(report.supported && report.metrics.is_empty() && memory == Memory::default());
    }
}

#[test]
fn a_thousand_connections_fit_the_bound_and_the_fullest_stay() {
    let connections = (0..1000)
        .map(|n| connection(1000 + n, 100, 100, i64::from(n % 50)))
        .collect();
    let report = first(connections);
    let data = &report.states[0].extra_info[0].1;
    assert!(
        data.len() <= MAX_DATA_BYTES
            && data.contains("\"waiting\":49}")
            && !data.contains("\"waiting\":0}")
    );
}
