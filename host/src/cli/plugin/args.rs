//! The flags of `gpud plugin`.

use std::path::PathBuf;

use clap::{ArgAction, Args, Subcommand};

use super::{DryRun, PluginAction, Validation, grant_flags};
use crate::cli::{
    args::{CommonArgs, path},
    command::{Arguments, Plan},
    exit::Exit,
};

/// Commands for those who write plugins. With a YAML file instead of one of these it is `gpud custom-plugins`, as in GPUd.
#[derive(Debug, Args)]
#[command(subcommand_required = true)]
pub struct PluginArgs {
    #[command(subcommand)]
    pub command: PluginCommand,
}

#[derive(Debug, Subcommand)]
pub enum PluginCommand {
    /// Say what a component is and what it asks for
    Inspect(InspectArgs),
    /// Check once with a component, here and now, and say what it cost
    Run(RunPluginArgs),
    /// Try a component on made-up machines
    Test(TestArgs),
    /// Say whether a component keeps to the contract
    Validate(ValidateArgs),
    /// Say what a new version asks for beyond the old one
    Diff(DiffArgs),
    /// Say how a version that runs beside a plugin's component compares with it
    Shadow(ShadowArgs),
    /// Make the folder of a new plugin
    New(NewArgs),
    /// Build the plugin of a folder
    Build(BuildArgs),
}

#[derive(Debug, Args)]
pub struct InspectArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    /// The component
    #[arg(value_name = "FILE", value_parser = path)]
    pub file: PathBuf,
}

#[derive(Debug, Args)]
pub struct RunPluginArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// What it may reach, as in a spec, or shorter: kmsg, sysfs=/proc/stat,/sys/class/hwmon/**, exec=bash; may be repeated
    #[arg(long, value_name = "GRANT", action = ArgAction::Append)]
    pub grant: Vec<String>,
    /// Its configuration, a mapping in YAML or JSON, or @FILE
    #[arg(long, value_name = "CONFIG")]
    pub config: Option<String>,
    /// One of its components [default: all]
    #[arg(long, value_name = "NAME")]
    pub component: Option<String>,
    /// A folder that stands for / instead of this machine
    #[arg(long, value_name = "FOLDER", value_parser = path)]
    pub node: Option<PathBuf>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    /// The component
    #[arg(value_name = "FILE", value_parser = path)]
    pub file: PathBuf,
}

#[derive(Debug, Args)]
pub struct TestArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// The component, instead of the one that the cases name
    #[arg(long, value_name = "FILE", value_parser = path)]
    pub component: Option<PathBuf>,
    /// Try the component as it is, without building it first
    #[arg(long)]
    pub no_build: bool,
    /// Let a build that root runs have this variable; may be repeated
    #[arg(long, value_name = "NAME")]
    pub env: Vec<String>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    /// A file of cases, or the folder of a plugin, whose own tests run first [default: this folder]
    #[arg(value_name = "PATH", value_parser = path)]
    pub path: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct ValidateArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// Its configuration, a mapping in YAML or JSON, or @FILE
    #[arg(long, value_name = "CONFIG")]
    pub config: Option<String>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    /// The component
    #[arg(value_name = "FILE", value_parser = path)]
    pub file: PathBuf,
}

#[derive(Debug, Args)]
pub struct DiffArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// End with status 1 when the new one asks for more
    #[arg(long)]
    pub exit_code: bool,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    /// The component that runs
    #[arg(value_name = "OLD", value_parser = path)]
    pub old: PathBuf,
    /// The component that is to take its place
    #[arg(value_name = "NEW", value_parser = path)]
    pub new: PathBuf,
}

#[derive(Debug, Args)]
pub struct ShadowArgs {
    #[command(flatten)]
    pub common: CommonArgs,
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
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    /// The component
    #[arg(value_name = "COMPONENT")]
    pub component: String,
}

#[derive(Debug, Args)]
pub struct NewArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// The language to write it in; without one, they are listed
    #[arg(
        long,
        value_name = "LANGUAGE",
        default_value = "",
        hide_default_value = true
    )]
    pub lang: String,
    /// Where it goes [default: a folder of its name]
    #[arg(long, value_name = "FOLDER", value_parser = path)]
    pub folder: Option<PathBuf>,
    /// Folder of release files whose SDK it gets [default: that of this gpud]
    #[arg(long, value_name = "FOLDER", value_parser = path)]
    pub sdk: Option<PathBuf>,
    /// Its name, such as memory-check
    #[arg(value_name = "NAME")]
    pub name: String,
}

#[derive(Debug, Args)]
pub struct BuildArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// Install tools that the build needs and that are missing
    #[arg(long)]
    pub install_tools: bool,
    /// Let a build that root runs have this variable; may be repeated
    #[arg(long, value_name = "NAME")]
    pub env: Vec<String>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    /// The folder of the plugin [default: this folder]
    #[arg(value_name = "FOLDER", value_parser = path)]
    pub folder: Option<PathBuf>,
}

impl PluginArgs {
    fn action(self) -> Result<(CommonArgs, PluginAction), String> {
        let here = |folder: Option<PathBuf>| folder.unwrap_or_else(|| PathBuf::from("."));
        Ok(match self.command {
            PluginCommand::Inspect(args) => {
                let (file, json) = (args.file, args.json);
                (args.common, PluginAction::Inspect { file, json })
            }
            PluginCommand::Run(args) => {
                let run = DryRun {
                    file: args.file,
                    grants: grant_flags::grants(&args.grant)?,
                    config: grant_flags::config(args.config.as_deref())?,
                    component: args.component,
                    node: args.node,
                    json: args.json,
                };
                (args.common, PluginAction::Run(run))
            }
            PluginCommand::Test(args) => {
                let action = PluginAction::Test {
                    path: here(args.path),
                    component: args.component,
                    build: !args.no_build,
                    variables: args.env,
                    json: args.json,
                };
                (args.common, action)
            }
            PluginCommand::Validate(args) => {
                let validation = Validation {
                    file: args.file,
                    config: grant_flags::config(args.config.as_deref())?,
                    json: args.json,
                };
                (args.common, PluginAction::Validate(validation))
            }
            PluginCommand::Diff(args) => {
                let action = PluginAction::Diff {
                    old: args.old,
                    new: args.new,
                    json: args.json,
                    exit_code: args.exit_code,
                };
                (args.common, action)
            }
            PluginCommand::Shadow(args) => {
                let action = PluginAction::Shadow {
                    server: args.server,
                    token_file: args.token_file,
                    component: args.component,
                    json: args.json,
                };
                (args.common, action)
            }
            PluginCommand::New(args) => {
                let action = PluginAction::New {
                    language: args.lang,
                    name: args.name,
                    folder: args.folder,
                    sdk: args.sdk,
                };
                (args.common, action)
            }
            PluginCommand::Build(args) => {
                let action = PluginAction::Build {
                    folder: here(args.folder),
                    install_tools: args.install_tools,
                    variables: args.env,
                    json: args.json,
                };
                (args.common, action)
            }
        })
    }
}

impl Arguments for PluginArgs {
    fn plan(self, _: &mut Vec<String>) -> Result<Plan, Exit> {
        let (common, action) = self.action().map_err(Exit::failure)?;
        Ok(Plan::new(common, action))
    }
}
