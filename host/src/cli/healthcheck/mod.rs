//! `gpud healthcheck`: one line and an exit status about this node, for schedulers and monitoring systems.
//!
//! The running daemon is asked for its latest states; nothing is checked again, so that the answer comes at once.

mod args;
mod error;
mod output;
mod slurm;
mod verdict;

#[cfg(test)]
mod testing;

use std::{path::PathBuf, time::Duration};

use self::{args::HealthcheckArgs, error::HealthcheckError, slurm::SlurmOptions, verdict::Verdict};
use super::{
    client::{Client, ClientError, token::ClientToken},
    command::{Action, Command, CommandContext},
    components::ComponentSelection,
    exit::Exit,
    options::FailOn,
    status::ask::Daemon,
};
use crate::{model::RepairAction, service::presence};

/// The entry of the table of commands.
pub(super) const COMMAND: Command = Command::new::<HealthcheckArgs>(
    "healthcheck",
    "Answer one line and an exit status, for Slurm, node-problem-detector, Nagios",
)
.with_misuse_code(MISUSE);

/// The status for a command line that makes no sense: `unknown` to Nagios and to node-problem-detector.
const MISUSE: u8 = 3;

/// The form of the answer, and the daemon to ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthcheckOptions {
    /// The caller, which decides the form.
    pub form: Form,
    /// Components that count.
    pub components: ComponentSelection,
    /// Count only states that suggest one of these; empty is all states.
    pub actions: Vec<RepairAction>,
    /// Longest wait for the daemon.
    pub timeout: Duration,
    /// Folder of the daemon; `None` is the usual ones.
    pub data_dir: Option<PathBuf>,
    /// Base URL; empty is the daemon of this machine.
    pub server: String,
    /// Where the token is, if not in the data folder.
    pub token_file: Option<PathBuf>,
}

/// The callers, each with a form of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    /// A person, Nagios, Icinga: 0 ok, 1 warning, 2 critical, 3 unknown.
    Plain,
    /// node-problem-detector: 0 ok, 1 problem, 2 unknown.
    Npd {
        /// The health from which on there is a problem.
        fail_on: FailOn,
        /// Longest line, bytes.
        max_output: usize,
    },
    /// Slurm: the node is drained or resumed. 0, or 1 for a node that should get no jobs.
    Slurm(SlurmOptions),
}

impl Action for HealthcheckOptions {
    async fn run(self, _: CommandContext) -> Result<Exit, Exit> {
        Ok(healthcheck(&self).await)
    }
}

/// Asks the daemon, and answers.
pub async fn healthcheck(options: &HealthcheckOptions) -> Exit {
    let judged = judge(options).await;
    match &options.form {
        Form::Plain => output::plain(&judged),
        Form::Npd {
            fail_on,
            max_output,
        } => output::npd(&judged, *fail_on, *max_output),
        Form::Slurm(slurm) => slurm::answer(slurm, &judged).await,
    }
}

async fn judge(options: &HealthcheckOptions) -> Result<Verdict, HealthcheckError> {
    let client = client(options)?;
    let states = Daemon::with_limit(client, options.timeout)
        .all_states()
        .await?;
    Verdict::of(&states, &options.components, &options.actions)
}

/// Returns a client for the daemon of the folder that was named, else for the one that other commands find.
fn client(options: &HealthcheckOptions) -> Result<Client, HealthcheckError> {
    let token_file = options.token_file.as_deref();
    match &options.data_dir {
        Some(folder) if options.server.trim().is_empty() => {
            let Some(running) = presence::find(folder) else {
                return Err(HealthcheckError::NoDaemon(folder.clone()));
            };
            let token = ClientToken::find(token_file).map_err(ClientError::from)?;
            Ok(Client::of_running(&running)?.with_token(token))
        }
        _ => Ok(Client::of_daemon(&options.server, token_file)?),
    }
}
