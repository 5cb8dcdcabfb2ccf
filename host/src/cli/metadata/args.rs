//! The flags of `gpud metadata`.

use std::path::PathBuf;

use clap::Args;

use super::MetadataOptions;
use crate::cli::{
    args::{CommonArgs, path},
    command::{Arguments, Plan},
    data_dir::data_dir,
    exit::Exit,
    options::is_json,
};

#[derive(Debug, Args)]
pub struct MetadataArgs {
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
    /// Also list the reboots of this machine
    #[arg(long)]
    pub reboot_history: bool,
    /// Set the value of this name; needs --set-value
    #[arg(
        long,
        value_name = "NAME",
        default_value = "",
        hide_default_value = true
    )]
    pub set_key: String,
    /// The value
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    pub set_value: String,
}

impl Arguments for MetadataArgs {
    fn plan(self, _: &mut Vec<String>) -> Result<Plan, Exit> {
        let json = self.json || is_json(&self.output_format).map_err(Exit::failure)?;
        let data_dir = data_dir(self.data_dir)
            .map_err(|error| Exit::failure(error).in_json(json, "failed_to_get_state_file"))?;
        // One without the other changes nothing, as in GPUd.
        let set = !self.set_key.is_empty() && !self.set_value.is_empty();
        let options = MetadataOptions {
            data_dir,
            json,
            reboot_history: self.reboot_history,
            set: set.then_some((self.set_key, self.set_value)),
        };
        Ok(Plan::new(self.common, options).with_json_errors(json))
    }
}
