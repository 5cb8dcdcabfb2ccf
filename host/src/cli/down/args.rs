//! The flags of `gpud down`.

use std::path::PathBuf;

use clap::Args;

use super::DownOptions;
use crate::cli::{
    args::{CommonArgs, path},
    command::{Arguments, Plan},
    data_dir::data_dir,
    exit::Exit,
};

#[derive(Debug, Args)]
pub struct DownArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// Folder of the state file [default: /var/lib/gpud]
    #[arg(long, value_name = "FOLDER", value_parser = path)]
    pub data_dir: Option<PathBuf>,
    /// Also forget what a hosted platform gave (a table that only GPUd fills); events and metrics stay
    #[arg(long)]
    pub reset_state: bool,
}

impl Arguments for DownArgs {
    fn plan(self, _: &mut Vec<String>) -> Result<Plan, Exit> {
        let options = DownOptions {
            data_dir: data_dir(self.data_dir).map_err(Exit::failure)?,
            reset_state: self.reset_state,
        };
        Ok(Plan::new(self.common, options))
    }
}
