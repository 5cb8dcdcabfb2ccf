//! `gpud down`.

use std::{path::Path, time::Duration};

use super::{
    UNIT,
    systemctl::{Systemctl, UnitState},
};
use crate::{
    cli::{data_dir, exit::Exit, terminal::Terminal},
    node::system::euid,
    store,
};

/// For stopping: the unit's limit and some.
const STOP: Duration = Duration::from_secs(60);

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
