//! Lines that say nothing of a failure.

use super::*;

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
