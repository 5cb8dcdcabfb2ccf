//! The flags of `gpud compact`.

use std::path::PathBuf;

use clap::Args;

use super::CompactOptions;
use crate::cli::{
    args::{CommonArgs, path},
    command::{Arguments, Plan},
    data_dir::data_dir,
    exit::Exit,
};

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

impl Arguments for CompactArgs {
    fn plan(self, _: &mut Vec<String>) -> Result<Plan, Exit> {
        let options = CompactOptions {
            data_dir: data_dir(self.data_dir).map_err(Exit::failure)?,
            json: self.json,
        };
        Ok(Plan::new(self.common, options))
    }
}
