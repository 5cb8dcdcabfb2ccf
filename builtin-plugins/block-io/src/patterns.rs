//! The catalogue as constants. Made by `builtin-plugins/shared/patterns.py` from `catalog/patterns.json`; do not edit.

use gpud_sdk::catalog::Action::{Inspect, Reboot};
use gpud_sdk::catalog::Severity::{Critical, Fatal, Info, Warning};
use gpud_sdk::catalog::{Catalog, Entry, EventVerdict};

/// Version of the catalogue.
pub const VERSION: u32 = 6;

/// The patterns of the lines that the host delivers: no narrower than the parser.
pub const PATTERNS: [&str; 20] = [
    "^([A-Za-z0-9_]+: )?[A-Za-z/ ]+ error, dev [^ ]+, sector [0-9]",
    r"^sd [0-9:]+: (\[[A-Za-z0-9_]+\] )?(tag#[0-9]+ )?(FAILED|UNKNOWN\(0x[0-9a-f]+\)) Result: ",
    r"^sd [0-9:]+: (\[[A-Za-z0-9_]+\] )?(tag#[0-9]+ )?[Ss]ense [Kk]ey : (Medium|Hardware) Error",
    r"^sd [0-9:]+: (\[[A-Za-z0-9_]+\] )?(tag#[0-9]+ )?(Device offlined - not ready|rejecting I/O to offline device)",
    r"^ata[0-9.]+: (failed command: |error: \{|disabled?( device)?$)",
    "^nvme nvme[0-9]+: (I/O .* timeout, |controller is down; will reset|Device not ready; aborting )",
    "^nvme nvme[0-9]+: Removing after probe failure",
    r"^EXT4-fs error \(device [^)]+\)(: | in )",
    r"^EXT4-fs \([^)]+\): (error loading journal|group descriptors corrupted|failed to convert unwritten extents|Delayed block allocation failed)",
    "^Aborting journal on device ",
    "^JBD2: ((Error -?[0-9]+ detected|I/O error) when updating journal superblock for |Detected IO errors while flushing file data on )",
    r"^XFS \([^)]+\): (metadata I/O error|Metadata (corruption|CRC error) detected|Corruption |Internal error |log I/O error |log mount(/recovery| finish)? failed|Failing async write|page discard on page |[Ff]ailed to read root inode|writeback error on sector )",
    "^[^ ]+: writeback error on inode [0-9]+, offset -?[0-9]+, sector ",
    r"^XFS \([^)]+\): (Filesystem has been shut down due to |xfs_do_force_shutdown\(|.*Shutting down filesystem)",
    r"^BTRFS (error|critical) \(device [^)]+\): ",
    r"^BTRFS(: error \(device [^)]+\) in | info \(device [^)]+\): forced readonly)",
    r"^FAT-fs \([^)]+\): error, ",
    "^md/raid[0-9]*:[^ ]+: Disk failure on [^ ]+, (disabling device|this is the last device)",
    r"^md/raid[0-9]*:[^ ]+: (Cannot continue operation \(|Operation continuing on 0 devices|not enough operational (devices|mirrors)|cannot start dirty degraded array|Disk failure on [^ ]+ detected, failing array)",
    "^WARNING: Pool '[^']+' has encountered an uncorrectable I/O failure",
];

/// The medium cannot read (or write) the data of this place: they are lost.
pub const DISK_MEDIUM_ERROR: Entry = Entry {
    name: "disk_medium_error",
    severity: Critical,
    otherwise: None,
    message: "medium error",
    other_message: "",
    actions: &[Inspect],
    advice: "Save the disk's data and have the disk looked at; set healthy once it is replaced.",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 1, window_seconds: 604_800, reboot_clears: false, ended_by: &[] }),
};

/// A request to a disk failed, not for its medium.
pub const DISK_IO_ERROR: Entry = Entry {
    name: "disk_io_error",
    severity: Warning,
    otherwise: None,
    message: "I/O error",
    other_message: "",
    actions: &[Inspect],
    advice: "Check cables, backplane and disk.",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 5, window_seconds: 3_600, reboot_clears: false, ended_by: &[] }),
};

