//! The flags of `gpud list-plugins`.

use std::path::PathBuf;

use clap::Args;

use super::ListPluginsOptions;
use crate::cli::{
    args::{CommonArgs, path},
    command::{Arguments, Plan},
    exit::Exit,
};

#[derive(Debug, Args)]
pub struct ListPluginsArgs {
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
    /// Print the specs as JSON
    #[arg(long)]
    pub json: bool,
}

impl Arguments for ListPluginsArgs {
    fn plan(self, _: &mut Vec<String>) -> Result<Plan, Exit> {
        let options = ListPluginsOptions {
            server: self.server,
            token_file: self.token_file,
            json: self.json,
        };
        Ok(Plan::new(self.common, options))
    }
}
