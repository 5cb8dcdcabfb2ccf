use super::*;
use crate::mounts::Usage;
use gpud_sdk::history::StoredEvent;
use gpud_sdk::{AccessError, Event, EventType, RepairAction, Trigger};

mod unread;

const LOW: &str = "xfs partition /: free space 100 MiB is below 500 MiB threshold (1.0 GiB total)";

fn context() -> CheckContext {
    CheckContext {
        component: "disk".into(),
        now: 1_800_000_000_000,
        trigger: Trigger::Scheduled,
        boot_id: "b-1".into(),
        boot_time: 1_799_000_000_000,
        previous_check: None,
        extra: Vec::new(),
    }
}

fn partition(point: &str, fstype: &str, free_mib: u64) -> Partition {
    let usage = Usage {
        total_bytes: 1 << 30,
        free_bytes: free_mib << 20,
        used_bytes: 5,
    };
    Partition {
        device: "/dev/vda".into(),
        fstype: fstype.into(),
        mount_point: point.into(),
        mounted: true,
        stat_timed_out: false,
        read_only: false,
        usage: Some(usage),
    }
}

fn silent(point: &str) -> Partition {
    Partition {
        mounted: false,
        stat_timed_out: true,
        usage: None,
        ..partition(point, "nfs4", 0)
    }
}

fn device(name: &str, point: &str) -> BlockDevice {
    BlockDevice {
        name: name.into(),
        mountpoint: point.into(),
        ..BlockDevice::default()
    }
}

fn inputs(config: &Config) -> Inputs<'_> {
    Inputs {
        config,
        log: Log {
            available: true,
            ..Log::default()
        },
        devices: Devices::Listed(vec![device("/dev/vda", "/")]),
        local: vec![partition("/", "xfs", 900)],
        network: Vec::new(),
        df_error: None,
        targets: BTreeMap::new(),
    }
}

fn failure() -> Result<Vec<StoredEvent>, AccessError> {
    let event = Event::new(1_799_999_000_000, "buffer_io_error", EventType::Warning, "");
    Ok(vec![StoredEvent {
        last_time: event.time,
        count: 1,
        event,
    }])
}

fn short(state: &HealthState) -> (Health, &str) {
    (state.health.clone(), &state.reason)
}

#[test]
fn all_well() {
    let config = Config::default();
    let (report, after) = judge(
        &context(),
        inputs(&config),
        &Counters {
            lsblk: 4,
            ..Counters::default()
        },
    );
    let data = r#"{"ext_partitions":[{"device":"/dev/vda","fstype":"xfs","mount_point":"/","mounted":true,"stat_timed_out":false,"usage":{"total_bytes":1073741824,"free_bytes":943718400,"used_bytes":5}}],"nfs_partitions":[],"block_devices":[{"name":"/dev/vda","mountpoint":"/"}],"device_usages":[{"device_name":"/dev/vda","mountpoint":"/","total_bytes":1073741824,"free_bytes":943718400,"used_bytes":5}],"mount_target_usages":null}"#;
    assert_eq!(
        report.states,
        [HealthState::healthy(&context(), "ok").info("data", data)]
    );
    let metrics: Vec<_> = report
        .metrics
        .iter()
        .map(|m| (m.name.as_str(), m.labels[0].1.as_str(), m.value))
        .collect();
    assert_eq!(
        metrics,
        [
            ("disk_total_bytes", "/", 1_073_741_824.0),
            ("disk_free_bytes", "/", 943_718_400.0),
            ("disk_used_bytes", "/", 5.0),
        ]
    );
    assert_eq!(after, Counters::default());
}

#[test]
fn reasons_are_joined_and_the_worst_health_wins() {
    let config = Config::default();
    let mut low = inputs(&config);
    low.local = vec![partition("/data", "xfs", 1), partition("/", "xfs", 100)];
    let (report, _) = judge(&context(), low, &Counters::default());
    assert_eq!(short(&report.states[0]), (Health::Degraded, LOW));
    assert!(
        report
            .metrics
            .iter()
            .all(|metric| metric.labels[0].1 == "/")
    );

    let mut all = inputs(&config);
    all.local = vec![partition("/", "xfs", 100)];
    all.log.events = failure();
    all.devices = Devices::NoProgram;
    let (report, _) = judge(&context(), all, &Counters::default());
    let state = &report.states[0];
    let reason = format!("Buffer I/O error detected on device; no block device found; {LOW}");
    assert_eq!(short(state), (Health::Unhealthy, reason.as_str()));
    let actions = state.suggested_actions.as_ref().unwrap();
    assert_eq!(
        (
            actions.description.as_str(),
            actions.repair_actions.as_slice()
        ),
        ("", [RepairAction::RebootSystem].as_slice())
    );
    assert_eq!(state.recovery, [Recovery::Reboot, Recovery::SetHealthy]);
    assert!(state.extra_info.is_empty());
    assert_eq!(report.metrics.len(), 3);
}

