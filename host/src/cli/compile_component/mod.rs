//! `gpud compile-component`, which gpud runs for itself: compiles a WebAssembly component in a process of its own.

mod args;

use std::path::PathBuf;

use self::args::CompileComponentArgs;
use super::{
    command::{Action, Command, CommandContext},
    exit::Exit,
};
use crate::runtime::compiler;

/// The entry of the table of commands.
pub(super) const COMMAND: Command = Command::new::<CompileComponentArgs>(
    "compile-component",
    "Compile a Wasm component; gpud runs this for itself",
)
.hidden();

/// The component to compile, and for which engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompileComponentOptions {
    /// The component.
    pub input: PathBuf,
    /// Where the code goes.
    pub output: PathBuf,
}

impl Action for CompileComponentOptions {
    async fn run(self, _: CommandContext) -> Result<Exit, Exit> {
        compiler::child_main(&self.input, &self.output).map_err(Exit::failure)?;
        Ok(Exit::success(""))
    }
}
