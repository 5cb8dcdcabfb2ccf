//! `gpud notify`, a command of GPUd that this build answers with one line.

mod args;

use self::args::NotifyArgs;
use super::command::Command;

/// The entry of the table of commands.
pub(super) const COMMAND: Command = Command::new::<NotifyArgs>(
    "notify",
    "Would tell a control plane that this machine starts or stops; this build has none",
)
.with_aliases(&["nt"]);

/// The message.
pub const NO_CONTROL_PLANE: &str = "nobody to notify: this build has no control plane";
