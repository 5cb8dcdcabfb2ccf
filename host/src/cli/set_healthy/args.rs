//! The flags of `gpud set-healthy`.

use std::path::PathBuf;

use clap::Args;

use super::SetHealthyOptions;
use crate::cli::{
    args::{CommonArgs, path},
    command::{Arguments, Plan},
    components::names,
    exit::Exit,
};

#[derive(Debug, Args)]
pub struct SetHealthyArgs {
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
    /// Components, comma-separated; all without any
    #[arg(value_name = "COMPONENTS")]
    pub components: Vec<String>,
}

impl Arguments for SetHealthyArgs {
    fn plan(self, _: &mut Vec<String>) -> Result<Plan, Exit> {
        let options = SetHealthyOptions {
            server: self.server,
            token_file: self.token_file,
            components: names(&self.components),
            json: self.json,
        };
        Ok(Plan::new(self.common, options))
    }
}
