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
    /// A gpud with the same components, which gets the archive too
    #[arg(long, value_name = "GPUD", value_parser = path)]
    pub into: Option<PathBuf>,
    /// For machines of this target; this machine's without one
    #[arg(long, value_name = "TRIPLE")]
    pub target: Option<String>,
}

impl Arguments for CompileBuiltinsArgs {
    fn plan(self, _: &mut Vec<String>) -> Result<Plan, Exit> {
        let options = CompileBuiltinsOptions {
            output: self.output,
            into: self.into,
            target: self.target,
        };
        Ok(Plan::new(self.common, options))
    }
}
