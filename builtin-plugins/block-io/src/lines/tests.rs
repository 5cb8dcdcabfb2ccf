use std::sync::LazyLock;

use regex::RegexSet;

use super::*;

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

/// Lines of file systems and arrays: kind, device.
const FILESYSTEM_LINES: &[(&str, Kind, &str)] = {
    use Kind::{
        FilesystemError as Error, FilesystemImage, FilesystemShutDown as Down, RaidFailed,
        RaidMember,
    };
    &[
        (
            "EXT4-fs error (device sda1): ext4_find_entry:1455: inode #2: comm ls: reading directory lblock 0",
            Error,
            "sda1",
        ),
        (
            "EXT4-fs error (device dm-0) in ext4_reserve_inode_write:5806: Journal has aborted",
            Error,
            "dm-0",
        ),
        (
            "EXT4-fs error (device cciss!c0d0p1): ext4_journal_check_start:84: Detected aborted journal",
            Error,
            "cciss!c0d0p1",
        ),
        (
            "JBD2: Error -5 detected when updating journal superblock for sda1-8.",
            Error,
            "sda1",
        ),
        (
            "JBD2: I/O error when updating journal superblock for dm-0-8.",
            Error,
            "dm-0",
        ),
        ("Aborting journal on device dm-0-8.", Down, "dm-0"),
        // A journal on a device of its own.
        ("Aborting journal on device dm-8.", Down, "dm-8"),
        ("Aborting journal on device nvme0n1p3.", Down, "nvme0n1p3"),
        (
            r#"XFS (dm-0): metadata I/O error in "xfs_read_agf" at daddr 0x1 len 1 error 5"#,
            Error,
            "dm-0",
        ),
        (
            r#"XFS (sda1): metadata I/O error: block 0x1 ("xfs_trans_read_buf_map") error 5 numblks 1"#,
            Error,
            "sda1",
        ),
        (
            "XFS (dm-0): Metadata CRC error detected at xfs_agf_read_verify+0x5d/0xe0 [xfs], xfs_agf block 0x1",
            Error,
            "dm-0",
        ),
        (
            "XFS (dm-0): Internal error XFS_WANT_CORRUPTED_GOTO at line 1635 of file fs/xfs/libxfs/xfs_alloc.c.",
            Error,
            "dm-0",
        ),
        ("XFS (nvme0n1p1): log I/O error -5", Error, "nvme0n1p1"),
        (
            "XFS (nvme0n1p1): Filesystem has been shut down due to log error (0x2).",
            Down,
            "nvme0n1p1",
        ),
        (
            "XFS (dm-0): Block device removal (0x20) detected at fs_bdev_mark_dead+0x4e/0x80 (fs/xfs/xfs_super.c:1240).  Shutting down filesystem.",
            Down,
            "dm-0",
        ),
        (
            "XFS (dm-0): Corruption of in-memory data detected.  Shutting down filesystem",
            Down,
            "dm-0",
        ),
        (
            "XFS (dm-0): Corruption warning: Metadata has LSN (5:1) ahead of current LSN (4:9).",
            Error,
            "dm-0",
        ),
        (
            "BTRFS error (device sda1 state EA): parent transid verify failed on logical 1 mirror 1 wanted 5 found 4",
            Error,
            "sda1",
        ),
        (
            "BTRFS critical (device nvme0n1p2): unable to find logical 1 length 4096",
            Error,
            "nvme0n1p2",
        ),
        (
            "BTRFS: error (device sda1 state EA) in btrfs_commit_transaction:2283: errno=-5 IO failure",
            Down,
            "sda1",
        ),
        (
            "BTRFS info (device sda1 state EA): forced readonly",
            Down,
            "sda1",
        ),
        (
            "FAT-fs (sda1): error, fat_free_clusters: deleting FAT entry beyond EOF",
            Error,
            "sda1",
        ),
        (
            "Aborting journal on device loop7-8.",
            FilesystemImage,
            "loop7",
        ),
        (
            "md/raid1:md0: Disk failure on sda1, disabling device.",
            RaidMember,
            "sda1",
        ),
        (
            r"md/raid10:md127: Disk failure on sdb1, disabling device.\x0amd/raid10:md127: Operation continuing on 3 devices.",
            RaidMember,
            "sdb1",
        ),
        (
            "md/raid:md_d0: Disk failure on loop1, disabling device.",
            RaidMember,
            "loop1",
        ),
        (
            "md/raid:md2: Cannot continue operation (2/4 failed).",
            RaidFailed,
            "md2",
        ),
        (
            r"md/raid:md2: Disk failure on sdb1, disabling device.\x0amd/raid:md2: Cannot continue operation (2/4 failed).",
            RaidFailed,
            "md2",
        ),
        (
            "md/raid1:md0: Disk failure on sdb1, this is the last device.",
            RaidFailed,
            "md0",
        ),
        (
            "md/raid10:md0: Disk failure on sdb1, disabling device.\nmd/raid10:md0: Operation continuing on 0 devices.",
            RaidFailed,
            "md0",
        ),
        (
            "md/raid0:md126: Disk failure on nvme5n1 detected, failing array.",
            RaidFailed,
            "md126",
        ),
        (
            "WARNING: Pool 'tank' has encountered an uncorrectable I/O failure and has been suspended.",
            Down,
            "tank",
        ),
        (
            "WARNING: Pool 'tank' has encountered an uncorrectable I/O failure and has been suspended; `zpool clear` will be required before the pool can be written to.",
            Down,
            "tank",
        ),
        (
            "EXT4-fs (sda1): failed to convert unwritten extents to written extents -- potential data loss!  (inode 12, error -5)",
            Error,
            "sda1",
        ),
        (
            "EXT4-fs (dm-0): Delayed block allocation failed for inode 12 at logical offset 0 with max blocks 3 with error 5",
            Error,
            "dm-0",
        ),
        (
            "JBD2: Detected IO errors while flushing file data on dm-0-8",
            Error,
            "dm-0",
        ),
        ("XFS (dm-7): log mount finish failed", Error, "dm-7"),
        (
            "XFS (nvme0n1): Failing async write on buffer block 0x1f0. Retrying async write.",
            Error,
            "nvme0n1",
        ),
        (
            "XFS (nvme0n1): page discard on page 00000000c5d1a2f0, inode 0x83, pos 0.",
            Error,
            "nvme0n1",
        ),
        (
            "BTRFS info (device nvme0n1p2: state EA): forced readonly",
            Down,
            "nvme0n1p2",
        ),
        (
            "BTRFS: error (device sda1: state A) in f:1: errno=-5 IO failure",
            Down,
            "sda1",
        ),
        (
            "BTRFS error (device dm-3: state EMA): bdev /dev/dm-3 errs: wr 1, rd 0, flush 0, corrupt 0, gen 0",
            Error,
            "dm-3",
        ),
        (
            "XFS (dm-7): log mount/recovery failed: error -5",
            Error,
            "dm-7",
        ),
        (
            "dm-11: writeback error on inode 131, offset 0, sector 738263040",
            Error,
            "dm-11",
        ),
    ]
};

