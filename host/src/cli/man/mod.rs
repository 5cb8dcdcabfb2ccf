//! `gpud man`: prints manual pages, or writes all of them into a folder.

mod args;

use std::path::PathBuf;

use self::args::ManArgs;
use super::{
    command::{Action, Command, CommandContext},
    exit::Exit,
    shells,
};

/// The entry of the table of commands.
pub(super) const COMMAND: Command =
    Command::new::<ManArgs>("man", "Print the manual page of gpud or of a command");

/// Which pages, and where they are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManOptions {
    /// The command; empty is gpud itself.
    pub topic: Vec<String>,
    /// Write all of them into this folder instead.
    pub dir: Option<PathBuf>,
}

impl Action for ManOptions {
    async fn run(self, _: CommandContext) -> Result<Exit, Exit> {
        match self.dir {
            Some(folder) => shells::pages(&folder).map(|_| Exit::success("")),
            None => shells::page(&self.topic).and_then(|page| shells::print(&page)),
        }
    }
}