/// One of several paths to a disk failed; multipathing tries the next.
pub const DISK_PATH_ERROR: Entry = Entry {
    name: "disk_path_error",
    severity: Info,
    otherwise: None,
    message: "error of one path to the disk",
    other_message: "",
    actions: &[],
    advice: "",
    verdict: None,
};

/// The disk reports a fault of its own hardware.
pub const DISK_HARDWARE_ERROR: Entry = Entry {
    name: "disk_hardware_error",
    severity: Critical,
    otherwise: None,
    message: "hardware error reported by the disk",
    other_message: "",
    actions: &[Inspect],
    advice: "Save the disk's data and have the disk looked at; set healthy once it is replaced.",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 1, window_seconds: 604_800, reboot_clears: false, ended_by: &[] }),
};

/// The kernel gave a disk up and refuses all further requests to it.
pub const DISK_OFFLINE: Entry = Entry {
    name: "disk_offline",
    severity: Fatal,
    otherwise: None,
    message: "disk taken out of service by the kernel",
    other_message: "",
    actions: &[Reboot],
    advice: "The kernel does not use the disk any more: reboot; if it is lost again, have it looked at.",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &[] }),
};

/// A SCSI command failed; other lines report the outcome of the request.
pub const SCSI_COMMAND_FAILED: Entry = Entry {
    name: "scsi_command_failed",
    severity: Warning,
    otherwise: None,
    message: "SCSI command failed",
    other_message: "",
    actions: &[],
    advice: "",
    verdict: None,
};

/// The disk reports a medium error; the block layer reports the request that failed.
pub const SCSI_MEDIUM_ERROR: Entry = Entry {
    name: "scsi_medium_error",
    severity: Warning,
    otherwise: None,
    message: "medium error reported by the disk",
    other_message: "",
    actions: &[],
    advice: "",
    verdict: None,
};

/// An ATA command failed; other lines give the reason.
pub const ATA_COMMAND_FAILED: Entry = Entry {
    name: "ata_command_failed",
    severity: Warning,
    otherwise: None,
    message: "ATA command failed",
    other_message: "",
    actions: &[],
    advice: "",
    verdict: None,
};

/// The disk cannot read data back; the block layer reports the request that failed.
pub const ATA_MEDIUM_ERROR: Entry = Entry {
    name: "ata_medium_error",
    severity: Warning,
    otherwise: None,
    message: "uncorrectable data reported by the disk",
    other_message: "",
    actions: &[],
    advice: "",
    verdict: None,
};

/// A frame arrived with a wrong checksum: cable, connector or backplane, rarely the disk.
pub const ATA_LINK_ERROR: Entry = Entry {
    name: "ata_link_error",
    severity: Warning,
    otherwise: None,
    message: "data damaged between disk and controller",
    other_message: "",
    actions: &[Inspect],
    advice: "Check cables, backplane and disk.",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 5, window_seconds: 3_600, reboot_clears: false, ended_by: &[] }),
};

/// An NVMe controller did not answer a command in time.
pub const NVME_COMMAND_TIMEOUT: Entry = Entry {
    name: "nvme_command_timeout",
    severity: Warning,
    otherwise: None,
    message: "NVMe command timed out",
    other_message: "",
    actions: &[Inspect],
    advice: "Check the disk, its firmware and its power saving.",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 5, window_seconds: 3_600, reboot_clears: false, ended_by: &[] }),
};

/// An NVMe controller stopped working; the kernel resets it.
pub const NVME_CONTROLLER_DOWN: Entry = Entry {
    name: "nvme_controller_down",
    severity: Critical,
    otherwise: None,
    message: "NVMe controller stopped and is reset",
    other_message: "",
    actions: &[Inspect],
    advice: "Check the disk, its firmware and its power saving.",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 1, window_seconds: 86_400, reboot_clears: false, ended_by: &[] }),
};

