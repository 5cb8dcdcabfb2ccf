//! The commands and their flags, as clap reads them.

use std::{convert::Infallible, path::PathBuf};

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

use super::{
    check_args::{CheckArgs, RunCheckArgs, SiteArgs},
    checks::XidCatalog,
    client_args::{ListPluginsArgs, RunPluginGroupArgs, SetHealthyArgs},
    exports_args::ExportsArgs,
    healthcheck::args::HealthcheckArgs,
    history_args::{HistoryArgs, WatchArgs},
    hosted_args::{NotifyArgs, ReleaseArgs},
    options::FailOn,
    pack_args::PackArgs,
    plugin_args::PluginArgs,
    run_args::RunArgs,
    service_args::{DownArgs, MetadataArgs, StatusArgs, UpArgs},
    terminal::ColorChoice,
    update_args::UpdateArgs,
};

/// Watches one GPU machine: is it healthy, what went wrong, what should be done about it.
#[derive(Debug, Parser)]
#[command(
    name = "gpud",
    disable_help_subcommand = true,
    after_help = "`gpud help <command>` shows the flags of a command; `gpud --version` the version."
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Install gpud as a service of systemd, start it, and start it at every boot
    Up(UpArgs),
    /// Stop the service, and do not start it at boot any more
    Down(DownArgs),
    /// Run the daemon in the foreground
    Run(Box<RunCommand>),
    /// Say whether the daemon runs, where, and what it finds
    #[command(visible_alias = "st")]
    Status(StatusArgs),
    /// Answer one line and an exit status, for Slurm, node-problem-detector, Nagios
    Healthcheck(Box<HealthcheckArgs>),
    /// Watch what the daemon finds, live, full screen
    Watch(WatchArgs),
    /// Show the events and changes of health of this machine
    History(HistoryArgs),
    /// Check this machine once and print what was found
    #[command(visible_aliases = ["check", "s"])]
    Scan(Box<ScanArgs>),
    /// Check a file of plugins, and run them once
    #[command(visible_aliases = ["cs", "plugins"])]
    CustomPlugins(CustomPluginsArgs),
    /// Write, try and compare WebAssembly plugins; with a YAML file the same as custom-plugins
    Plugin(PluginArgs),
    /// Make, verify and install packs of plugins
    Pack(PackArgs),
    /// List, check and try exports: where verdicts and events are sent to
    Exports(ExportsArgs),
    /// List the plugins of the running daemon
    #[command(visible_alias = "lp")]
    ListPlugins(ListPluginsArgs),
    /// Make the running daemon check all components with a tag
    RunPluginGroup(RunPluginGroupArgs),
    /// Print what this machine is made of
    MachineInfo(MachineInfoArgs),
    /// Say what a kernel line, an error code or a saved kernel log means
    Explain(ExplainArgs),
    /// Write a message into the kernel log, to see what the checks make of it
    InjectFault(InjectFaultArgs),
    /// Tell the running daemon that components were repaired
    #[command(visible_alias = "set-health")]
    SetHealthy(SetHealthyArgs),
    /// Shrink the state file while no daemon uses it
    Compact(CompactArgs),
    /// Show what the state file notes about this installation, and the machine's reboots
    Metadata(MetadataArgs),
    /// Print a script that completes command lines, for bash, zsh, fish, elvish or powershell
    Completion(CompletionArgs),
    /// Print the manual page of gpud or of a command
    Man(ManArgs),
    /// Would tell a control plane that this machine starts or stops; this build has none
    #[command(visible_alias = "nt")]
    Notify(NotifyArgs),
    /// Replace gpud by a release that you name, and go back if it does not come up
    Update(Box<UpdateArgs>),
    /// Would sign releases; this build has no such tools
    Release(ReleaseArgs),
    /// Do what needs root, for a daemon that runs as another user; `gpud run --user` starts this
    #[command(hide = true)]
    RootHelper(RootHelperArgs),
    /// Compile a Wasm component; gpud runs this for itself
    #[command(hide = true)]
    CompileComponent(CompileComponentArgs),
    /// Compile the built-in components; the build of gpud runs this
    #[command(hide = true)]
    CompileBuiltins(CompileBuiltinsArgs),
}

/// Flags that every command has.
#[derive(Debug, Args)]
pub struct CommonArgs {
    /// debug, info, warn, error, dpanic, panic or fatal [default: info for run, else warn]
    #[arg(
        long,
        short = 'l',
        value_name = "LEVEL",
        default_value = "",
        hide_default_value = true
    )]
    pub log_level: String,
    /// When to colour: auto, always or never
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true
    )]
    pub color: ColorChoice,
}

#[derive(Debug, Args)]
pub struct RunCommand {
    #[command(flatten)]
    pub common: CommonArgs,
    #[command(flatten)]
    pub run: RunArgs,
    #[command(flatten)]
    pub run_checks: RunCheckArgs,
    #[command(flatten)]
    pub checks: CheckArgs,
}

