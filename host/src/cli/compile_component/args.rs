//! The flags of `gpud compile-component`.

use std::path::PathBuf;

use clap::Args;

use super::CompileComponentOptions;
use crate::cli::{
    args::CommonArgs,
    command::{Arguments, Plan},
    exit::Exit,
};

#[derive(Debug, Args)]
pub struct CompileComponentArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// The component
    pub input: PathBuf,
    /// Where the compiled code goes
    pub output: PathBuf,
}

impl Arguments for CompileComponentArgs {
    fn plan(self, _: &mut Vec<String>) -> Result<Plan, Exit> {
        let options = CompileComponentOptions {
            input: self.input,
            output: self.output,
        };
        Ok(Plan::new(self.common, options))
    }
}