/// An NVMe controller did not start within the time that it asks for.
pub const NVME_NOT_READY: Entry = Entry {
    name: "nvme_not_ready",
    severity: Critical,
    otherwise: None,
    message: "NVMe controller does not get ready",
    other_message: "",
    actions: &[Reboot],
    advice: "The kernel does not use the disk any more: reboot; if it is lost again, have it looked at.",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &[] }),
};

/// The kernel gave an NVMe controller up; its disks are gone.
pub const NVME_REMOVED: Entry = Entry {
    name: "nvme_removed",
    severity: Fatal,
    otherwise: None,
    message: "NVMe controller given up by the kernel",
    other_message: "",
    actions: &[Reboot],
    advice: "The kernel does not use the disk any more: reboot; if it is lost again, have it looked at.",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &[] }),
};

/// A filesystem could not read or write its own structures, or found them damaged; it goes on, but files may be lost.
pub const FILESYSTEM_ERROR: Entry = Entry {
    name: "filesystem_error",
    severity: Critical,
    otherwise: None,
    message: "filesystem error",
    other_message: "",
    actions: &[Inspect],
    advice: "Save the filesystem's data, have it checked (fsck, xfs_repair, btrfs check) and the disk looked at; then set healthy.",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 1, window_seconds: 604_800, reboot_clears: false, ended_by: &[] }),
};

/// After an error a filesystem takes no more requests, or no more writes, until it is mounted again.
pub const FILESYSTEM_SHUT_DOWN: Entry = Entry {
    name: "filesystem_shut_down",
    severity: Fatal,
    otherwise: None,
    message: "filesystem shut down",
    other_message: "",
    actions: &[Reboot],
    advice: "Nothing can be written to the filesystem: have it checked, mount it again or reboot; if the error returns, have the disk looked at.",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &[] }),
};

/// A filesystem that is mounted from a file (a loop device) found an error or shut down, or a request to the file failed: the file is damaged or was shortened, or the filesystem that holds it reports its own error.
pub const FILESYSTEM_IMAGE_ERROR: Entry = Entry {
    name: "filesystem_image_error",
    severity: Info,
    otherwise: None,
    message: "error of a filesystem in a file",
    other_message: "",
    actions: &[],
    advice: "",
    verdict: None,
};

/// An array with redundancy goes on without one of its disks, after an error or because an operator requested it (mdadm --fail); its data are on fewer disks.
pub const RAID_MEMBER_FAILED: Entry = Entry {
    name: "raid_member_failed",
    severity: Warning,
    otherwise: None,
    message: "RAID member failed",
    other_message: "",
    actions: &[Inspect],
    advice: "Replace the disk and add the new one to the array; then set healthy.",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 1, window_seconds: 604_800, reboot_clears: false, ended_by: &[] }),
};

/// An array lost more disks than it can do without: nothing on it can be read or written.
pub const RAID_ARRAY_FAILED: Entry = Entry {
    name: "raid_array_failed",
    severity: Fatal,
    otherwise: None,
    message: "RAID array has failed",
    other_message: "",
    actions: &[Inspect],
    advice: "Look whether several disks share a cable, backplane or controller before any is replaced; assemble the array (mdadm --assemble) or restore it from a copy, then set healthy.",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 1_209_600, reboot_clears: false, ended_by: &[] }),
};

/// All of it.
pub static CATALOG: Catalog = Catalog {
    version: VERSION,
    device: "device",
    patterns: &PATTERNS,
    entries: &[&DISK_MEDIUM_ERROR, &DISK_IO_ERROR, &DISK_PATH_ERROR, &DISK_HARDWARE_ERROR, &DISK_OFFLINE, &SCSI_COMMAND_FAILED, &SCSI_MEDIUM_ERROR, &ATA_COMMAND_FAILED, &ATA_MEDIUM_ERROR, &ATA_LINK_ERROR, &NVME_COMMAND_TIMEOUT, &NVME_CONTROLLER_DOWN, &NVME_NOT_READY, &NVME_REMOVED, &FILESYSTEM_ERROR, &FILESYSTEM_SHUT_DOWN, &FILESYSTEM_IMAGE_ERROR, &RAID_MEMBER_FAILED, &RAID_ARRAY_FAILED],
};
