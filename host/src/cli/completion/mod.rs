//! `gpud completion`: prints a script that completes command lines.

mod args;

use clap_complete::Shell;

use self::args::CompletionArgs;
use super::{
    command::{Action, Command, CommandContext},
    exit::Exit,
    shells,
};

/// The entry of the table of commands.
pub(super) const COMMAND: Command = Command::new::<CompletionArgs>(
    "completion",
    "Print a script that completes command lines, for bash, zsh, fish, elvish or powershell",
);

/// For which shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletionOptions {
    /// The shell.
    pub shell: Shell,
}

impl Action for CompletionOptions {
    async fn run(self, _: CommandContext) -> Result<Exit, Exit> {
        shells::print(&shells::completion(self.shell))
    }
}
