//! Actions of commands that GPUd has and this build answers with one line.

use super::{
    command::{Action, CommandContext},
    exit::{Exit, Stderr},
};

/// A command with no effect here: it prints the reason and succeeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NothingToDo(pub &'static str);

impl Action for NothingToDo {
    async fn run(self, _: CommandContext) -> Result<Exit, Exit> {
        Ok(Exit {
            stderr: Stderr::Line(self.0.to_owned()),
            ..Exit::success("")
        })
    }
}

/// A command that this build cannot carry out: it prints the reason and fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unavailable(pub &'static str);

impl Action for Unavailable {
    async fn run(self, _: CommandContext) -> Result<Exit, Exit> {
        Err(Exit::failure(self.0))
    }
}