#[test]
fn filesystems_and_arrays() {
    for &(line, kind, device) in FILESYSTEM_LINES {
        let found = find(line).unwrap_or_else(|| panic!("{line}"));
        assert_eq!((found.kind, found.device), (kind, device), "{line}");
        assert!(DELIVERED.is_match(line), "{line}");
    }
    let facts = |line: &'static str| find(line).unwrap().facts;
    assert_eq!(
        facts("XFS (sda1): log I/O error -5"),
        [("filesystem", "xfs"), ("detail", "log I/O error -5")]
    );
    assert_eq!(
        facts("md/raid1:md0: Disk failure on sda1, disabling device."),
        [("array", "md0")]
    );
    assert_eq!(
        facts("md/raid:md2: Cannot continue operation (2/4 failed)."),
        [("array", "md2"), ("failed", "2/4")]
    );
    assert_eq!(
        facts("md/raid1:md0: Disk failure on sdb1, this is the last device."),
        [("array", "md0"), ("member", "sdb1")]
    );
    assert_eq!(
        facts("md/raid0:md126: Disk failure on nvme5n1 detected, failing array."),
        [("array", "md126"), ("member", "nvme5n1")]
    );
}

/// Lines that say nothing of a failure, though they look like it.
const LOOKALIKES: &[&str] = &[
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
    "EXT4-fs (nvme1n1p2): Remounting filesystem read-only",
    "EXT4-fs (dm-4): I/O error while writing superblock",
    // Filesystems that are well, are shut down on request, or are asked for what they do not have.
    "EXT4-fs (sda1): mounted filesystem with ordered data mode. Quota mode: none.",
    "EXT4-fs warning (device sda1): ext4_end_bio:343: I/O error 10 writing to inode 12 starting block 99",
    "EXT4-fs error (device sr0): ext4_find_entry:1: comm ls: x",
    "XFS (sda1): User initiated shutdown received. Shutting down filesystem",
    "XFS (sda1): xfs_do_force_shutdown(0x6) called from line 3 of file fs/xfs/xfs_fsops.c.",
    "XFS (sda1): Quotacheck: Done.",
    "BTRFS error (device sda1): open_ctree failed",
    "BTRFS error (device sda1): balance: reduces metadata redundancy, use --force if you want this",
    "BTRFS info (device sda1 state E): turning on async discard",
    "BTRFS: device label x devid 1 transid 5 /dev/sda1 scanned by mount (9)",
    "BTRFS error (device <unknown>): x",
    "md/raid1:md0: Operation continuing on 1 devices.",
    "md/raidx:md0: Disk failure on sda1, disabling device.",
    "md/raid1:m d: Disk failure on sda1, disabling device.",
    "md/raid1:md0: Operation continuing on 10 devices.",
    "md/raid1:md0: redirecting sector 1 to other mirror: Cannot continue",
    "BTRFS info (device sda1: state E): turning on async discard",
    ": writeback error on inode 1, offset 0, sector 1",
    "EXT4-fs (sr0): error loading journal",
    "EXT4-fs (dm-0): Delayed block allocation failed for inode 12 at logical offset 0 with max blocks 3 with error 28",
    "WARNING: Pool 'tank' has encountered an uncorrectable I/O failure",
    "WARNING: Pool 'a b' has encountered an uncorrectable I/O failure and has been suspended.",
    "WARNING: CPU: 3 PID: 7 at fs/xfs/x.c:1 x+0x1/0x2",
    "JBD2: Error x detected when updating journal superblock for sda1-8.",
    "JBD2: Error - detected when updating journal superblock for sda1-8.",
    "Aborting journal on device .",
    "FAT-fs (sda1): error",
    // Not the kernel's lines.
    "app: EXT4-fs error (device sda1): x",
    "EXT4-fs error (device sda1) x",
    "EXT4-fs error (device sda 1): x",
    "XFS (sda1: log I/O error -5",
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
];

#[test]
fn lookalikes() {
    for line in LOOKALIKES {
        assert_eq!(find(line), None, "{line}");
    }
}
