//! Kernel lines of filesystems and arrays about the disks below them.
//!
//! | line | source |
//! |---|---|
//! | `EXT4-fs error (device ‹dev›): ‹function›:‹line›: …`, `EXT4-fs error (device ‹dev›) in ‹function›:‹line›: …` | `fs/ext4/super.c`, `__ext4_error`, `__ext4_error_inode`, `__ext4_error_file`, `__ext4_grp_locked_error`; `__ext4_std_error` |
//! | `Aborting journal on device ‹dev›-‹inode›.` | `fs/jbd2/journal.c`, `jbd2_journal_abort`, earlier `__jbd2_journal_abort_hard` |
//! | `JBD2: Error ‹n› detected when updating journal superblock for ‹dev›-‹inode›.`, later `JBD2: I/O error when …` | same, `jbd2_write_superblock` |
//! | `XFS (‹dev›): metadata I/O error in "‹function›" at daddr …`, before 4.19 `metadata I/O error: block …` | `fs/xfs/xfs_buf.c`, `xfs_buf_ioerror_alert` |
//! | `XFS (‹dev›): Metadata corruption detected at …`, `… Metadata CRC error detected at …` | `fs/xfs/xfs_error.c`, `xfs_buf_verifier_error`, `xfs_inode_verifier_error` |
//! | `XFS (‹dev›): Internal error ‹what› at line …` | same, `xfs_error_report` |
//! | `XFS (‹dev›): Corruption detected. Unmount and run xfs_repair` | same, `xfs_corruption_error` |
//! | `XFS (‹dev›): log I/O error ‹n›` | `fs/xfs/xfs_log.c`, `xlog_ioend_work` |
//! | `XFS (‹dev›): log mount/recovery failed: error ‹n›` | same, `xfs_log_mount` |
//! | `XFS (‹dev›): log mount failed`, `log mount finish failed` | `fs/xfs/xfs_mount.c`, `xfs_mountfs` |
//! | `XFS (‹dev›): Failing async write on buffer block 0x‹n›. Retrying async write.` | `fs/xfs/xfs_buf.c`, `xfs_buf_ioend_handle_error` |
//! | `XFS (‹dev›): page discard on page ‹pointer›, inode 0x‹n›, pos ‹n›.` | `fs/xfs/xfs_aops.c`, `xfs_discard_folio` |
//! | `XFS (‹dev›): Failed to read root inode 0x‹n›, error ‹n›`, before 4.19 `failed to read root inode` | same |
//! | `XFS (‹dev›): writeback error on sector ‹n›` | `fs/xfs/xfs_aops.c`, `xfs_destroy_ioend`, before 5.5 |
//! | `‹dev›: writeback error on inode ‹n›, offset ‹n›, sector ‹n›` | `fs/iomap/buffered-io.c`, `iomap_finish_ioend`, from 5.5 |
//! | `EXT4-fs (‹dev›): failed to convert unwritten extents to written extents -- potential data loss!  (inode ‹n›, error ‹n›)` | `fs/ext4/page-io.c`, `ext4_end_io_end` |
//! | `EXT4-fs (‹dev›): Delayed block allocation failed for inode ‹n› … with error ‹n›`; 28 is a full disk's | `fs/ext4/inode.c`, `mpage_map_and_submit_extent` |
//! | `JBD2: Detected IO errors while flushing file data on ‹dev›-‹inode›` | `fs/jbd2/commit.c`, `jbd2_journal_commit_transaction` |
//! | `EXT4-fs (‹dev›): error loading journal`, `… group descriptors corrupted!` | `fs/ext4/super.c`, `ext4_load_and_init_journal` (earlier `ext4_fill_super`), `ext4_group_desc_init` |
//! | `XFS (‹dev›): Filesystem has been shut down due to log error (0x‹flags›).` | same, `xlog_force_shutdown` |
//! | `XFS (‹dev›): ‹why› (0x‹flags›) detected at ….  Shutting down filesystem.`, earlier `‹why› detected.  Shutting down filesystem` | `fs/xfs/xfs_fsops.c`, `xfs_do_force_shutdown` |
//! | `XFS (‹dev›): xfs_do_force_shutdown(0x‹flags›) called from …` | same, in older kernels |
//! | `BTRFS error (device ‹dev›[: state ‹S›]): …`, `BTRFS critical (device …): …` | `fs/btrfs/messages.c`, `_btrfs_printk` (earlier in `super.c`); the state, letters, from 5.18 |
//! | `BTRFS: error (device ‹dev›[: state ‹S›]) in ‹function›:‹line›: errno=‹n› …` | same, `__btrfs_handle_fs_error` |
//! | `BTRFS info (device ‹dev›[: state ‹S›]): forced readonly` | same |
//! | `WARNING: Pool '‹pool›' has encountered an uncorrectable I/O failure and has been suspended…` | OpenZFS, `module/zfs/zio.c`, `zio_suspend` |
//! | `FAT-fs (‹dev›): error, …` | `fs/fat/misc.c`, `__fat_fs_error` |
//! | `md/raid[‹level›]:‹array›: Disk failure on ‹dev›, disabling device.` | `drivers/md/raid1.c`, `raid1_error`;
//! `raid10.c`, `raid10_error`; `raid5.c`, `raid5_error` (all once `error`). In older kernels the new state of the array
//! follows in the same record |
//! | `md/raid[‹level›]:‹array›: Cannot continue operation (‹n›/‹n› failed).`, `… Operation continuing on 0 devices.` | the same functions, the first from 5.18 |
//! | `md/raid[‹level›]:‹array›: Disk failure on ‹dev›, this is the last device.` | `raid1_error`, `raid10_error`, from 6.19 |
//! | `md/raid0:‹array›: Disk failure on ‹dev› detected, failing array.` | `drivers/md/raid0.c`, `raid0_error`, from 6.5 |
//! | `md/raid:‹array›: not enough operational devices (‹n›/‹n› failed)`, `md/raid10:‹array›: not enough operational mirrors.`, `md/raid:‹array›: cannot start dirty degraded array.` | `drivers/md/raid5.c`, `raid5_run`; `raid10.c`, `raid10_run` |
//!
//! `Remounting filesystem read-only` and `I/O error while writing superblock` are the `disk` check's. It reports arrays
//! without redundancy, too, but without a verdict on a saved log.

