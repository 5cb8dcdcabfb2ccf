//! Lines of file systems and arrays.

use super::*;

/// Lines of file systems and arrays: kind, device.
const FILESYSTEM_LINES: &[(&str, Kind, &str)] = {
    use Kind::{
        FilesystemError as Error, FilesystemShutDown as Down, Image, RaidFailed, RaidMember,
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
        ("Aborting journal on device loop7-8.", Image, "loop7"),
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
