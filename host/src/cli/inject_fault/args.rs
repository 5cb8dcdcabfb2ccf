//! The flags of `gpud inject-fault`.

use clap::Args;

use super::InjectFaultOptions;
use crate::cli::{
    args::CommonArgs,
    command::{Arguments, Plan},
    exit::Exit,
};

#[derive(Debug, Args)]
pub struct InjectFaultArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// Priority, such as KERN_ERR or kern.warn; an unknown word counts as info
    #[arg(long, value_name = "PRIORITY", default_value = "KERN_INFO")]
    pub kernel_log_level: String,
    /// What to write
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    pub kernel_message: String,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

impl Arguments for InjectFaultArgs {
    fn plan(self, _: &mut Vec<String>) -> Result<Plan, Exit> {
        let options = InjectFaultOptions {
            priority: self.kernel_log_level,
            message: self.kernel_message,
            json: self.json,
        };
        Ok(Plan::new(self.common, options))
    }
}
