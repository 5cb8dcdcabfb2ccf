//! What errors of a disk or a file system mean for its health.

use super::*;

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
    let request =
        "I/O error, dev loop0, sector 128 op 0x0:(READ) flags 0x80700 phys_seg 1 prio class 2";
    for image in [image, request] {
        assert_eq!(all(&[(5, image)])[0].event_type, EventType::Info);
        let state = report(&[(5, image); 20], &[]).states.remove(0);
        assert_eq!(state.health, Health::Healthy);
    }
}