use gpud_builtin_shared::block_device::{is_image, is_removable};

use super::{Kind, MatchedLine, count_digits, is_device};

/// `SHUTDOWN_FORCE_UMOUNT` (`fs/xfs/xfs_mount.h`): someone asked for it.
const ASKED_FOR: u64 = 0x4;

/// Beginnings of errors of btrfs that a command or a mount option is to blame for.
const MISTAKES: [&str; 5] = [
    "open_ctree failed",
    "unrecognized mount option",
    "cannot mount",
    "couldn't mount",
    "balance: ",
];

/// Beginnings of what XFS says of errors that it goes on after.
const XFS_ERRORS: [&str; 14] = [
    "metadata I/O error",
    "Metadata corruption detected",
    "Metadata CRC error detected",
    "Corruption ",
    "Internal error ",
    "log I/O error ",
    "log mount/recovery failed",
    "log mount failed",
    "log mount finish failed",
    "Failing async write",
    "page discard on page ",
    "Failed to read root inode",
    "failed to read root inode",
    "writeback error on sector ",
];

/// Beginnings of what ext4 says of a filesystem that it cannot mount for what is on the disk, and of files whose data it
/// lost.
const EXT4_LOSSES: [&str; 4] = [
    "error loading journal",
    "group descriptors corrupted",
    "failed to convert unwritten extents",
    "Delayed block allocation failed",
];

/// End of an ext4 message about a full disk (`ENOSPC`).
const DISK_FULL: &str = " with error 28";

/// The words of `md` for an array that cannot be used.
const ARRAY_FAILED: [&str; 5] = [
    "Cannot continue operation (",
    "Operation continuing on 0 devices",
    "not enough operational devices",
    "not enough operational mirrors",
    "cannot start dirty degraded array",
];

