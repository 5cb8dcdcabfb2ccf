//! The flags of `gpud exports`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::ExportsAction;
use crate::cli::{
    args::{CommonArgs, path},
    command::{Arguments, Plan},
    exit::Exit,
    options::DEFAULT_EXPORTS,
};

/// Exports: verdicts and events for engines outside of this machine.
#[derive(Debug, Args)]
#[command(subcommand_required = true)]
pub struct ExportsArgs {
    #[command(subcommand)]
    pub command: ExportsCommand,
}

#[derive(Debug, Subcommand)]
pub enum ExportsCommand {
    /// List the exports of the file, and how the running daemon's do
    List(ListExportsArgs),
    /// Send one marked sample through an export, and say what happened
    Test(TestExportArgs),
    /// Check a file of exports
    Check(CheckExportsArgs),
}

#[derive(Debug, Args)]
pub struct ListExportsArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// File of exports
    #[arg(long, value_name = "FILE", value_parser = path, default_value = DEFAULT_EXPORTS)]
    pub exports_file: PathBuf,
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
}

#[derive(Debug, Args)]
pub struct TestExportArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// File of exports
    #[arg(long, value_name = "FILE", value_parser = path, default_value = DEFAULT_EXPORTS)]
    pub exports_file: PathBuf,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    /// Name of the export
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
}

#[derive(Debug, Args)]
pub struct CheckExportsArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    /// The file [default: /etc/gpud/exports.yaml]
    #[arg(value_name = "FILE", value_parser = path)]
    pub files: Vec<PathBuf>,
}

impl ExportsArgs {
    fn action(self) -> Result<(CommonArgs, ExportsAction), String> {
        Ok(match self.command {
            ExportsCommand::List(args) => {
                let action = ExportsAction::List {
                    file: args.exports_file,
                    server: args.server,
                    token_file: args.token_file,
                    json: args.json,
                };
                (args.common, action)
            }
            ExportsCommand::Test(args) => {
                let [name] = <[String; 1]>::try_from(args.names)
                    .map_err(|_| "name one export: gpud exports test NAME".to_owned())?;
                let action = ExportsAction::Test {
                    file: args.exports_file,
                    name,
                    json: args.json,
                };
                (args.common, action)
            }
            ExportsCommand::Check(args) => {
                let mut files = args.files.into_iter();
                let file = files.next().unwrap_or_else(|| DEFAULT_EXPORTS.into());
                if files.next().is_some() {
                    return Err("one file is checked at a time".to_owned());
                }
                let json = args.json;
                (args.common, ExportsAction::Check { file, json })
            }
        })
    }
}

impl Arguments for ExportsArgs {
    fn plan(self, _: &mut Vec<String>) -> Result<Plan, Exit> {
        let (common, action) = self.action().map_err(Exit::failure)?;
        Ok(Plan::new(common, action))
    }
}
