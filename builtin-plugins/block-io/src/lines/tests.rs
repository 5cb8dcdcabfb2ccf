use std::sync::LazyLock;

use proptest::prelude::*;
use regex::{Regex, RegexSet};

use super::*;

static DELIVERED: LazyLock<RegexSet> = LazyLock::new(|| RegexSet::new(PATTERNS).unwrap());

#[test]
fn lines_of_real_kernels() {
    use Kind::*;
    type Case = (
        &'static str,
        Kind,
        &'static str,
        &'static [(&'static str, &'static str)],
    );
    let cases: &[Case] = &[
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
    ];
    for (line, kind, device, facts) in cases {
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

#[test]
fn lookalikes() {
    for line in [
        "",
        // What ordinary machines print.
        "blk_update_request: I/O error, dev fd0, sector 0 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0",
        "I/O error, dev sr0, sector 0 op 0x0:(READ) flags 0x80700 phys_seg 1 prio class 2",
        "operation not supported error, dev loop0, sector 9 op 0x9:(WRITE_ZEROES) flags 0x8000800 phys_seg 0 prio class 0",
        "critical target error, dev nvme0n1, sector 0 op 0x3:(DISCARD) flags 0x800 phys_seg 1 prio class 0",
        "I/O error, dev sda, sector 0 op 0x3:(DISCARD) flags 0x800 phys_seg 1 prio class 0",
        "nonblocking retry error, dev nvme0n1, sector 9 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0",
        "reservation conflict error, dev sda, sector 9 op 0x1:(WRITE) flags 0x0 phys_seg 1 prio class 0",
        "sr 0:0:0:0: [sr0] tag#160 FAILED Result: hostbyte=DID_OK driverbyte=DRIVER_SENSE cmd_age=0s",
        "sd 0:0:0:0: [sda] tag#7 Sense Key : Illegal Request [current]",
        "sd 0:0:0:0: [sda] tag#7 Sense Key : Aborted Command [current]",
        "sd 0:0:0:0: [sda] tag#30 Add. Sense: Unrecovered read error - auto reallocate failed",
        "sd 0:0:0:0: [sda] tag#1 CDB: Write(10) 2a 00 2d 22 52 80 00 00 80 00",
        "sd 0:0:0:0: [sda] Write cache: disabled, read cache: enabled, doesn't support DPO or FUA",
        "sd 0:0:0:0: [sda] tag#1 ADD_TO_MLQUEUE Result: hostbyte=DID_OK driverbyte=DRIVER_OK",
        "sd 0:0:0:0: [sda] Synchronize Cache(10) failed: Result: hostbyte=DID_NO_CONNECT driverbyte=DRIVER_OK",
        "ata1: SATA link up 6.0 Gbps (SStatus 133 SControl 300)",
        "ata1: hard resetting link",
        "ata5.00: error: { ABRT }",
        "ata1.00: configured for UDMA/133",
        "ata1.00: disabled by quirk",
        "nvme nvme0: 8/0/0 default/read/poll queues",
        "nvme nvme0: Device not ready; aborting shutdown, CSTS=0x1",
        "nvme nvme0: Abort status: 0x371",
        // The disk check's.
        "nvme nvme0: I/O 12 QID 9 timeout, reset controller",
        "nvme nvme6: Disabling device after reset failure: -19",
        "Buffer I/O error on dev dm-4, logical block 771, async page read",
        // Not the kernel's lines.
        "dump: x: I/O error, dev sda, sector 1",
        "a-b: I/O error, dev sda, sector 1",
        "I/O error, dev a b, sector 1",
        "I/O error, dev sda, sector x",
        "I/O error, dev , sector 1",
        "sd x: [sda] tag#1 FAILED Result: hostbyte=DID_OK",
        "sd 0:0:0:0: [sda] tag# FAILED Result: hostbyte=DID_OK",
        "nvme nvme: Removing after probe failure status: -19",
        "nvme nvme0n1: Removing after probe failure status: -19",
        "ata.00: failed command: X",
        "ata1.: failed command: X",
    ] {
        assert_eq!(find(line), None, "{line}");
    }
}

/// Lines put together from the pieces that the rules look at, so that near misses are common.
fn line() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "blk_update_request: ",
        "I/O",
        "critical medium",
        "timeout",
        " error, dev ",
        "sda",
        "dm-0",
        "fd0",
        ", sector ",
        "12",
        " op 0x1:(WRITE)",
        " op 0x3:(DISCARD)",
        "sd ",
        "0:0:0:0: ",
        "[sda] ",
        "tag#3 ",
        "FAILED Result: ",
        "UNKNOWN(0x2003) Result: ",
        "hostbyte=DID_OK ",
        "Sense Key : ",
        "Medium Error",
        "Hardware Error",
        "Device offlined - not ready",
        "rejecting I/O to offline device",
        "ata1.00: ",
        "ata1: ",
        "failed command: ",
        "error: {",
        " UNC ",
        "}",
        "disabled",
        "disable device",
        "nvme nvme0: ",
        "I/O ",
        "1 QID 2",
        " timeout, ",
        "aborting",
        "controller is down; will reset: CSTS=",
        "Device not ready; aborting ",
        "reset",
        "Removing after probe failure",
        "é",
        ": ",
        " ",
    ]);
    prop::collection::vec(piece, 0..9).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..Default::default() })]

    /// What is understood is delivered.
    #[test]
    fn the_prefilter_is_no_narrower(line in line()) {
        if find(&line).is_some() {
            prop_assert!(DELIVERED.is_match(&line), "{}", line);
        }
    }

    /// Failed requests are found exactly where the regular expression of their format says so.
    #[test]
    fn requests_as_by_regular_expression(line in line()) {
        static FORM: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(r"^(?:\w+: )?(I/O|timeout|critical medium) error, dev (\S+), sector ([0-9]+)(?: op 0x[0-9a-f]+:\((\w+)\))?").unwrap()
        });
        let expected = FORM
            .captures(&line)
            .filter(|c| &c[2] != "fd0" && (c.get(4).is_none_or(|op| op.as_str() != "DISCARD") || &c[1] == "critical medium" || &c[1] == "timeout"))
            .filter(|c| is_device(&c[2]))
            .map(|c| (c[2].to_owned(), c[3].to_owned()));
        let found = request(&line).map(|f| (f.device.to_owned(), f.facts[2].1.to_owned()));
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn anything_goes(line in any::<String>()) {
        let _ = find(&line);
    }
}

#[test]
fn names_that_no_device_has() {
    for length in [31, 64, 65, 8000] {
        let name = "1".repeat(length);
        for line in [
            format!("sd {name}: Device offlined - not ready"),
            format!("sd {name}: [sda] Device offlined - not ready"),
            format!("ata1.{}: disabled", "1".repeat(length - 5)),
            format!(
                "nvme nvme{}: Device not ready; aborting reset, CSTS=0x1",
                "1".repeat(length - 4)
            ),
        ] {
            assert_eq!(find(&line).is_some(), length <= MAX_NAME, "{line}");
        }
    }
}
