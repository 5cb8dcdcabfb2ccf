//! The flags of `gpud compile-builtins`.

use std::path::PathBuf;

use clap::Args;

use super::CompileBuiltinsOptions;
use crate::cli::{
    args::{CommonArgs, path},
    command::{Arguments, Plan},
    exit::Exit,
};

#[derive(Debug, Args)]
pub struct CompileBuiltinsArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// Where the archive goes
    #[arg(long, value_name = "FILE", value_parser = path)]
    pub output: PathBuf,
    /// For machines of this target; this machine's without one
    #[arg(long, value_name = "TRIPLE")]
    pub target: Option<String>,
}

impl Arguments for CompileBuiltinsArgs {
    fn plan(self, _: &mut Vec<String>) -> Result<Plan, Exit> {
        let options = CompileBuiltinsOptions {
            output: self.output,
            target: self.target,
        };
        Ok(Plan::new(self.common, options))
    }
}
