//! `gpud inject-fault`: writes a message into the kernel log, where the checks find it.

use super::exit::Exit;
use crate::node::kmsg;

/// Writes it. Prints nothing. Lines that are too long are cut.
///
/// # Errors
/// There is nothing to write, or it could not be written (which takes root).
pub fn inject_fault(priority: &str, message: &str) -> Result<(), Exit> {
    if message.trim().is_empty() {
        return Err(Exit::failure(
            "nothing to inject: give a text with --kernel-message",
        ));
    }
    kmsg::inject(kmsg::severity(priority), message)
        .map_err(|error| Exit::failure(format!("failed to inject kernel message: {error}")))
}

#[cfg(test)]
mod tests {
    use std::{
        fs::{self, File},
        io::Read as _,
        os::unix::fs::OpenOptionsExt as _,
        process,
    };

    use super::*;

    #[test]
    fn the_kernel_log_has_it() {
        let message = format!("gpud-cli-test {}", process::id());
        inject_fault("KERN_ERR", &message).unwrap();
        // Each read gives one record, without waiting for more.
        let mut log: File = fs::OpenOptions::new()
            .read(true)
            .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed())
            .open("/dev/kmsg")
            .unwrap();
        let mut record = vec![0; 16384];
        let mut found = false;
        loop {
            match log.read(&mut record) {
                Ok(length) => {
                    let text = String::from_utf8_lossy(&record[..length]);
                    found |= text.starts_with("43,") && text.contains(&message);
                }
                // Overwritten meanwhile: go on with the next.
                Err(error) if error.raw_os_error() == Some(32) => {}
                Err(_) => break,
            }
        }
        assert!(found);
    }

    #[test]
    fn an_empty_message_is_refused() {
        assert_eq!(inject_fault("KERN_ERR", " ").unwrap_err().code, 1);
    }
}
