//! The flags of `gpud man`.

use std::path::PathBuf;

use clap::Args;

use super::ManOptions;
use crate::cli::{
    args::{CommonArgs, path},
    command::{Arguments, Plan},
    exit::Exit,
};

#[derive(Debug, Args)]
pub struct ManArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// Write the pages of gpud and of all commands into this folder
    #[arg(long, value_name = "FOLDER", value_parser = path)]
    pub dir: Option<PathBuf>,
    /// A command, such as `scan`; gpud itself without one
    #[arg(value_name = "COMMAND")]
    pub topic: Vec<String>,
}

impl Arguments for ManArgs {
    fn plan(self, _: &mut Vec<String>) -> Result<Plan, Exit> {
        let options = ManOptions {
            topic: self.topic,
            dir: self.dir,
        };
        Ok(Plan::new(self.common, options))
    }
}