pub(super) fn find(line: &str) -> Option<MatchedLine<'_>> {
    let found = ext4(line)
        .or_else(|| journal(line))
        .or_else(|| xfs(line))
        .or_else(|| btrfs(line))
        .or_else(|| zfs(line))
        .or_else(|| fat(line))
        .or_else(|| writeback(line))
        .or_else(|| array(line))?;
    if !is_device(found.device) || is_removable(found.device) {
        return None;
    }
    let of_array = matches!(found.kind, Kind::RaidMember | Kind::RaidFailed);
    let kind = if is_image(found.device) && !of_array {
        Kind::Image
    } else {
        found.kind
    };
    Some(MatchedLine { kind, ..found })
}

fn found<'a>(kind: Kind, device: &'a str, filesystem: &'a str, detail: &'a str) -> MatchedLine<'a> {
    MatchedLine {
        kind,
        device,
        address: "",
        facts: vec![("filesystem", filesystem), ("detail", detail)],
    }
}

fn ext4(line: &str) -> Option<MatchedLine<'_>> {
    if let Some(rest) = line.strip_prefix("EXT4-fs (") {
        let (device, detail) = rest.split_once("): ")?;
        let loses = EXT4_LOSSES.iter().any(|start| detail.starts_with(start));
        return (loses && !detail.trim_end().ends_with(DISK_FULL))
            .then(|| found(Kind::FilesystemError, device, "ext4", detail));
    }
    let (device, rest) = line
        .strip_prefix("EXT4-fs error (device ")?
        .split_once(')')?;
    let detail = rest
        .strip_prefix(": ")
        .or_else(|| rest.strip_prefix(" in "))?;
    Some(found(Kind::FilesystemError, device, "ext4", detail))
}

fn journal(line: &str) -> Option<MatchedLine<'_>> {
    if let Some(name) = line.strip_prefix("Aborting journal on device ") {
        let device = journal_device(name);
        return Some(found(Kind::FilesystemShutDown, device, "", line));
    }
    let detail = line.strip_prefix("JBD2: ")?;
    if let Some(name) = detail.strip_prefix("Detected IO errors while flushing file data on ") {
        let device = journal_device(name.trim_end());
        return Some(found(Kind::FilesystemError, device, "", detail));
    }
    let (what, name) = detail.split_once(" when updating journal superblock for ")?;
    let code = what
        .strip_prefix("Error ")
        .and_then(|rest| rest.strip_suffix(" detected"))
        .map(|code| code.strip_prefix('-').unwrap_or(code));
    let is_code = |code: &str| !code.is_empty() && count_digits(code) == code.len();
    let device = journal_device(name);
    (what == "I/O error" || code.is_some_and(is_code))
        .then(|| found(Kind::FilesystemError, device, "", detail))
}

/// The device of a journal: where it is stored in the filesystem itself, the number of its inode follows (`sda1-8`,
/// `dm-0-8`).
fn journal_device(name: &str) -> &str {
    let name = name.strip_suffix('.').unwrap_or(name);
    match name.rsplit_once('-') {
        Some((device, inode)) if device != "dm" && count_digits(inode) == inode.len() => device,
        _ => name,
    }
}

fn xfs(line: &str) -> Option<MatchedLine<'_>> {
    let (device, text) = line.strip_prefix("XFS (")?.split_once("): ")?;
    let stops = text.starts_with("Filesystem has been shut down due to ")
        || text.starts_with("xfs_do_force_shutdown(")
        || text.contains("Shutting down filesystem");
    if stops {
        let asked_for = text.starts_with("User initiated shutdown")
            || flags(text).is_some_and(|flags| flags & ASKED_FOR != 0);
        return (!asked_for).then(|| found(Kind::FilesystemShutDown, device, "xfs", text));
    }
    XFS_ERRORS
        .iter()
        .any(|start| text.starts_with(start))
        .then(|| found(Kind::FilesystemError, device, "xfs", text))
}