#[derive(Debug, Args)]
pub struct ScanArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// Exit with status 1 when a component is this bad, or worse: degraded or unhealthy
    #[arg(long, value_name = "HEALTH", hide_possible_values = true)]
    pub fail_on: Option<FailOn>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    /// Show every check with its reason and tables
    #[arg(long)]
    pub verbose: bool,
    /// Print in GPUd's layout: every component as it is checked, with its tables
    #[arg(long)]
    pub classic: bool,
    /// Judge this saved kernel log instead of the machine: of dmesg, journalctl -k, /dev/kmsg or syslog
    #[arg(long, value_name = "FILE", value_parser = path)]
    pub kmsg_file: Option<PathBuf>,
    /// GPU product of the saved log, such as "NVIDIA H100 80GB HBM3"
    #[arg(long, value_name = "NAME", requires = "kmsg_file")]
    pub product: Option<String>,
    /// Components to check, comma-separated; `-name` leaves one out
    #[arg(
        long,
        value_name = "LIST",
        default_value = "",
        hide_default_value = true
    )]
    pub components: String,
    #[command(flatten)]
    pub checks: CheckArgs,
}

/// Form of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// Tables.
    Plain,
    /// One line of JSON, errors included.
    Json,
}

#[derive(Debug, Args)]
pub struct ExplainArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// A saved kernel log: of dmesg, journalctl -k, /dev/kmsg or syslog
    #[arg(long, value_name = "FILE", value_parser = path)]
    pub file: Option<PathBuf>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    /// Whose view of Xids and SXids judges: gpud or nvidia
    #[arg(
        long,
        value_name = "VIEW",
        default_value = "gpud",
        hide_possible_values = true
    )]
    pub xid_catalog: XidCatalog,
    /// GPU product of the log, such as "NVIDIA H100 80GB HBM3"
    #[arg(long, value_name = "NAME")]
    pub product: Option<String>,
    #[command(flatten)]
    pub site: SiteArgs,
    /// `xid 79`, `sxid 12028`, or a pasted kernel line
    #[arg(value_name = "WORDS")]
    pub words: Vec<String>,
}

#[derive(Debug, Args)]
pub struct MachineInfoArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// Folder of the state file
    #[arg(long, value_name = "FOLDER", value_parser = path)]
    pub data_dir: Option<PathBuf>,
    /// plain or json
    #[arg(long, value_name = "FORMAT", default_value = "plain")]
    pub output_format: String,
    /// The same as --output-format json
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct InjectFaultArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// Priority, such as KERN_ERR or kern.warn; an unknown word counts as info
    #[arg(long, value_name = "PRIORITY", default_value = "KERN_INFO")]
    pub kernel_log_level: String,
    /// What to write
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    pub kernel_message: String,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct CustomPluginsArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// Run every plugin once, also the manual ones, for at most 2 minutes in all
    #[arg(long, short = 'r')]
    pub run: bool,
    /// End at the first plugin that is not healthy, with status 1
    #[arg(
        long,
        short = 'f',
        value_name = "BOOL",
        action = ArgAction::Set,
        default_value_t = true,
        hide_possible_values = true
    )]
    pub fail_fast: bool,
    /// Fail where there are warnings, too
    #[arg(long)]
    pub strict: bool,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    #[arg(long, hide = true)]
    pub infiniband_class_root_dir: Option<String>,
    #[arg(long, hide = true)]
    pub infiniband_exclude_devices: Option<String>,
    /// YAML file with plugins; a built-in example without one
    #[arg(value_name = "FILE", value_parser = path)]
    pub files: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub struct CompactArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// Folder of the state file
    #[arg(long, value_name = "FOLDER", value_parser = path)]
    pub data_dir: Option<PathBuf>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct CompletionArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// bash, zsh, fish, elvish or powershell
    #[arg(value_name = "SHELL")]
    pub shells: Vec<String>,
}

#[derive(Debug, Args)]
pub struct ManArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// Write the pages of gpud and of all commands into this folder
    #[arg(long, value_name = "FOLDER", value_parser = path)]
    pub dir: Option<PathBuf>,
    /// A command, such as `scan`; gpud itself without one
    #[arg(value_name = "COMMAND")]
    pub topic: Vec<String>,
}

#[derive(Debug, Args)]
pub struct RootHelperArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// The kernel log
    #[arg(long, value_name = "FILE", value_parser = path)]
    pub kernel_log: PathBuf,
    /// YAML file with script plugins
    #[arg(long, value_name = "FILE", value_parser = path)]
    pub plugin_specs_file: Option<PathBuf>,
    /// Plugins of this file that run, comma-separated
    #[arg(long, value_name = "LIST", default_value = "")]
    pub plugins: String,
}

#[derive(Debug, Args)]
pub struct CompileComponentArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// The component
    pub input: PathBuf,
    /// Where the compiled code goes
    pub output: PathBuf,
}

#[derive(Debug, Args)]
pub struct CompileBuiltinsArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// Where the archive goes
    #[arg(long, value_name = "FILE", value_parser = path)]
    pub output: PathBuf,
    /// For machines of this target; this machine's without one
    #[arg(long, value_name = "TRIPLE")]
    pub target: Option<String>,
}

/// A path as it is; clap's own reader refuses the empty one, which here means "none" or "the default".
#[expect(clippy::unnecessary_wraps, reason = "clap wants a result")]
pub fn path(text: &str) -> Result<PathBuf, Infallible> {
    Ok(text.into())
}
