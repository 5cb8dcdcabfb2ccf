//! Restarts the daemon and waits until it answers.

use std::{
    ffi::OsString,
    fmt,
    path::Path,
    time::{Duration, Instant},
};

use super::health::{DaemonSample, Limits, StartVerdict, Watch};
use crate::{
    cli::{
        client::{Client, ask::AskError},
        service::{
            UNIT,
            systemctl::{Systemctl, SystemctlError, UnitState},
        },
        status::ask,
        terminal::printable,
    },
    node::{
        error::SourceError,
        process::{self, Command, Env, Program},
    },
    service::presence::{self, DaemonPresence},
};

/// The longest time of commands that answer at once.
const SHORT: Duration = Duration::from_secs(60);
/// The longest wait for a restart, which waits for init plugins: the unit's limit and some.
const RESTART: Duration = Duration::from_secs(330);
/// The longest wait for the answer of `/healthz`.
const ANSWER: Duration = Duration::from_secs(5);
/// The pause between two looks at the daemon.
const PAUSE: Duration = Duration::from_millis(500);

/// The way in which the daemon is restarted.
#[derive(Debug, Clone)]
pub enum Restart {
    /// systemd runs it.
    Systemd(Systemctl),
    /// This command asks what runs it.
    Command(String),
    /// No daemon runs.
    NothingRuns,
}

impl Restart {
    /// Finds what runs the daemon.
    ///
    /// # Errors
    /// A daemon runs, and nothing is known that could restart it; or systemd runs one that is not found by its data folder;
    /// or systemd does not answer in time.
    pub async fn find(command: Option<&str>, data_dir: &Path) -> Result<Self, String> {
        if let Some(command) = command {
            return Ok(Self::Command(command.to_owned()));
        }
        let running = presence::find(data_dir);
        if let Some(systemctl) = Systemctl::find().await {
            let state = systemctl.state().await;
            if state == Ok(UnitState::Active) && running.is_none() {
                return Err(format!(
                    "{UNIT} is active, and no daemon is found in {}: name its data folder with --data-dir, or try again \
                     when it has started",
                    data_dir.display()
                ));
            }
            match is_run_by_systemd(state) {
                Ok(true) => return Ok(Self::Systemd(systemctl)),
                Ok(false) => {}
                Err(error) => {
                    return Err(format!(
                        "systemd does not say whether it runs the daemon ({error}): try again, or name the command that has \
                         the daemon restarted with --restart"
                    ));
                }
            }
        }
        match running {
            None => Ok(Self::NothingRuns),
            Some(running) => Err(format!(
                "the daemon (process {}) is not run by systemd: name the command that has it restarted with --restart, or stop \
                 it first",
                running.pid
            )),
        }
    }

    /// Has the daemon restarted.
    ///
    /// # Errors
    /// Why it was not, in the words of the program that was asked.
    pub async fn restart(&self) -> Result<(), String> {
        match self {
            Self::Systemd(systemctl) => {
                // A unit that failed too often is not started again without it. One that did not fail needs none.
                let _ = systemctl.run(&["reset-failed", UNIT], SHORT).await;
                let restarted = systemctl.run(&["restart", UNIT], RESTART).await;
                restarted.map_err(|error| error.to_string())
            }
            Self::Command(command) => run(command).await,
            Self::NothingRuns => Ok(()),
        }
    }

    /// Describes the restart, once the daemon answers.
    pub fn outcome(&self) -> String {
        match self {
            Self::Systemd(_) => format!("{UNIT} was restarted and answers"),
            Self::Command(_) => "the daemon was restarted and answers".to_owned(),
            Self::NothingRuns => "no daemon runs; nothing was started".to_owned(),
        }
    }
}

impl fmt::Display for Restart {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Systemd(_) => write!(to, "restart {UNIT}"),
            Self::Command(command) => write!(to, "run `{}`", printable(command)),
            Self::NothingRuns => to.write_str("start nothing, since no daemon runs"),
        }
    }
}

/// Returns whether systemd runs the daemon, from what it says of the unit. A systemd that does not answer in time may run
/// it: were that a no, the program would be replaced and the daemon not restarted.
fn is_run_by_systemd(state: Result<UnitState, SystemctlError>) -> Result<bool, SourceError> {
    match state {
        Ok(UnitState::Active | UnitState::Failed) => Ok(true),
        Err(SystemctlError::Run(error @ SourceError::TimedOut { .. })) => Err(error),
        // The program may be there without a systemd, as in a container.
        Ok(UnitState::Inactive) | Err(_) => Ok(false),
    }
}

async fn run(command: &str) -> Result<(), String> {
    let argv = ["/bin/sh", "-c", command].map(OsString::from);
    // It is the operator's own command.
    let by_shell = Command {
        env: Env::WithoutSecrets,
        ..Command::new(Program::Argv(argv.into()), RESTART)
    };
    let output = process::run(by_shell)
        .await
        .map_err(|error| error.to_string())?;
    match output.exit_code {
        Some(0) => Ok(()),
        code => Err(format!(
            "`{}` ended with {}: {}",
            printable(command),
            code.map_or("a signal".to_owned(), |code| format!("status {code}")),
            printable(&String::from_utf8_lossy(&output.stderr))
        )),
    }
}

/// Waits until a daemon of this version runs on the data folder and goes on answering.
///
/// # Errors
/// It does not, for this reason.
pub async fn wait_until_healthy(
    data_dir: &Path,
    version: &str,
    limits: Limits,
) -> Result<(), String> {
    let begun = Instant::now();
    let mut watch = Watch::new(version, limits);
    loop {
        let seen = look(data_dir).await;
        match watch.judge(begun.elapsed(), &seen) {
            StartVerdict::Healthy => return Ok(()),
            StartVerdict::Failed(why) => return Err(why),
            StartVerdict::Undecided => tokio::time::sleep(PAUSE).await,
        }
    }
}

async fn look(data_dir: &Path) -> DaemonSample {
    let Some(running) = presence::find(data_dir) else {
        return DaemonSample::Nobody;
    };
    let answer = healthz(&running).await;
    DaemonSample::Daemon {
        pid: running.pid,
        version: running.version,
        answer: answer.map_err(|error| error.to_string()),
    }
}

async fn healthz(running: &DaemonPresence) -> Result<(), AskError> {
    let client = Client::of_running(running)?;
    ask::healthz(&client.with_limit(ANSWER)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_systemd_that_does_not_answer_is_no_systemd_that_runs_nothing() {
        let silent = SourceError::TimedOut {
            what: "systemctl".to_owned(),
            after: Duration::from_secs(15),
            last_good: None,
        };
        let complaint = SystemctlError::Complaint("not booted with systemd".to_owned());
        let missing = SourceError::NotFound("systemctl".to_owned());
        for (state, expected) in [
            (Ok(UnitState::Active), Ok(true)),
            (Ok(UnitState::Failed), Ok(true)),
            (Ok(UnitState::Inactive), Ok(false)),
            (Err(complaint), Ok(false)),
            (Err(missing.into()), Ok(false)),
            (Err(silent.clone().into()), Err(silent)),
        ] {
            assert_eq!(is_run_by_systemd(state), expected);
        }
    }
}
