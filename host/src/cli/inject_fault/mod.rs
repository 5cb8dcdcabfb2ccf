//! `gpud inject-fault`: writes a message into the kernel log, where the checks find it.

mod args;

use self::args::InjectFaultArgs;
use super::{
    command::{Action, Command, CommandContext},
    exit::Exit,
};
use crate::node::kmsg;

/// The entry of the table of commands.
pub(super) const COMMAND: Command = Command::new::<InjectFaultArgs>(
    "inject-fault",
    "Write a message into the kernel log, to see what the checks make of it",
);

/// The word for programs.
const ERROR_CODE: &str = "failed_to_inject_fault";

/// The line to write into the kernel log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InjectFaultOptions {
    /// Priority's name.
    pub priority: String,
    /// Text.
    pub message: String,
    /// Say so in JSON.
    pub json: bool,
}

impl Action for InjectFaultOptions {
    async fn run(self, _: CommandContext) -> Result<Exit, Exit> {
        inject_fault(&self.priority, &self.message, self.json)
    }
}

/// Writes it. Prints nothing, or `{"injected":true}`. Lines that are too long are cut.
///
/// # Errors
/// There is nothing to write, or it could not be written (which takes root).
pub fn inject_fault(priority: &str, message: &str, json: bool) -> Result<Exit, Exit> {
    match inject(priority, message) {
        Ok(()) if json => Ok(Exit::success("{\"injected\":true}\n")),
        Ok(()) => Ok(Exit::success("")),
        Err(exit) => Err(exit.in_json(json, ERROR_CODE)),
    }
}

/// Writes it.
///
/// # Errors
/// There is nothing to write, or it could not be written (which takes root).
fn inject(priority: &str, message: &str) -> Result<(), Exit> {
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
        inject_fault("KERN_ERR", &message, false).unwrap();
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
                // Overwritten in the meantime: go on with the next.
                Err(error) if error.raw_os_error() == Some(32) => {}
                Err(_) => break,
            }
        }
        assert!(found);
    }

    #[test]
    fn an_empty_message_is_refused() {
        assert_eq!(inject_fault("KERN_ERR", " ", false).unwrap_err().code, 1);
        let exit = inject_fault("KERN_ERR", " ", true).unwrap_err();
        assert!(
            exit.stdout
                .starts_with("{\"error\":{\"code\":\"failed_to_inject_fault\""),
            "{}",
            exit.stdout
        );
    }
}
