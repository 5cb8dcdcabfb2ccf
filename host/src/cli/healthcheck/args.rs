//! The flags of `gpud healthcheck`.

use std::{env, path::PathBuf, time::Duration};

use clap::Args;

use super::{Form, HealthcheckOptions, slurm::SlurmOptions};
use crate::{
    cli::{
        args::{CommonArgs, path},
        command::{Arguments, Plan},
        components::ComponentSelection,
        exit::Exit,
        options::{FailOn, at_least_a_nanosecond},
    },
    model::RepairAction,
    wire::GoDuration,
};

/// Bytes of output that node-problem-detector keeps unless its configuration says otherwise.
const NPD_OUTPUT: usize = 80;
/// The least that holds a component's name.
const LEAST_OUTPUT: usize = 20;
/// The variable in which slurmd names the node.
const NODE_VARIABLE: &str = "SLURMD_NODENAME";

#[derive(Debug, Args)]
pub struct HealthcheckArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// Answer as a custom plugin of node-problem-detector: status 0 ok, 1 problem, 2 unknown
    #[arg(long, conflicts_with = "slurm")]
    pub npd: bool,
    /// Drain or resume this node in Slurm: for HealthCheckProgram, Prolog and Epilog
    #[arg(long)]
    pub slurm: bool,
    /// Health from which --npd reports a problem: degraded or unhealthy [default: unhealthy]
    #[arg(
        long,
        value_name = "HEALTH",
        hide_possible_values = true,
        requires = "npd"
    )]
    pub fail_on: Option<FailOn>,
    /// Longest line of --npd, bytes [default: 80]
    #[arg(long, value_name = "BYTES", requires = "npd")]
    pub max_output: Option<usize>,
    /// Health from which --slurm drains: degraded or unhealthy [default: unhealthy]
    #[arg(
        long,
        value_name = "HEALTH",
        hide_possible_values = true,
        requires = "slurm"
    )]
    pub drain_on: Option<FailOn>,
    /// Say what --slurm would do, and do nothing
    #[arg(long, requires = "slurm")]
    pub dry_run: bool,
    /// Drain also when gpud does not answer
    #[arg(long, requires = "slurm")]
    pub drain_if_unreachable: bool,
    /// Slurm's name of this node [default: of SLURMD_NODENAME, else the host name up to the first dot]
    #[arg(long, value_name = "NAME", requires = "slurm")]
    pub node: Option<String>,
    /// Slurm's scontrol [default: in the usual folders]
    #[arg(long, value_name = "PATH", value_parser = path, requires = "slurm")]
    pub scontrol: Option<PathBuf>,
    /// Components that count, comma-separated; `-name` leaves one out
    #[arg(
        long,
        value_name = "LIST",
        default_value = "",
        hide_default_value = true
    )]
    pub components: String,
    /// Count only states that suggest one of these actions, comma-separated, such as REBOOT_SYSTEM
    #[arg(
        long,
        value_name = "LIST",
        default_value = "",
        hide_default_value = true
    )]
    pub actions: String,
    /// Longest wait for gpud's answer
    #[arg(long, value_name = "DURATION", default_value = "2s")]
    pub timeout: GoDuration,
    /// Folder of the state file of the daemon to ask
    #[arg(long, value_name = "FOLDER", value_parser = path)]
    pub data_dir: Option<PathBuf>,
    /// Base URL of the daemon [default: of the one on this machine, else https://localhost:15132]
    #[arg(
        long,
        value_name = "URL",
        default_value = "",
        hide_default_value = true
    )]
    pub server: String,
    /// File with the bearer token [default: token in the data folder, for the daemon of this machine]
    #[arg(long, value_name = "FILE", value_parser = path)]
    pub token_file: Option<PathBuf>,
}

impl HealthcheckArgs {
    /// Returns the flags that every command has, and validated options. A node named by the environment counts.
    ///
    /// # Errors
    /// A value that cannot be.
    fn options(self, notes: &mut Vec<String>) -> Result<(CommonArgs, HealthcheckOptions), String> {
        let named = self
            .node
            .or_else(|| env::var(NODE_VARIABLE).ok().filter(|name| !name.is_empty()));
        let form = match (self.npd, self.slurm) {
            (true, _) => Form::Npd {
                fail_on: self.fail_on.unwrap_or(FailOn::Unhealthy),
                max_output: match self.max_output.unwrap_or(NPD_OUTPUT) {
                    few if few < LEAST_OUTPUT => {
                        return Err(format!(
                            "invalid value for --max-output: {few} is less than {LEAST_OUTPUT}"
                        ));
                    }
                    bytes => bytes,
                },
            },
            (false, true) => Form::Slurm(SlurmOptions {
                drain_on: self.drain_on.unwrap_or(FailOn::Unhealthy),
                dry_run: self.dry_run,
                drain_if_unreachable: self.drain_if_unreachable,
                node: named,
                scontrol: self.scontrol,
            }),
            (false, false) => Form::Plain,
        };
        let timeout = at_least_a_nanosecond(self.timeout)
            .ok_or_else(|| format!("invalid value for --timeout: {} is no time", self.timeout))?;
        let options = HealthcheckOptions {
            form,
            components: ComponentSelection::parse(&self.components),
            actions: actions(&self.actions, notes),
            timeout: timeout.min(Duration::from_secs(60)),
            data_dir: self.data_dir,
            server: self.server,
            token_file: self.token_file,
        };
        Ok((self.common, options))
    }
}

impl Arguments for HealthcheckArgs {
    fn plan(self, notes: &mut Vec<String>) -> Result<Plan, Exit> {
        let (common, options) = self.options(notes).map_err(Exit::failure)?;
        Ok(Plan::new(common, options))
    }
}

/// Reads `--actions`. Plugins have words of their own, so an unknown one is noted and not refused.
fn actions(list: &str, notes: &mut Vec<String>) -> Vec<RepairAction> {
    let words = list
        .split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty());
    let actions: Vec<RepairAction> = words
        .map(|word| RepairAction::from(word.to_ascii_uppercase().as_str()))
        .collect();
    let own = actions
        .iter()
        .filter(|action| matches!(action, RepairAction::Other(_)));
    notes.extend(own.map(|action| {
        format!(
            "--actions: {} is none of gpud's own actions, only a plugin can suggest it",
            action.as_str()
        )
    }));
    actions
}
