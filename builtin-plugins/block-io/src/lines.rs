//! Kernel lines about requests that failed, Linux 5.4 to 6.18; those of filesystems and arrays: [`filesystems`].
//!
//! | line | source |
//! |---|---|
//! | `[blk_update_request: ]‹status› error, dev ‹name›, sector ‹n› op 0x‹n›:(‹OP›) flags …` | `block/blk-core.c`, `print_req_error` (with the name of its caller up to 5.15), then `block/blk-mq.c`, `blk_print_req_error`; words for the status: `blk_errors` in `block/blk-core.c` |
//! | `sd ‹h:c:t:l›: [‹name›] tag#‹n› FAILED Result: hostbyte=‹H› driverbyte=‹D› …` | `drivers/scsi/scsi_logging.c`, `scsi_print_result` |
//! | `sd ‹h:c:t:l›: [‹name›] tag#‹n› Sense Key : ‹key› [current]` | same, `scsi_log_print_sense_hdr` |
//! | `sd ‹h:c:t:l›: Device offlined - not ready after error recovery` | `drivers/scsi/scsi_error.c`, `scsi_eh_offline_sdevs` |
//! | `sd ‹h:c:t:l›: rejecting I/O to offline device` | `drivers/scsi/scsi_lib.c`, `scsi_device_state_check` |
//! | `ata‹p›.‹dd›: failed command: ‹name›` | `drivers/ata/libata-eh.c`, `ata_eh_link_report` |
//! | `ata‹p›.‹dd›: error: { ‹bits› }` | same |
//! | `ata‹p›.‹dd›: disabled`, later `… disable device` | same, `ata_dev_disable` |
//! | `nvme ‹ctrl›: I/O [tag ]‹n› … QID ‹n› timeout, ‹what is done›` | `drivers/nvme/host/pci.c`, `nvme_timeout` |
//! | `nvme ‹ctrl›: controller is down; will reset: CSTS=0x‹n›, …` | same, `nvme_warn_reset` |
//! | `nvme ‹ctrl›: Device not ready; aborting (initialisation or reset)[, CSTS=0x‹n›]` | `drivers/nvme/host/core.c`, `nvme_wait_ready` |
//! | `nvme ‹ctrl›: Removing after probe failure status: ‹n›` | `drivers/nvme/host/pci.c`, `nvme_remove_dead_ctrl` |
//!
//! What the host delivers and what is said of each: `catalog/patterns.json`. Not here because the `disk` check has them: `Buffer I/O error on dev …`, `… timeout, reset controller`, `Disabling
//! device after reset failure`. All are matched from the beginning of the line.

/// Longest name of a device, bytes; the kernel's own are at most 31 (`DISK_NAME_LEN`). The host refuses subjects of more
/// than 128, and with one of them all events of its batch.
const MAX_NAME: usize = 64;

mod filesystems;

use gpud_builtin_shared::block_device::{is_image, is_removable};

pub use crate::patterns::PATTERNS;

/// A kernel line that reports a failure, with its facts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchedLine<'a> {
    /// What failed.
    pub kind: Kind,
    /// Of which device, as the driver names it: `sda`, `nvme0n1`, `dm-0`, `nvme0`, `ata1.00`.
    pub device: &'a str,
    /// SCSI address (`0:0:0:0`); empty elsewhere.
    pub address: &'a str,
    /// Facts by name.
    pub facts: Vec<(&'static str, &'a str)>,
}

/// Kinds of failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The medium does not give back (or take) what belongs at this place.
    Medium,
    /// A request failed for another reason.
    Io,
    /// One of several paths to a device failed; multipathing tries the next.
    Path,
    /// The disk says that its hardware is at fault.
    Hardware,
    /// The kernel no longer uses the device.
    Offline,
    /// A SCSI command failed.
    ScsiCommand,
    /// The disk's own word for a medium error.
    ScsiMedium,
    /// An ATA command failed.
    AtaCommand,
    /// The disk's own word for a medium error.
    AtaMedium,
    /// A frame was damaged between disk and controller.
    AtaLink,
    /// An NVMe command took too long.
    NvmeTimeout,
    /// An NVMe controller stopped.
    NvmeDown,
    /// An NVMe controller did not start.
    NvmeNotReady,
    /// An NVMe controller was given up.
    NvmeRemoved,
    /// A filesystem found an error, and goes on.
    FilesystemError,
    /// A filesystem takes no more requests, or no more writes.
    FilesystemShutDown,
    /// Any of these, and failed requests, of an image in a file.
    Image,
    /// An array goes on without one of its disks.
    RaidMember,
    /// An array lost more disks than it can do without.
    RaidFailed,
}

