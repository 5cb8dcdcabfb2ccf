//! Reads and changes nodes in slurmctld, through Slurm's own program.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use super::node::SlurmNode;
use crate::{
    cli::terminal::printable,
    node::{
        error::SourceError,
        process::{self, Command, Env, Output, Program},
        trusted::Opener,
    },
};

/// The longest time of one call. Slurm ends a HealthCheckProgram after a minute.
const LIMIT: Duration = Duration::from_secs(10);
/// Where Slurm's programs are, besides the system's folders.
const FOLDERS: [&str; 8] = [
    "/usr/bin",
    "/usr/local/bin",
    "/opt/slurm/bin",
    "/opt/slurm/current/bin",
    "/usr/local/slurm/bin",
    "/usr/slurm/bin",
    "/cm/shared/apps/slurm/current/bin",
    "/sw/slurm/bin",
];
/// The variable that names Slurm's configuration, which names libraries that scontrol loads. slurmd starts health checks
/// without it.
const CONFIGURATION: &str = "SLURM_CONF";
/// Longest complaint of scontrol that is repeated, characters.
const COMPLAINT: usize = 200;

/// The program.
#[derive(Debug, Clone)]
pub struct Scontrol(PathBuf);

impl Scontrol {
    /// Takes the one that was named, else the first one in the usual folders. Root runs none that another user can change.
    ///
    /// # Errors
    /// There is none, or it cannot be trusted.
    pub async fn find(named: Option<&Path>) -> Result<Self, String> {
        if let Some(path) = named {
            let found = process::find_program(&path.to_string_lossy()).await;
            return found
                .map(Self)
                .map_err(|error| format!("--scontrol: {error}"));
        }
        for folder in FOLDERS {
            match process::find_program(&format!("{folder}/scontrol")).await {
                Ok(path) => return Ok(Self(path)),
                Err(SourceError::NotFound(_)) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        Err(format!(
            "there is no scontrol in {}; name it with --scontrol",
            FOLDERS.join(", ")
        ))
    }

    /// Asks for a node.
    ///
    /// # Errors
    /// slurmctld does not answer, or knows no such node.
    pub async fn show(&self, node: &str) -> Result<SlurmNode, String> {
        let output = self.run(&["show", "node", node]).await?;
        SlurmNode::parse(&String::from_utf8_lossy(&output.stdout))
    }

    /// Drains a node. Jobs that run on it go on.
    ///
    /// # Errors
    /// slurmctld does not answer, or refuses.
    pub async fn drain(&self, node: &str, reason: &str) -> Result<(), String> {
        let (name, reason) = (format!("NodeName={node}"), format!("Reason={reason}"));
        let arguments = ["update", name.as_str(), "State=DRAIN", reason.as_str()];
        self.run(&arguments).await.map(drop)
    }

    /// Ends a drain. A node that is also down stays down.
    ///
    /// # Errors
    /// slurmctld does not answer, or refuses.
    pub async fn resume(&self, node: &str) -> Result<(), String> {
        let name = format!("NodeName={node}");
        let arguments = ["update", name.as_str(), "State=UNDRAIN"];
        self.run(&arguments).await.map(drop)
    }

    async fn run(&self, arguments: &[&str]) -> Result<Output, String> {
        let program = std::iter::once(self.0.clone().into());
        let argv = program.chain(arguments.iter().map(OsString::from));
        let mut variables = process::fixed_env();
        if let Some(file) = env::var_os(CONFIGURATION) {
            Opener::of_command()
                .open(Path::new(&file))
                .map_err(|error| format!("{CONFIGURATION}: {error}"))?;
            variables.push((CONFIGURATION.into(), file));
        }
        let command = Command {
            env: Env::Replace(variables),
            ..Command::new(Program::Argv(argv.collect()), LIMIT)
        };
        let output = process::run(command).await;
        let output = output.map_err(|error| error.to_string())?;
        match output.exit_code {
            Some(0) => Ok(output),
            _ => Err(complaint(arguments.first().unwrap_or(&""), &output)),
        }
    }
}

fn complaint(what: &str, output: &Output) -> String {
    // `show` complains on standard output.
    let said = match output.stderr.is_empty() {
        true => &output.stdout,
        false => &output.stderr,
    };
    let said = printable(&String::from_utf8_lossy(said));
    let said: String = said.chars().take(COMPLAINT).collect();
    let end = match (output.exit_code, output.signal) {
        (Some(code), _) => format!("exit status {code}"),
        (None, signal) => format!("signal {}", signal.unwrap_or_default()),
    };
    match said.as_str() {
        "" => format!("scontrol {what}: {end}"),
        said => format!("scontrol {what}: {end}: {said}"),
    }
}
