//! `gpud validate-config`, which gpud runs for itself: validates a plugin's configuration in a process of its own.

mod args;

use self::args::ValidateConfigArgs;
use super::{
    command::{Action, Command, CommandContext},
    exit::Exit,
};
use crate::component::schema;

/// The entry of the table of commands.
pub(super) const COMMAND: Command = Command::new::<ValidateConfigArgs>(
    schema::CHILD_COMMAND,
    "Validate a plugin's configuration; gpud runs this for itself",
)
.hidden();

/// Nothing: the schema and the configuration come on stdin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValidateConfigOptions;

impl Action for ValidateConfigOptions {
    async fn run(self, _: CommandContext) -> Result<Exit, Exit> {
        let faults = schema::child_main(std::io::stdin().lock()).map_err(Exit::failure)?;
        Ok(Exit::success(faults))
    }
}
