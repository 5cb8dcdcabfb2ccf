//! Asks systemd, through its own program.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use super::UNIT;
use crate::{
    cli::terminal::printable,
    node::{
        error::SourceError,
        process::{self, Command, Output, Program},
    },
};

/// The longest time of a question: GPUd's limit.
const QUESTION: Duration = Duration::from_secs(15);

/// The state of the unit according to systemd.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitState {
    /// It runs, or is on its way up or down; a unit that waits to be restarted counts, too.
    Active,
    /// It does not run, or there is no such unit.
    Inactive,
    /// It ended in failure and is not tried again.
    Failed,
}

/// Why systemd did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SystemctlError {
    /// The program cannot be run, or does not answer in time.
    #[error(transparent)]
    Run(#[from] SourceError),
    /// It complains, in its own words. A container may have the program and no systemd.
    #[error("{0}")]
    Complaint(String),
}

/// The program.
#[derive(Debug, Clone)]
pub struct Systemctl(PathBuf);

impl Systemctl {
    /// Looks for it in `PATH`.
    pub async fn find() -> Option<Self> {
        process::find_in_own_path("systemctl").await.ok().map(Self)
    }

    /// The unit's state.
    ///
    /// # Errors
    /// systemd cannot be asked, in its own words.
    pub async fn state(&self) -> Result<UnitState, SystemctlError> {
        let output = self.output(&["is-active", UNIT], QUESTION).await?;
        let word = String::from_utf8_lossy(&output.stdout);
        match word.trim() {
            "active" | "reloading" | "refreshing" | "activating" | "deactivating"
            | "maintenance" => Ok(UnitState::Active),
            "failed" => Ok(UnitState::Failed),
            "inactive" | "unknown" => Ok(UnitState::Inactive),
            _ => Err(SystemctlError::Complaint(complaint("is-active", &output))),
        }
    }

    /// Runs a command that has to succeed.
    ///
    /// # Errors
    /// Why it did not, in systemd's words.
    pub async fn run(&self, arguments: &[&str], limit: Duration) -> Result<(), SystemctlError> {
        let output = self.output(arguments, limit).await?;
        match output.exit_code {
            Some(0) => Ok(()),
            _ => {
                let what = arguments.first().unwrap_or(&"");
                Err(SystemctlError::Complaint(complaint(what, &output)))
            }
        }
    }

    async fn output(&self, arguments: &[&str], limit: Duration) -> Result<Output, SourceError> {
        let program = std::iter::once(self.0.clone().into());
        let argv = program.chain(arguments.iter().map(OsString::from));
        let command = Command::new(Program::Argv(argv.collect()), limit);
        process::run(command).await
    }
}

fn complaint(what: &str, output: &Output) -> String {
    let said = match output.stderr.is_empty() {
        true => &output.stdout,
        false => &output.stderr,
    };
    let said = printable(&String::from_utf8_lossy(said));
    let end = match (output.exit_code, output.signal) {
        (Some(code), _) => format!("exit status {code}"),
        (None, signal) => format!("signal {}", signal.unwrap_or_default()),
    };
    match said.as_str() {
        "" => format!("systemctl {what}: {end}"),
        said => format!("systemctl {what}: {end}: {said}"),
    }
}
