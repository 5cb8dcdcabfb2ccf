//! The flags of `gpud completion`.

use clap::Args;

use super::CompletionOptions;
use crate::cli::{
    args::CommonArgs,
    command::{Arguments, Plan},
    exit::Exit,
    shells,
};

#[derive(Debug, Args)]
pub struct CompletionArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// bash, zsh, fish, elvish or powershell
    #[arg(value_name = "SHELL")]
    pub shells: Vec<String>,
}

impl Arguments for CompletionArgs {
    fn plan(self, _: &mut Vec<String>) -> Result<Plan, Exit> {
        let shell = shells::shell(&self.shells).map_err(Exit::failure)?;
        Ok(Plan::new(self.common, CompletionOptions { shell }))
    }
}
