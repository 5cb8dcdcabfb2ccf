use gpud_sdk::{EventType, Recovery, RepairAction, Trigger};

use super::*;

mod verdicts;

const NOW: u64 = 1_800_000_000_000;
const MINUTE: u64 = 60_000;
const DAY: u64 = 24 * 60 * MINUTE;
const MEDIUM: &str =
    "critical medium error, dev sda, sector 7 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2";
const IO: &str = "I/O error, dev sdb, sector 7 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2";

fn context(now: u64) -> CheckContext {
    CheckContext {
        component: crate::COMPONENT.into(),
        now,
        trigger: Trigger::Event,
        boot_id: "boot".into(),
        boot_time: 0,
        previous_check: None,
        extra: vec![],
    }
}

fn topology() -> Topology {
    let path = "../../devices/pci0000:00/ata1/host0/target0:0:0/0:0:0:0/block/sda/sda1";
    let mounts = "27 1 8:1 / / rw - ext4 /dev/root rw\n28 1 8:1 /v /var rw - ext4 /dev/root rw\n";
    Topology::new(mounts, |_| Some(path.to_owned()), |_| vec![])
}

/// Lines with the minutes before now at which they came.
fn all(texts: &[(u64, &str)]) -> Vec<Event> {
    let line = |(n, (minutes, text)): (usize, &(u64, &str))| Message {
        sequence: n as u64,
        time: NOW - minutes * MINUTE,
        level: 3,
        facility: 0,
        text: (*text).into(),
        dictionary: None,
    };
    let messages: Vec<Message> = texts.iter().enumerate().map(line).collect();
    events(&context(NOW), &messages, topology)
}

fn report(texts: &[(u64, &str)], boots: &[u64]) -> Report {
    let stored = incidents::as_stored(all(texts));
    judge(
        &context(NOW),
        &Config::default(),
        &Policy::none(&CATALOG),
        &stored,
        boots,
    )
}

#[test]
fn an_event_names_disk_place_and_mounts() {
    let event = all(&[(1, MEDIUM)]).remove(0);
    assert_eq!(event.name, "disk_medium_error");
    assert_eq!(event.event_type, EventType::Critical);
    assert_eq!(event.message, "Medium error on sda (mounted at /, /var)");
    assert_eq!(
        event.subject,
        Some(Subject::Other(("disk".into(), "sda".into())))
    );
    let fact = |key| incidents::fact(&event, key);
    assert_eq!(
        (
            fact("device"),
            fact("mount_points"),
            fact("sector"),
            fact("operation"),
            fact("status")
        ),
        (
            Some("sda"),
            Some("/,/var"),
            Some("7"),
            Some("READ"),
            Some("critical medium")
        )
    );
    // A disk without mounts, and one that is found by its address.
    assert_eq!(all(&[(1, IO)])[0].message, "I/O error on sdb");
    let event = all(&[(
        1,
        "sd 0:0:0:0: Device offlined - not ready after error recovery",
    )])
    .remove(0);
    assert_eq!(
        event.message,
        "Disk taken out of service by the kernel on 0:0:0:0 (mounted at /, /var)"
    );
    assert_eq!(incidents::fact(&event, "scsi_address"), None);
    let event = all(&[(1, "sd 0:0:0:0: [sdz] tag#1 FAILED Result: hostbyte=DID_OK")]).remove(0);
    assert_eq!(incidents::fact(&event, "scsi_address"), Some("0:0:0:0"));
    assert_eq!(incidents::fact(&event, "mount_points"), Some("/,/var"));
}

#[test]
fn devices_are_looked_up_once_and_only_when_needed() {
    let line = |text: &str| Message {
        sequence: 1,
        time: NOW,
        level: 3,
        facility: 0,
        text: text.into(),
        dictionary: None,
    };
    let lines = [line("nvme nvme0: 8/0/0 default/read/poll queues")];
    events(&context(NOW), &lines, || panic!("asked for nothing"));
    let mut from_service = line(MEDIUM);
    from_service.facility = 3;
    assert_eq!(
        events(&context(NOW), &[from_service], || panic!(
            "not the kernel's"
        )),
        []
    );
}

#[test]
fn a_storm_of_filesystem_errors_is_one_event() {
    let line = "EXT4-fs error (device sda1): ext4_find_entry:1455: inode #2: comm ls: reading directory lblock 0";
    let stored = incidents::as_stored(all(&[(10, line); 500]));
    assert_eq!((stored.len(), stored[0].count), (1, 500));
    let event = &stored[0].event;
    assert_eq!(
        event.message,
        "Filesystem error on sda1 (mounted at /, /var)"
    );
    assert_eq!(incidents::fact(event, "filesystem"), Some("ext4"));
    let state = report(&[(10, line); 500], &[NOW - MINUTE]).states.remove(0);
    assert_eq!(state.health, Health::Degraded);
    assert_eq!(
        state.reason,
        "sda1: filesystem error (500 times), mounted at /, /var"
    );
    assert_eq!(
        state.suggested_actions.unwrap().repair_actions,
        [RepairAction::HardwareInspection]
    );
    let later = report(&[(8 * 24 * 60, line)], &[]);
    assert_eq!(later.states[0].health, Health::Healthy);
}

#[test]
fn every_kind_has_a_name() {
    let lines = [
        "nvme nvme0: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10",
        "nvme nvme0: Device not ready; aborting reset, CSTS=0x1",
        "sd 0:0:0:0: [sda] tag#30 Sense Key : Hardware Error [current]",
    ];
    let healths = lines.map(|line| report(&[(1, line)], &[]).states.remove(0).health);
    assert_eq!(
        healths,
        [Health::Degraded, Health::Unhealthy, Health::Degraded]
    );
    let timeout = "nvme nvme0: I/O 840 QID 6 timeout, aborting";
    let link = "ata1.00: error: { ICRC ABRT }";
    for line in [timeout, link] {
        assert_eq!(
            report(&[(1, line); 5], &[]).states[0].health,
            Health::Degraded
        );
    }
    // Rules speak of names that events have.
    for rule in rules(&Config::default()) {
        assert!(CATALOG.entry(rule.event).is_some(), "{}", rule.event);
    }
}

#[test]
fn a_site_has_its_own_view() {
    let cases = [
        (
            "{}",
            Health::Degraded,
            "sda: medium error, mounted at /, /var",
        ),
        (
            r#"{"policy":{"disk_medium_error":{"severity":"ignore"}}}"#,
            Health::Healthy,
            "no failing disks (site policy)",
        ),
        (
            r#"{"policy":{"disk_medium_error":{"threshold":2}}}"#,
            Health::Healthy,
            "no failing disks (site policy)",
        ),
        (
            r#"{"policy":{"disk_medium_error":{"severity":"fatal"}}}"#,
            Health::Unhealthy,
            "sda: medium error, mounted at /, /var (site policy)",
        ),
        (
            r#"{"policy":{"disk_path_error":{"severity":"ignore"}},"medium_error_threshold":1}"#,
            Health::Unhealthy,
            "sda: medium error, mounted at /, /var",
        ),
    ];
    for (document, health, reason) in cases {
        let (config, policy) =
            gpud_sdk::policy::settings(document, &CATALOG, Config::parse).unwrap();
        let stored = incidents::as_stored(all(&[(1, MEDIUM)]));
        let report = judge(&context(NOW), &config, &policy, &stored, &[]);
        let state = &report.states[0];
        assert_eq!(
            (&state.health, state.reason.as_str()),
            (&health, reason),
            "{document}"
        );
    }
}
