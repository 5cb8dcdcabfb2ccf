//! The flags of `gpud run-plugin-group`.

use std::path::PathBuf;

use clap::Args;

use super::RunPluginGroupOptions;
use crate::cli::{
    args::{CommonArgs, path},
    command::{Arguments, Plan},
    exit::Exit,
};

#[derive(Debug, Args)]
pub struct RunPluginGroupArgs {
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
    /// The tag
    #[arg(value_name = "TAG")]
    pub tags: Vec<String>,
}

impl Arguments for RunPluginGroupArgs {
    fn plan(self, _: &mut Vec<String>) -> Result<Plan, Exit> {
        let [tag] = <[String; 1]>::try_from(self.tags)
            .map_err(|_| Exit::failure("exactly one argument (tag_name) is required"))?;
        let options = RunPluginGroupOptions {
            server: self.server,
            token_file: self.token_file,
            tag,
            json: self.json,
        };
        Ok(Plan::new(self.common, options))
    }
}
