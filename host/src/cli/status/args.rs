//! The flags of `gpud status`.

use std::path::PathBuf;

use clap::Args;

use super::StatusOptions;
use crate::cli::{
    args::{CommonArgs, path},
    command::{Arguments, Plan},
    data_dir::data_dir,
    exit::Exit,
};

#[derive(Debug, Args)]
pub struct StatusArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// Folder of the state file, by which the daemon is found
    #[arg(long, value_name = "FOLDER", value_parser = path)]
    pub data_dir: Option<PathBuf>,
    /// Base URL of the daemon [default: of the one that uses the folder, else https://localhost:15132]
    #[arg(
        long,
        value_name = "URL",
        default_value = "",
        hide_default_value = true
    )]
    pub server: String,
    /// Show the components again every 3 seconds until interrupted
    #[arg(long, short = 'w')]
    pub watch: bool,
    /// Print one JSON document instead of text; with --watch one line each time
    #[arg(long)]
    pub json: bool,
    /// Print in GPUd's layout
    #[arg(long)]
    pub classic: bool,
}

impl Arguments for StatusArgs {
    fn plan(self, _: &mut Vec<String>) -> Result<Plan, Exit> {
        let options = StatusOptions {
            data_dir: data_dir(self.data_dir).map_err(Exit::failure)?,
            server: self.server,
            watch: self.watch,
            json: self.json,
            classic: self.classic,
        };
        Ok(Plan::new(self.common, options))
    }
}
