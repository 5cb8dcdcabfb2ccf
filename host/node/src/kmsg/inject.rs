//! Writes a message into the kernel log, to test the way from there to an event.
//!
//! Unlike GPUd, which reports success when nothing could be written, every failure is reported.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use rustix::fs::{OFlags, fstat};

use super::{DEVICE, source::check_device};
use crate::error::SourceError;

/// The longest message, and the longest line that is written, bytes (the kernel's limit of 1024 less 48 for its own).
pub const MAX_MESSAGE: usize = 976;
/// Facility 5 (syslog) × 8: user space cannot write as the kernel, facility 0.
const FACILITY: u8 = 40;
const SWITCH: &str = "/proc/sys/kernel/printk_devkmsg";

/// The severity (0 emergency … 7 debug) of a priority name such as `KERN_ERR` or `kern.err`, exactly so spelled; any
/// other name is 6, info.
pub fn severity(priority: &str) -> u8 {
    match priority {
        "KERN_EMERG" | "kern.emerg" => 0,
        "KERN_ALERT" | "kern.alert" => 1,
        "KERN_CRIT" | "kern.crit" => 2,
        "KERN_ERR" | "kern.err" => 3,
        "KERN_WARNING" | "kern.warning" | "kern.warn" => 4,
        "KERN_NOTICE" | "kern.notice" => 5,
        "KERN_DEBUG" | "kern.debug" => 7,
        _ => 6,
    }
}

/// Checks the length of a message, [`MAX_MESSAGE`] bytes at most.
///
/// # Errors
/// [`SourceError::Invalid`] with GPUd's words.
pub fn validate_message(message: &str) -> Result<(), SourceError> {
    if message.len() > MAX_MESSAGE {
        return Err(SourceError::Invalid(format!(
            "message length exceeds the maximum length of {MAX_MESSAGE}"
        )));
    }
    Ok(())
}

/// Writes the message to `/dev/kmsg`, a record per line, with a severity as from [`severity`]. Tabs become blanks, lines
/// that are too long are cut and end in `...`, empty lines are left out.
///
/// # Errors
/// The device cannot be opened (not root) or written, or the kernel is set to throw such messages away.
pub fn inject(severity: u8, message: &str) -> Result<(), SourceError> {
    // Set to "off", the kernel takes every write and drops it.
    if std::fs::read_to_string(SWITCH).is_ok_and(|value| value.trim() == "off") {
        return Err(SourceError::NotSupported(format!(
            "{DEVICE}: writing ({SWITCH} is \"off\")"
        )));
    }
    for line in lines(severity, message) {
        // The kernel drops what exceeds ten lines in five seconds on one descriptor, without an error: hence one each.
        let mut device = open(Path::new(DEVICE))?;
        // One write is one record, so a short write cannot be continued.
        match device.write(line.as_bytes()) {
            Ok(written) if written == line.len() => {}
            Ok(written) => {
                return Err(SourceError::Other(format!(
                    "{DEVICE}: took {written} of {} bytes",
                    line.len()
                )));
            }
            Err(error) => return Err(SourceError::from_io(format!("{DEVICE}: writing"), &error)),
        }
    }
    Ok(())
}

fn open(path: &Path) -> Result<File, SourceError> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let trouble = |error: io::Error| {
        SourceError::from_io(format!("{}: opening for writing", path.display()), &error)
    };
    let file = OpenOptions::new()
        .write(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
        .map_err(trouble)?;
    let status = fstat(&file).map_err(|errno| trouble(errno.into()))?;
    check_device(path, &status)?;
    Ok(file)
}

fn lines(severity: u8, message: &str) -> impl Iterator<Item = String> {
    message
        .split('\n')
        .filter(|line| !line.is_empty())
        .map(move |line| {
            let mut record = format!(
                "<{}>{}\n",
                FACILITY + severity.min(7),
                line.replace('\t', " ")
            );
            if record.len() > MAX_MESSAGE {
                record.truncate(record.floor_char_boundary(MAX_MESSAGE - 4));
                record.push_str("...\n");
            }
            record
        })
}

#[cfg(test)]
mod tests;
