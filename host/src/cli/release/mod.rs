//! `gpud release`, a command of GPUd that this build answers with one line.

mod args;

use self::args::ReleaseArgs;
use super::command::Command;

/// The entry of the table of commands.
pub(super) const COMMAND: Command = Command::new::<ReleaseArgs>(
    "release",
    "Would sign releases; this build has no such tools",
);

/// The message.
pub const NO_SIGNING: &str = "this build has no tools to sign releases";
