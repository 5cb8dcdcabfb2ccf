//! The flags of `gpud machine-info`.

use std::path::PathBuf;

use clap::Args;

use super::MachineInfoOptions;
use crate::cli::{
    args::{CommonArgs, path},
    command::{Arguments, Plan},
    data_dir::data_dir,
    exit::Exit,
    options::is_json,
};

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

impl Arguments for MachineInfoArgs {
    fn plan(self, _: &mut Vec<String>) -> Result<Plan, Exit> {
        let json = self.json || is_json(&self.output_format).map_err(Exit::failure)?;
        let data_dir = data_dir(self.data_dir)
            .map_err(|error| Exit::failure(error).in_json(json, "failed_to_get_state_file"))?;
        let options = MachineInfoOptions { data_dir, json };
        Ok(Plan::new(self.common, options).with_json_errors(json))
    }
}