/// Reads a line.
pub fn find(line: &str) -> Option<MatchedLine<'_>> {
    scsi(line)
        .or_else(|| ata(line))
        .or_else(|| nvme(line))
        .or_else(|| request(line))
        .or_else(|| filesystems::find(line))
        .filter(|found| found.device.len() <= MAX_NAME && found.address.len() <= MAX_NAME)
}

/// Functions of the kernel that named themselves before the words of [`request`]. No other word is taken: `input: ` stands
/// before what a keyboard calls itself.
const REQUEST_FUNCTIONS: [&str; 3] = ["blk_update_request", "print_req_error", "end_request"];

fn request(line: &str) -> Option<MatchedLine<'_>> {
    let (status, rest) = line.split_once(" error, dev ")?;
    let status = match status.split_once(": ") {
        Some((function, status)) if REQUEST_FUNCTIONS.contains(&function) => status,
        Some(_) => return None,
        None => status,
    };
    let (device, rest) = rest.split_once(", sector ")?;
    let (sector, rest) = split_digits(rest);
    if !is_device(device) || sector.is_empty() || is_removable(device) {
        return None;
    }
    let operation = rest
        .strip_prefix(" op 0x")
        .and_then(|rest| rest.split_once(":("))
        .and_then(|(_, rest)| rest.split_once(')'))
        .map_or("", |(operation, _)| operation);
    let kind = match status {
        "critical medium" => Kind::Medium,
        "recoverable transport" => Kind::Path,
        // A device that does not know how to discard says so once too often.
        "critical target" | "I/O"
            if matches!(
                operation,
                "DISCARD" | "SECURE_ERASE" | "WRITE_ZEROES" | "WRITE_SAME"
            ) =>
        {
            return None;
        }
        "I/O"
        | "timeout"
        | "critical target"
        | "critical space allocation"
        | "protection"
        | "device offline" => Kind::Io,
        // `operation not supported`, `nonblocking retry`, zones, reservations …: no fault of the disk.
        _ => return None,
    };
    let kind = match is_image(device) {
        true => Kind::Image,
        false => kind,
    };
    Some(MatchedLine {
        kind,
        device,
        address: "",
        facts: vec![
            ("status", status),
            ("operation", operation),
            ("sector", sector),
        ],
    })
}

/// `UNKNOWN(0x‹hex›)`: a disposition that the kernel has no name for.
fn is_unknown_disposition(text: &str) -> bool {
    text.strip_prefix("UNKNOWN(0x")
        .and_then(|rest| rest.strip_suffix(')'))
        .is_some_and(|code| {
            !code.is_empty()
                && code
                    .bytes()
                    .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        })
}

