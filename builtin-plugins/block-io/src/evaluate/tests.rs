use gpud_sdk::{EventType, Recovery, RepairAction, Trigger};

use super::*;

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
fn a_medium_error_is_degraded_many_are_unhealthy() {
    let one = report(&[(10, MEDIUM)], &[NOW - MINUTE]);
    let state = &one.states[0];
    assert_eq!(state.health, Health::Degraded);
    assert_eq!(state.reason, "sda: medium error, mounted at /, /var");
    // No reboot repairs a disk.
    assert_eq!(
        state.recovery,
        [
            Recovery::At(NOW - 10 * MINUTE + 7 * DAY),
            Recovery::SetHealthy
        ]
    );
    let actions = state.suggested_actions.as_ref().unwrap();
    assert_eq!(actions.repair_actions, [RepairAction::HardwareInspection]);
    assert_eq!(
        state.subject,
        Some(Subject::Other(("disk".into(), "sda".into())))
    );

    let state = report(&[(10, MEDIUM); 10], &[]).states.remove(0);
    assert_eq!(state.health, Health::Unhealthy);
    assert_eq!(
        state.reason,
        "sda: medium error (10 times), mounted at /, /var"
    );
    let state = report(&[(8 * 24 * 60, MEDIUM)], &[]).states.remove(0);
    assert_eq!(
        (state.health, state.reason.as_str()),
        (Health::Healthy, "no failing disks")
    );
}

#[test]
fn single_io_errors_are_no_verdict() {
    let few = report(&[(10, IO); 4], &[]);
    assert_eq!(few.states[0].health, Health::Healthy);
    assert_eq!(
        few.states[0].reason,
        "4 failed requests within 3600 s, below the threshold"
    );
    let gauge = |report: &Report, kind: &str| {
        let of_kind = report
            .metrics
            .iter()
            .find(|metric| metric.labels[0].1 == kind);
        of_kind.unwrap().value
    };
    assert_eq!(
        (gauge(&few, "disk_io_error"), gauge(&few, "disk_offline")),
        (4.0, 0.0)
    );
    let state = report(&[(10, IO); 5], &[]).states.remove(0);
    assert_eq!(
        (state.health, state.reason.as_str()),
        (Health::Degraded, "sdb: I/O error (5 times)")
    );
    // Not added up over disks.
    let other = IO.replace("sdb", "sdc");
    let mixed = [
        (10, IO),
        (10, IO),
        (10, IO),
        (10, other.as_str()),
        (10, other.as_str()),
    ];
    assert_eq!(report(&mixed, &[]).states[0].health, Health::Healthy);
    assert_eq!(
        report(&[(61, IO); 9], &[]).states[0].health,
        Health::Healthy
    );
}

#[test]
fn a_line_that_only_accompanies_another_is_no_verdict() {
    for line in [
        "sd 6:0:0:0: [sdb] tag#1 FAILED Result: hostbyte=DID_BAD_TARGET driverbyte=DRIVER_OK cmd_age=90s",
        "sd 0:0:0:0: [sda] tag#30 Sense Key : Medium Error [current]",
        "ata1.00: failed command: READ FPDMA QUEUED",
        "ata1.00: error: { UNC }",
        "recoverable transport error, dev sdc, sector 9 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0",
    ] {
        let report = report(&[(1, line); 20], &[]);
        assert_eq!(report.states[0].health, Health::Healthy, "{line}");
        assert_eq!(all(&[(1, line)]).len(), 1);
    }
}

#[test]
fn a_lost_disk_asks_for_a_reboot_then_for_an_inspection() {
    let lost = "nvme nvme1: Removing after probe failure status: -19";
    let state = report(&[(5, lost)], &[]).states.remove(0);
    assert_eq!(state.health, Health::Unhealthy);
    assert_eq!(
        state.reason,
        "nvme1: NVMe controller given up by the kernel"
    );
    assert_eq!(state.recovery[0], Recovery::Reboot);
    assert_eq!(
        state.suggested_actions.unwrap().repair_actions,
        [RepairAction::RebootSystem]
    );
    assert_eq!(
        report(&[(5, lost)], &[NOW - MINUTE]).states[0].health,
        Health::Healthy
    );
    let boots = [NOW - 30 * MINUTE, NOW - 50 * MINUTE];
    let state = report(&[(60, lost), (40, lost), (20, lost)], &boots)
        .states
        .remove(0);
    assert_eq!(
        state.suggested_actions.unwrap().repair_actions,
        [RepairAction::HardwareInspection]
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
fn filesystems_that_stop_and_arrays_that_go_on() {
    let stopped = [
        (5, "XFS (sda1): log I/O error -5"),
        (
            5,
            "XFS (sda1): Filesystem has been shut down due to log error (0x2).",
        ),
    ];
    let state = report(&stopped, &[]).states.remove(0);
    assert_eq!(state.health, Health::Unhealthy);
    let actions = |lines: &[(u64, &str)]| {
        let state = report(lines, &[]).states.remove(0);
        state.suggested_actions.unwrap().repair_actions
    };
    assert_eq!(actions(&stopped[1..]), [RepairAction::RebootSystem]);
    let both = [RepairAction::HardwareInspection, RepairAction::RebootSystem];
    assert_eq!(actions(&stopped), both);
    // A reboot remounts it; its fault still has to be examined.
    let state = report(&stopped, &[NOW - MINUTE]).states.remove(0);
    assert_eq!(
        (state.health, state.reason.as_str()),
        (
            Health::Degraded,
            "sda1: filesystem error, mounted at /, /var"
        )
    );
    let member = "md/raid1:md0: Disk failure on sdb1, disabling device.";
    let state = report(&[(5, member)], &[]).states.remove(0);
    assert_eq!(
        (state.health, state.reason.as_str()),
        (Health::Degraded, "sdb1: RAID member failed")
    );
    // A damaged image says nothing of the machine.
    let image = "EXT4-fs error (device loop3): ext4_find_entry:1455: inode #2: comm ls: x";
    assert_eq!(all(&[(5, image)])[0].event_type, EventType::Info);
    let state = report(&[(5, image); 20], &[]).states.remove(0);
    assert_eq!(state.health, Health::Healthy);
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
            gpud_builtin_shared::policy::settings(document, &CATALOG, Config::parse).unwrap();
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
