use std::sync::LazyLock;

use regex::RegexSet;

use super::*;

mod filesystem_lines;
mod lookalikes;
mod properties;

static DELIVERED: LazyLock<RegexSet> = LazyLock::new(|| RegexSet::new(PATTERNS).unwrap());

type Case = (
    &'static str,
    Kind,
    &'static str,
    &'static [(&'static str, &'static str)],
);

/// Lines of disks, controllers and NVMe drives: kind, device, facts.
const DISK_LINES: &[Case] = {
    use Kind::*;
    &[
        (
            "blk_update_request: I/O error, dev sdb, sector 757224064 op 0x1:(WRITE) flags 0x800 phys_seg 9 prio class 0",
            Io,
            "sdb",
            &[
                ("status", "I/O"),
                ("operation", "WRITE"),
                ("sector", "757224064"),
            ],
        ),
        (
            "print_req_error: I/O error, dev sdb, sector 1",
            Io,
            "sdb",
            &[("status", "I/O"), ("operation", ""), ("sector", "1")],
        ),
        (
            "I/O error, dev nvme0n1, sector 123 op 0x0:(READ) flags 0x80700 phys_seg 1 prio class 2",
            Io,
            "nvme0n1",
            &[("status", "I/O"), ("operation", "READ"), ("sector", "123")],
        ),
        (
            "critical medium error, dev sda, sector 1840291 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2",
            Medium,
            "sda",
            &[
                ("status", "critical medium"),
                ("operation", "READ"),
                ("sector", "1840291"),
            ],
        ),
        (
            "blk_update_request: critical medium error, dev dm-0, sector 8 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0",
            Medium,
            "dm-0",
            &[
                ("status", "critical medium"),
                ("operation", "READ"),
                ("sector", "8"),
            ],
        ),
        (
            "timeout error, dev cciss!c0d0, sector 9 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0",
            Io,
            "cciss!c0d0",
            &[
                ("status", "timeout"),
                ("operation", "READ"),
                ("sector", "9"),
            ],
        ),
        (
            "recoverable transport error, dev sdc, sector 9 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0",
            Path,
            "sdc",
            &[
                ("status", "recoverable transport"),
                ("operation", "READ"),
                ("sector", "9"),
            ],
        ),
        (
            "critical target error, dev sda, sector 9 op 0x1:(WRITE) flags 0x0 phys_seg 1 prio class 0",
            Io,
            "sda",
            &[
                ("status", "critical target"),
                ("operation", "WRITE"),
                ("sector", "9"),
            ],
        ),
        (
            "sd 6:0:0:0: [sdb] tag#1 FAILED Result: hostbyte=DID_BAD_TARGET driverbyte=DRIVER_OK cmd_age=90s",
            ScsiCommand,
            "sdb",
            &[
                ("hostbyte", "DID_BAD_TARGET"),
                ("driverbyte", "DRIVER_OK"),
                ("age", "90s"),
            ],
        ),
        (
            "sd 4:0:1:0: [sdd] FAILED Result: hostbyte=DID_BAD_TARGET driverbyte=DRIVER_OK",
            ScsiCommand,
            "sdd",
            &[
                ("hostbyte", "DID_BAD_TARGET"),
                ("driverbyte", "DRIVER_OK"),
                ("age", ""),
            ],
        ),
        (
            "sd 0:2:0:0: [sda] tag#12 UNKNOWN(0x2003) Result: hostbyte=0x01 driverbyte=DRIVER_OK cmd_age=0s",
            ScsiCommand,
            "sda",
            &[
                ("hostbyte", "0x01"),
                ("driverbyte", "DRIVER_OK"),
                ("age", "0s"),
            ],
        ),
        (
            "sd 0:0:0:0: [sda] tag#30 Sense Key : Medium Error [current] ",
            ScsiMedium,
            "sda",
            &[("sense", "Medium Error")],
        ),
        (
            "sd 0:0:0:0: [sda] tag#30 Sense Key : Hardware Error [current] [descriptor]",
            Hardware,
            "sda",
            &[("sense", "Hardware Error")],
        ),
        (
            "sd 0:0:0:0: [sda] sense key : Medium Error",
            ScsiMedium,
            "sda",
            &[("sense", "Medium Error")],
        ),
        (
            "sd 3:0:0:0: Device offlined - not ready after error recovery",
            Offline,
            "3:0:0:0",
            &[],
        ),
        (
            "sd 1:0:0:0: rejecting I/O to offline device",
            Offline,
            "1:0:0:0",
            &[],
        ),
        (
            "sd 1:0:0:0: [sda] tag#0 rejecting I/O to offline device",
            Offline,
            "sda",
            &[],
        ),
        (
            "ata1.00: failed command: READ FPDMA QUEUED",
            AtaCommand,
            "ata1.00",
            &[("command", "READ FPDMA QUEUED")],
        ),
        (
            "ata12.01: error: { UNC }",
            AtaMedium,
            "ata12.01",
            &[("bits", "UNC")],
        ),
        (
            "ata1.00: error: { ICRC ABRT }",
            AtaLink,
            "ata1.00",
            &[("bits", "ICRC ABRT")],
        ),
        ("ata7.00: disabled", Offline, "ata7.00", &[]),
        ("ata7.00: disable device", Offline, "ata7.00", &[]),
        (
            "nvme nvme0: I/O 840 QID 6 timeout, aborting",
            NvmeTimeout,
            "nvme0",
            &[("done", "aborting")],
        ),
        (
            "nvme nvme1: I/O tag 489 (d1e9) opcode 0x1 (I/O Cmd) QID 3 timeout, aborting req_op:WRITE(1) size:524288",
            NvmeTimeout,
            "nvme1",
            &[("done", "aborting")],
        ),
        (
            "nvme nvme1: I/O tag 24 (0018) QID 0 timeout, disable controller",
            NvmeTimeout,
            "nvme1",
            &[("done", "disable controller")],
        ),
        (
            "nvme nvme1: I/O 5 QID 2 timeout, completion polled",
            NvmeTimeout,
            "nvme1",
            &[("done", "completion polled")],
        ),
        (
            "nvme nvme0: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10",
            NvmeDown,
            "nvme0",
            &[("csts", "0xffffffff")],
        ),
        (
            "nvme nvme0: Device not ready; aborting reset, CSTS=0x1",
            NvmeNotReady,
            "nvme0",
            &[],
        ),
        (
            "nvme nvme1: Device not ready; aborting initialisation",
            NvmeNotReady,
            "nvme1",
            &[],
        ),
        (
            "nvme nvme1: Removing after probe failure status: -19",
            NvmeRemoved,
            "nvme1",
            &[],
        ),
    ]
};

#[test]
fn only_functions_of_the_kernel_stand_before_a_failed_request() {
    for before in [
        "",
        "blk_update_request: ",
        "print_req_error: ",
        "end_request: ",
    ] {
        let line = format!("{before}I/O error, dev sda, sector 5");
        assert!(find(&line).is_some(), "{line}");
    }
    // What a keyboard calls itself follows the first.
    for before in ["input: ", "x: ", "x: blk_update_request: ", "hid-generic: "] {
        let line = format!("{before}I/O error, dev sda, sector 5 as /devices/virtual/input/input7");
        assert!(find(&line).is_none(), "{line}");
    }
}

#[test]
fn lines_of_real_kernels() {
    for (line, kind, device, facts) in DISK_LINES {
        let found = find(line).unwrap_or_else(|| panic!("{line}"));
        assert_eq!((found.kind, found.device), (*kind, *device), "{line}");
        assert_eq!(found.facts, *facts, "{line}");
        assert!(DELIVERED.is_match(line), "{line}");
    }
    let address = |line: &'static str| find(line).unwrap().address;
    assert_eq!(
        address("sd 6:0:0:0: [sdb] tag#1 Sense Key : Medium Error [current]"),
        "6:0:0:0"
    );
}
