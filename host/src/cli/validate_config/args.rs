//! The flags of `gpud validate-config`.

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
}

impl Arguments for ValidateConfigArgs {
    fn plan(self, _: &mut Vec<String>) -> Result<Plan, Exit> {
        Ok(Plan::new(self.common, ValidateConfigOptions))
    }
}