fn scsi(line: &str) -> Option<MatchedLine<'_>> {
    let (address, rest) = line.strip_prefix("sd ")?.split_once(": ")?;
    if !address
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b':')
        || address.is_empty()
    {
        return None;
    }
    let (device, rest) = match rest.strip_prefix('[') {
        Some(rest) => rest
            .split_once("] ")
            .filter(|(device, _)| is_word(device))?,
        None => (address, rest),
    };
    let rest = match rest.strip_prefix("tag#") {
        Some(rest) => {
            let (tag, rest) = split_digits(rest);
            if tag.is_empty() {
                return None;
            }
            rest.strip_prefix(' ')?
        }
        None => rest,
    };
    let found = |kind, facts| {
        Some(MatchedLine {
            kind,
            device,
            address,
            facts,
        })
    };
    if let Some((disposition, result)) = rest.split_once(" Result: ") {
        if disposition != "FAILED" && !is_unknown_disposition(disposition) {
            return None;
        }
        let value = |key: &str| {
            result
                .split(' ')
                .find_map(|word| word.strip_prefix(key))
                .unwrap_or("")
        };
        let facts = vec![
            ("hostbyte", value("hostbyte=")),
            ("driverbyte", value("driverbyte=")),
            ("age", value("cmd_age=")),
        ];
        return found(Kind::ScsiCommand, facts);
    }
    if let Some(key) = ["Sense Key : ", "sense key : ", "Sense key : "]
        .iter()
        .find_map(|form| rest.strip_prefix(form))
    {
        return if key.starts_with("Hardware Error") {
            found(Kind::Hardware, vec![("sense", "Hardware Error")])
        } else if key.starts_with("Medium Error") {
            found(Kind::ScsiMedium, vec![("sense", "Medium Error")])
        } else {
            None
        };
    }
    let offline = [
        "Device offlined - not ready",
        "rejecting I/O to offline device",
    ];
    if offline.iter().any(|form| rest.starts_with(form)) {
        return found(Kind::Offline, Vec::new());
    }
    None
}

fn ata(line: &str) -> Option<MatchedLine<'_>> {
    let (device, rest) = line.split_once(": ")?;
    let (port, number) = device.strip_prefix("ata")?.split_once('.')?;
    let digits = |text: &str| !text.is_empty() && count_digits(text) == text.len();
    if !digits(port) || !digits(number) {
        return None;
    }
    let found = |kind, facts| {
        Some(MatchedLine {
            kind,
            device,
            address: "",
            facts,
        })
    };
    if let Some(command) = rest.strip_prefix("failed command: ") {
        return found(Kind::AtaCommand, vec![("command", command)]);
    }
    if let Some(bits) = rest.strip_prefix("error: {") {
        let (bits, _) = bits.split_once('}')?;
        let has = |bit: &str| bits.split_whitespace().any(|word| word == bit);
        return if has("UNC") {
            found(Kind::AtaMedium, vec![("bits", bits.trim())])
        } else if has("ICRC") {
            found(Kind::AtaLink, vec![("bits", bits.trim())])
        } else {
            None
        };
    }
    if matches!(rest, "disabled" | "disable device") {
        return found(Kind::Offline, Vec::new());
    }
    None
}

fn nvme(line: &str) -> Option<MatchedLine<'_>> {
    let (device, rest) = line.strip_prefix("nvme ")?.split_once(": ")?;
    let number = device.strip_prefix("nvme")?;
    if number.is_empty() || count_digits(number) != number.len() {
        return None;
    }
    let found = |kind, facts| {
        Some(MatchedLine {
            kind,
            device,
            address: "",
            facts,
        })
    };
    if let Some(rest) = rest.strip_prefix("I/O ") {
        let (_, done) = rest.split_once(" timeout, ")?;
        let done = ["aborting", "completion polled", "disable controller"]
            .into_iter()
            .find(|word| done.starts_with(word))?;
        return found(Kind::NvmeTimeout, vec![("done", done)]);
    }
    if let Some(rest) = rest.strip_prefix("controller is down; will reset: CSTS=") {
        let status = rest.split([',', ' ']).next().unwrap_or("");
        return found(Kind::NvmeDown, vec![("csts", status)]);
    }
    if let Some(rest) = rest.strip_prefix("Device not ready; aborting ") {
        // At a shutdown nobody waits for it.
        return if rest.starts_with("initialisation") || rest.starts_with("reset") {
            found(Kind::NvmeNotReady, Vec::new())
        } else {
            None
        };
    }
    if rest.starts_with("Removing after probe failure") {
        return found(Kind::NvmeRemoved, Vec::new());
    }
    None
}

/// Letters, digits and underscores.
fn is_word(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 64
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The name of a block device (`DISK_NAME_LEN` is 32); `!` stands for a slash.
fn is_device(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 32
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'!' | b'.'))
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at_checked(count_digits(text))
        .unwrap_or((text, ""))
}

fn count_digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

#[cfg(test)]
mod tests;