#[test]
fn exactly_the_threshold_is_enough() {
    let config = Config::default();
    let mut inputs = inputs(&config);
    inputs.local = vec![partition("/", "ext4", 500)];
    let (report, _) = judge(&context(), inputs, &Counters::default());
    assert_eq!(short(&report.states[0]), (Health::Healthy, "ok"));
}

#[test]
fn data_fits_the_hosts_bound() {
    let config = Config::default();
    let devices: Vec<_> = (0..300)
        .map(|n| device(&format!("/dev/{}{n}", "x".repeat(200)), "/"))
        .collect();
    let inputs = Inputs {
        devices: Devices::Listed(devices),
        ..inputs(&config)
    };
    let (report, _) = judge(&context(), inputs, &Counters::default());
    let data = &report.states[0].extra_info[0].1;
    assert!(data.len() <= MAX_DATA_BYTES);
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    assert_eq!(data["ext_partitions"].as_array().unwrap().len(), 1);
    assert_eq!(data["block_devices"].as_array().unwrap().len(), 75);
}

#[test]
fn ends_of_programs() {
    let output = |exit_code, signal, stderr: &str| Output {
        exit_code,
        signal,
        stdout: Vec::new(),
        stderr: stderr.into(),
        truncated: false,
        duration_ms: 1,
    };
    let cases = [
        (
            output(Some(1), None, " bad option\n"),
            "exit code 1: bad option",
        ),
        (output(None, Some(9), ""), "ended by signal 9: "),
        (output(Some(0), None, ""), "output too long"),
    ];
    for (output, expected) in cases {
        assert_eq!(exit_text(&output), expected);
    }
}

#[test]
fn space_that_df_does_not_tell() {
    let config = Config {
        usage_from_df: true,
        ..Config::default()
    };
    let look = |counted, before: &Counters| {
        let inputs = Inputs {
            local: Vec::new(),
            df_error: Some("df: exit code 1: nsenter: no".to_owned()),
            log: Log {
                available: counted,
                ..Log::default()
            },
            ..inputs(&config)
        };
        let (report, after) = judge(&context(), inputs, before);
        let state = &report.states[0];
        (state.health.clone(), state.error.clone(), after)
    };
    let mut counters = Counters::default();
    let mut healths = Vec::new();
    for _ in 0..PATIENCE + 1 {
        let (health, error, after) = look(true, &counters);
        assert_eq!(error.as_deref(), Some("df: exit code 1: nsenter: no"));
        healths.push(health);
        counters = after;
    }
    let (patient, rest) = healths.split_at(PATIENCE as usize - 1);
    assert!(patient.iter().all(|health| *health == Health::Healthy));
    assert_eq!(rest, [Health::Degraded, Health::Degraded]);
    // A scan has one look only.
    assert_eq!(look(false, &Counters::default()).0, Health::Degraded);
    // And a success restarts the count.
    let (_, after) = judge(&context(), inputs(&config), &counters);
    assert_eq!(after.df, 0);
}

#[test]
fn a_full_filesystem_is_unhealthy_whichever_it_is() {
    let config = Config::default();
    let full = Partition {
        usage: Some(Usage {
            total_bytes: 1 << 30,
            free_bytes: 0,
            used_bytes: 1 << 30,
        }),
        ..partition("/data", "xfs", 0)
    };
    let mut inputs = inputs(&config);
    inputs.local.push(full);
    let (report, _) = judge(&context(), inputs, &Counters::default());
    assert_eq!(
        short(&report.states[0]),
        (
            Health::Unhealthy,
            "/data is full: 100 % used, 0 B of 1.0 GiB free (xfs)"
        )
    );
}
