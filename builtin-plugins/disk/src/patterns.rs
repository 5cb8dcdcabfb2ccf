//! The catalogue as constants. Made by `builtin-plugins/shared/patterns.py` from `catalog/patterns.json`; do not edit.

use gpud_sdk::catalog::Action::Reboot;
use gpud_sdk::catalog::Severity::Warning;
use gpud_sdk::catalog::{Catalog, Entry, EventVerdict};

/// Version of the catalogue.
pub const VERSION: u32 = 5;

/// The patterns of the lines that the host delivers: no narrower than the parser.
pub const PATTERNS: [&str; 9] = [
    "^md/raid.* detected, failing array",
    r"^([A-Za-z0-9_-]+ \(.*\): )?Remounting filesystem read-only",
    "^block nvme.*: no available path - failing I/O",
    "^nvme nvme[0-9]+: I/O .*timeout, reset controller",
    "^nvme nvme[0-9]+: Disabling device after reset failure",
    "^(.{1,60}: attempt to access beyond end of device|attempt to access beyond end of device.)",
    "^[^ ]{1,31}: rw=[0-9]+, want=[0-9]+, limit=[0-9]+$",
    "^Buffer I/O error on dev(ice)? ",
    r"^([A-Za-z0-9_-]+ \(.*\): )?I/O error while writing superblock",
];

/// An array without redundancy lost a disk; its data is gone.
pub const RAID_ARRAY_FAILURE: Entry = Entry {
    name: "raid_array_failure",
    severity: Warning,
    otherwise: None,
    message: "RAID array has failed due to disk failure",
    other_message: "",
    actions: &[Reboot],
    advice: "",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &[] }),
};

/// A filesystem found errors and takes no more writes.
pub const FILESYSTEM_READ_ONLY: Entry = Entry {
    name: "filesystem_read_only",
    severity: Warning,
    otherwise: None,
    message: "filesystem remounted as read-only due to errors",
    other_message: "",
    actions: &[Reboot],
    advice: "",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &[] }),
};

/// No path to a multipath NVMe namespace is left; requests fail.
pub const NVME_PATH_FAILURE: Entry = Entry {
    name: "nvme_path_failure",
    severity: Warning,
    otherwise: None,
    message: "NVMe device has no available path, I/O failing",
    other_message: "",
    actions: &[Reboot],
    advice: "",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &[] }),
};

/// An NVMe controller did not answer; the kernel resets it.
pub const NVME_CONTROLLER_TIMEOUT: Entry = Entry {
    name: "nvme_controller_timeout",
    severity: Warning,
    otherwise: None,
    message: "NVME controller I/O timeout detected, attempting reset",
    other_message: "",
    actions: &[Reboot],
    advice: "",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &[] }),
};

/// An NVMe device did not come back from a reset; the kernel does not use it any more.
pub const NVME_DEVICE_DISABLED: Entry = Entry {
    name: "nvme_device_disabled",
    severity: Warning,
    otherwise: None,
    message: "NVME device disabled after reset failure",
    other_message: "",
    actions: &[Reboot],
    advice: "",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &[] }),
};

/// A filesystem or program asked for data beyond the end of a disk: a damaged filesystem, or a disk that shrank.
pub const BEYOND_END_OF_DEVICE: Entry = Entry {
    name: "beyond_end_of_device",
    severity: Warning,
    otherwise: None,
    message: "I/O attempt beyond device boundaries detected",
    other_message: "",
    actions: &[Reboot],
    advice: "",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &[] }),
};

/// A block could not be read or written.
pub const BUFFER_IO_ERROR: Entry = Entry {
    name: "buffer_io_error",
    severity: Warning,
    otherwise: None,
    message: "Buffer I/O error detected on device",
    other_message: "",
    actions: &[Reboot],
    advice: "",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &[] }),
};

/// A filesystem could not write its superblock.
pub const SUPERBLOCK_WRITE_ERROR: Entry = Entry {
    name: "superblock_write_error",
    severity: Warning,
    otherwise: None,
    message: "I/O error while writing superblock",
    other_message: "",
    actions: &[Reboot],
    advice: "",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &[] }),
};

/// All of it.
pub static CATALOG: Catalog = Catalog {
    version: VERSION,
    device: "device",
    patterns: &PATTERNS,
    entries: &[&RAID_ARRAY_FAILURE, &FILESYSTEM_READ_ONLY, &NVME_PATH_FAILURE, &NVME_CONTROLLER_TIMEOUT, &NVME_DEVICE_DISABLED, &BEYOND_END_OF_DEVICE, &BUFFER_IO_ERROR, &SUPERBLOCK_WRITE_ERROR],
};
