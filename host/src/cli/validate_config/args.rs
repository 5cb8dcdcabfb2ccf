//! The flags of `gpud validate-config`.

use std::path::PathBuf;

use clap::Args;

use super::ValidateConfigOptions;
use crate::cli::{
    args::CommonArgs,
    command::{Arguments, Plan},
    exit::Exit,
};

#[derive(Debug, Args)]
pub struct ValidateConfigArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// The file with the schema and the configuration
    pub question: PathBuf,
}

impl Arguments for ValidateConfigArgs {
    fn plan(self, _: &mut Vec<String>) -> Result<Plan, Exit> {
        let options = ValidateConfigOptions {
            question: self.question,
        };
        Ok(Plan::new(self.common, options))
    }
}
