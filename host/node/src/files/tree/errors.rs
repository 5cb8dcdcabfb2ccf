//! The errors of opening a file.

use std::io;

use rustix::io::Errno;

use crate::error::SourceError;

/// Translates an error of a system call about a path.
pub fn failed(path: &str, error: Errno) -> SourceError {
    match error {
        // What procfs says about a process, and sysfs about a device, that went away while its file was open.
        Errno::SRCH | Errno::NODEV | Errno::NXIO | Errno::NOTDIR => {
            SourceError::NotFound(path.to_owned())
        }
        Errno::ISDIR => SourceError::Invalid(format!("{path}: is a directory")),
        error => SourceError::from_io(path, &io::Error::from(error)),
    }
}

/// The error for a path that is not granted.
pub(super) fn not_granted(path: &str, real: &str) -> SourceError {
    let leads = if path == real {
        String::new()
    } else {
        format!("leads to {real}, which is ")
    };
    SourceError::Denied(format!(
        "{path} ({leads}not granted; to allow it, add {real:?} to the granted paths)"
    ))
}

/// The error for a path that no grant reaches.
pub(super) fn always_denied(path: &str, real: &str) -> SourceError {
    let leads = if path == real {
        String::new()
    } else {
        format!("leads to {real}: ")
    };
    SourceError::Denied(format!("{path} ({leads}no grant reaches that)"))
}

/// The error for a path through a link of `/proc` into a process.
pub(super) fn magic_link(path: &str) -> SourceError {
    SourceError::Denied(format!(
        "{path} (goes through a link of /proc into a process, or through too many links; no grant allows that)"
    ))
}