/// The number in the first brackets that hold one.
fn flags(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once("(0x")?;
    let (flags, _) = rest.split_once(')')?;
    u64::from_str_radix(flags, 16).ok()
}

fn btrfs(line: &str) -> Option<MatchedLine<'_>> {
    let (class, rest) = line.strip_prefix("BTRFS")?.split_once(" (device ")?;
    let (device, text) = rest.split_once(')')?;
    // `sda1`, `sda1: state EA`, for a short time `sda1 state EA`.
    let (device, _state) = device.split_once(' ').unwrap_or((device, ""));
    let device = device.strip_suffix(':').unwrap_or(device);
    match class {
        ": error" => {
            let detail = text.strip_prefix(" in ")?;
            Some(found(Kind::FilesystemShutDown, device, "btrfs", detail))
        }
        " info" => {
            let detail = text.strip_prefix(": ")?;
            let stops = detail.starts_with("forced readonly");
            stops.then(|| found(Kind::FilesystemShutDown, device, "btrfs", detail))
        }
        " error" | " critical" => {
            let detail = text.strip_prefix(": ")?;
            let mistaken = MISTAKES.iter().any(|start| detail.starts_with(start));
            (!mistaken).then(|| found(Kind::FilesystemError, device, "btrfs", detail))
        }
        _ => None,
    }
}

fn zfs(line: &str) -> Option<MatchedLine<'_>> {
    let rest = line.strip_prefix("WARNING: Pool '")?;
    let (pool, detail) = rest.split_once("' has encountered an uncorrectable I/O failure ")?;
    detail
        .starts_with("and has been suspended")
        .then(|| found(Kind::FilesystemShutDown, pool, "zfs", detail))
}

fn fat(line: &str) -> Option<MatchedLine<'_>> {
    let (device, detail) = line.strip_prefix("FAT-fs (")?.split_once("): error, ")?;
    Some(found(Kind::FilesystemError, device, "fat", detail))
}

/// `‹dev›: writeback error on inode ‹n›, offset ‹n›, sector ‹n›`, of any filesystem that uses iomap.
fn writeback(line: &str) -> Option<MatchedLine<'_>> {
    let (device, detail) = line.split_once(": ")?;
    let rest = detail.strip_prefix("writeback error on inode ")?;
    let is_it = count_digits(rest) > 0 && rest.contains(", sector ");
    is_it.then(|| found(Kind::FilesystemError, device, "", detail))
}

fn array(line: &str) -> Option<MatchedLine<'_>> {
    let (array, text) = line.strip_prefix("md/raid")?.split_once(": ")?;
    let (level, array) = array.split_once(':')?;
    if count_digits(level) != level.len() || !is_device(array) {
        return None;
    }
    let member = text
        .strip_prefix("Disk failure on ")
        .and_then(|rest| rest.split_once(", "));
    // An array without redundancy fails with its first disk.
    let member =
        member.map(|(device, rest)| (device.strip_suffix(" detected").unwrap_or(device), rest));
    let is_last = member.is_some_and(|(_, rest)| {
        rest.starts_with("this is the last device") || rest.starts_with("failing array")
    });
    // Further lines of the record begin with the array's name.
    let says = |form: &&str| text.starts_with(*form) || text.contains(&format!(": {form}"));
    if is_last || ARRAY_FAILED.iter().any(says) {
        let mut facts = vec![("array", array)];
        if let Some((member, _)) = member {
            facts.push(("member", member));
        }
        let count = text
            .split_once('(')
            .and_then(|(_, rest)| rest.split_once(" failed)"));
        if let Some((count, _)) = count {
            facts.push(("failed", count));
        }
        return Some(MatchedLine {
            kind: Kind::RaidFailed,
            device: array,
            address: "",
            facts,
        });
    }
    let (device, rest) = member?;
    rest.starts_with("disabling device").then(|| MatchedLine {
        kind: Kind::RaidMember,
        device,
        address: "",
        facts: vec![("array", array)],
    })
}
