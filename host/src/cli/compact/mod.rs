//! `gpud compact`: rewrites the state file without what was deleted, while no daemon uses it.

mod args;

use std::{
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::json;
use tokio::{net::TcpStream, time::timeout};

use self::args::CompactArgs;
use super::{
    command::{Action, Command, CommandContext},
    data_dir,
    exit::Exit,
    service::systemctl::{Systemctl, UnitState},
    sizes::iec,
    terminal::{Terminal, shown},
};
use crate::store;

/// The entry of the table of commands.
pub(super) const COMMAND: Command =
    Command::new::<CompactArgs>("compact", "Shrink the state file while no daemon uses it");

/// Where a daemon listens, GPUd's included, which has no lock file.
const PORT: u16 = 15132;

/// The word for programs.
const ERROR_CODE: &str = "failed_to_compact";

/// Which state file to compact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactOptions {
    /// Folder of the state file.
    pub data_dir: PathBuf,
    /// Whether to print one JSON document.
    pub json: bool,
}

impl Action for CompactOptions {
    async fn run(self, context: CommandContext) -> Result<Exit, Exit> {
        let compacted = compact(&self.data_dir, self.json, context.stdout).await;
        compacted.map(Exit::success)
    }
}

/// Compacts the state file in `folder` and returns what to print.
///
/// # Errors
/// A daemon is running, there is no state file, or it cannot be rewritten.
pub async fn compact(folder: &Path, json: bool, terminal: Terminal) -> Result<String, Exit> {
    let done = compact_unused(folder, json, terminal).await;
    done.map_err(|exit| exit.in_json(json, ERROR_CODE))
}

async fn compact_unused(folder: &Path, json: bool, terminal: Terminal) -> Result<String, Exit> {
    if unit_is_active().await {
        return Err(Exit::failure(
            "gpud is running (must be stopped before running compact)",
        ));
    }
    if somebody_listens(PORT).await {
        return Err(Exit::failure(format!(
            "gpud is running on port {PORT} (must be stopped before running compact)"
        )));
    }
    compact_file(folder, json, terminal).await
}

async fn compact_file(folder: &Path, json: bool, terminal: Terminal) -> Result<String, Exit> {
    let path = folder.join(store::STATE_FILE);
    data_dir::check(folder)
        .map_err(|refused| Exit::failure(format!("failed to compact: {refused}")))?;
    if !path.exists() {
        return Err(Exit::failure(format!(
            "there is no state file {}",
            path.display()
        )));
    }
    let file = path.clone();
    let sizes = tokio::task::spawn_blocking(move || store::compact(&file))
        .await
        .map_err(Exit::failure)?
        .map_err(|error| Exit::failure(format!("failed to compact {}: {error}", path.display())))?;
    if json {
        let document = json!({
            "state_file": path.display().to_string(),
            "bytes_before": sizes.before,
            "bytes_after": sizes.after,
        });
        return Ok(format!("{document}\n"));
    }
    Ok(format!(
        "{} successfully compacted state file\n{}: {} before, {} after\n",
        terminal.good(),
        shown(&path),
        iec(sizes.before),
        iec(sizes.after)
    ))
}

/// False also where there is no systemd: then the port and the lock decide.
async fn unit_is_active() -> bool {
    match Systemctl::find().await {
        Some(systemctl) => systemctl.state().await == Ok(UnitState::Active),
        None => false,
    }
}

async fn somebody_listens(port: u16) -> bool {
    let addresses: [SocketAddr; 2] = [
        (Ipv4Addr::LOCALHOST, port).into(),
        (Ipv6Addr::LOCALHOST, port).into(),
    ];
    for address in addresses {
        let connected = timeout(Duration::from_secs(3), TcpStream::connect(address)).await;
        if matches!(connected, Ok(Ok(_))) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests;
