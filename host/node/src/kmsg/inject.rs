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
mod tests {
    use super::*;

    #[test]
    fn knows_the_priorities() {
        let names = [
            "EMERG", "ALERT", "CRIT", "ERR", "WARNING", "NOTICE", "INFO", "DEBUG",
        ];
        for (expected, name) in (0u8..).zip(names) {
            assert_eq!(severity(&format!("KERN_{name}")), expected);
            assert_eq!(severity(&format!("kern.{}", name.to_lowercase())), expected);
        }
        for (name, expected) in [
            ("kern.warn", 4),
            ("KERN_DEFAULT", 6),
            ("kern.default", 6),
            ("", 6),
            ("KERN_err", 6),
            ("err", 6),
        ] {
            assert_eq!(severity(name), expected, "{name}");
        }
    }

    #[test]
    fn splits_and_cuts() {
        let cases: [(u8, &str, &[&str]); 5] = [
            (6, "", &[]),
            (3, "one", &["<43>one\n"]),
            (0, "a\tb\n\nc\n", &["<40>a b\n", "<40>c\n"]),
            (99, "x", &["<47>x\n"]),
            (4, "ünï", &["<44>ünï\n"]),
        ];
        for (severity, message, expected) in cases {
            assert_eq!(
                lines(severity, message).collect::<Vec<_>>(),
                expected,
                "{message:?}"
            );
        }
        for (message, length) in [
            ("x".repeat(971), 976),
            ("x".repeat(972), 976),
            ("x".repeat(5000), 976),
            ("ü".repeat(600), 976),
        ] {
            let line = lines(6, &message).next().unwrap();
            assert_eq!(line.len(), length);
            assert_eq!(
                line.ends_with("...\n"),
                message.len() > 971,
                "{}",
                message.len()
            );
        }
    }

    #[test]
    fn limits_the_message() {
        assert_eq!(validate_message(&"x".repeat(976)), Ok(()));
        let error = validate_message(&"x".repeat(977)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "message length exceeds the maximum length of 976"
        );
    }

    #[test]
    fn says_when_it_cannot_write() {
        assert!(matches!(
            open(Path::new("/nonexistent/kmsg")),
            Err(SourceError::NotFound(_))
        ));
        assert!(matches!(
            open(Path::new("/proc")),
            Err(SourceError::Other(_))
        ));
    }
}
