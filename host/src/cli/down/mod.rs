//! `gpud down`: stops the service of systemd.

mod args;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use self::args::DownArgs;
use super::{
    command::{Action, Command, CommandContext},
    data_dir,
    exit::Exit,
    service::{
        UNIT,
        systemctl::{Systemctl, UnitState},
    },
    terminal::Terminal,
};
use crate::{node::system::euid, store};

/// The entry of the table of commands.
pub(super) const COMMAND: Command = Command::new::<DownArgs>(
    "down",
    "Stop the service, and do not start it at boot any more",
);

/// The longest wait for the stop: the unit's limit and some.
const STOP: Duration = Duration::from_secs(60);

/// How to stop the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DownOptions {
    /// Folder of the state file.
    pub data_dir: PathBuf,
    /// Forget what a hosted platform gave.
    pub reset_state: bool,
}

impl Action for DownOptions {
    async fn run(self, context: CommandContext) -> Result<Exit, Exit> {
        down(&self.data_dir, self.reset_state, context.stdout).await
    }
}

/// Stops the service and takes it out of the boot; files stay. `reset` also forgets what a hosted platform gave. Gives
/// what to print.
///
/// # Errors
/// Not root, no systemd, or what systemd says.
pub async fn down(folder: &Path, reset: bool, terminal: Terminal) -> Result<Exit, Exit> {
    if euid() != 0 {
        return Err(Exit::failure("this command needs to be run as root"));
    }
    let Some(systemctl) = Systemctl::find().await else {
        return Err(Exit::failure(
            "requires systemd, if not run by systemd, manually kill the process with 'pidof gpud'",
        ));
    };
    let state = systemctl
        .state()
        .await
        .map_err(|why| Exit::failure(format!("failed to check if gpud is running: {why}")))?;
    let good = terminal.good();
    let done = match state {
        UnitState::Inactive => format!("{good} gpud is not running (no-op)\n"),
        UnitState::Active | UnitState::Failed => {
            for verb in ["stop", "disable"] {
                let done = systemctl.run(&[verb, UNIT], STOP).await;
                done.map_err(|why| {
                    Exit::failure(format!("failed to {verb} systemd unit '{UNIT}': {why}"))
                })?;
            }
            format!("{good} successfully stopped gpud\n")
        }
    };
    if reset {
        let path = folder.join(store::STATE_FILE);
        let shown = path.display().to_string();
        data_dir::check(folder)
            .map_err(|refused| Exit::failure(format!("failed to reset {shown}: {refused}")))?;
        let cleared = tokio::task::spawn_blocking(move || match path.exists() {
            true => store::clear_hosted(&path),
            false => Ok(()),
        });
        cleared
            .await
            .map_err(Exit::failure)?
            .map_err(|error| Exit::failure(format!("failed to reset {shown}: {error}")))?;
    }
    Ok(Exit::success(done))
}
