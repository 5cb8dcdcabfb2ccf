//! Actions of commands that GPUd has and this build answers with one line.

use super::{
    command::{Action, CommandContext},
    exit::{Exit, Stderr},
};

/// There is nothing to do here; the command says why and succeeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unneeded(pub &'static str);

impl Action for Unneeded {
    async fn run(self, _: CommandContext) -> Result<Exit, Exit> {
        Ok(Exit {
            stderr: Stderr::Line(self.0.to_owned()),
            ..Exit::success("")
        })
    }
}

/// This build cannot do it; the command says why and fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unavailable(pub &'static str);

impl Action for Unavailable {
    async fn run(self, _: CommandContext) -> Result<Exit, Exit> {
        Err(Exit::failure(self.0))
    }
}
