//! What restarts the daemon, and the wait until it answers.

use std::{
    ffi::OsString,
    fmt,
    path::Path,
    time::{Duration, Instant},
};

use http::Method;

use super::health::{Limits, Sighting, Verdict, Watch};
use crate::{
    cli::{
        client::{Client, reason_of},
        service::{
            UNIT,
            systemctl::{Systemctl, UnitState},
        },
        terminal::printable,
    },
    node::process::{self, Command, Program},
    service::presence,
};

/// For commands that answer at once.
const SHORT: Duration = Duration::from_secs(60);
/// For a restart, which waits for init plugins: the unit's limit and some.
const RESTART: Duration = Duration::from_secs(330);
/// For the answer of `/healthz`.
const ANSWER: Duration = Duration::from_secs(5);
/// Between two looks at the daemon.
const PAUSE: Duration = Duration::from_millis(500);

/// What restarts the daemon.
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
    /// A daemon runs, and nothing is known that could restart it; or systemd runs one that is not found by its data folder.
    pub async fn find(command: Option<&str>, data_dir: &Path) -> Result<Self, String> {
        if let Some(command) = command {
            return Ok(Self::Command(command.to_owned()));
        }
        let running = presence::find(data_dir);
        if let Some(systemctl) = Systemctl::find().await {
            // It may be there without a systemd, as in a container.
            match systemctl.state().await {
                Ok(UnitState::Active) if running.is_none() => {
                    return Err(format!(
                        "{UNIT} is active, and no daemon is found in {}: name its data folder with --data-dir, or try again \
                         when it has started",
                        data_dir.display()
                    ));
                }
                Ok(UnitState::Active | UnitState::Failed) => return Ok(Self::Systemd(systemctl)),
                Ok(UnitState::Inactive) | Err(_) => {}
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
                systemctl.run(&["restart", UNIT], RESTART).await
            }
            Self::Command(command) => run(command).await,
            Self::NothingRuns => Ok(()),
        }
    }

    /// What it has done, when the daemon has come up.
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

async fn run(command: &str) -> Result<(), String> {
    let argv = ["/bin/sh", "-c", command].map(OsString::from);
    let output = process::run(Command::new(Program::Argv(argv.into()), RESTART))
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
            Verdict::Healthy => return Ok(()),
            Verdict::Failed(why) => return Err(why),
            Verdict::Undecided => tokio::time::sleep(PAUSE).await,
        }
    }
}

async fn look(data_dir: &Path) -> Sighting {
    let Some(running) = presence::find(data_dir) else {
        return Sighting::Nobody;
    };
    let answer = async {
        let client = Client::of_running(&running).map_err(|error| error.to_string())?;
        let client = client.with_limit(ANSWER);
        let answer = client.send(Method::GET, "/healthz").await;
        let answer = answer.map_err(|error| error.to_string())?;
        match answer.status.is_success() {
            true => Ok(()),
            false => Err(reason_of(&answer)),
        }
    }
    .await;
    Sighting::Daemon {
        pid: running.pid,
        version: running.version,
        answer,
    }
}
