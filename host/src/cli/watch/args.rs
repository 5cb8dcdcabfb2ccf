//! The flags of `gpud watch`.

use std::path::PathBuf;

use clap::Args;

use super::WatchOptions;
use crate::cli::{
    args::{CommonArgs, path},
    command::{Arguments, Plan},
    data_dir::data_dir,
    exit::Exit,
};

#[derive(Debug, Args)]
pub struct WatchArgs {
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
    /// File with the bearer token [default: token in the data folder, for the daemon of this machine]
    #[arg(long, value_name = "FILE", value_parser = path)]
    pub token_file: Option<PathBuf>,
}

impl Arguments for WatchArgs {
    fn plan(self, _: &mut Vec<String>) -> Result<Plan, Exit> {
        let options = WatchOptions {
            data_dir: data_dir(self.data_dir).map_err(Exit::failure)?,
            server: self.server,
            token_file: self.token_file,
        };
        Ok(Plan::new(self.common, options))
    }
}
