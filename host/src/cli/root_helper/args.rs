//! The flags of `gpud root-helper`.

use std::path::PathBuf;

use clap::Args;

use super::RootHelperOptions;
use crate::cli::{
    args::{CommonArgs, path},
    command::{Arguments, Plan},
    exit::Exit,
};

#[derive(Debug, Args)]
pub struct RootHelperArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// The kernel log
    #[arg(long, value_name = "FILE", value_parser = path)]
    pub kernel_log: PathBuf,
    /// YAML file with script plugins
    #[arg(long, value_name = "FILE", value_parser = path)]
    pub plugin_specs_file: Option<PathBuf>,
    /// Plugins of this file that run, comma-separated
    #[arg(long, value_name = "LIST", default_value = "")]
    pub plugins: String,
}

impl Arguments for RootHelperArgs {
    fn plan(self, _: &mut Vec<String>) -> Result<Plan, Exit> {
        let names = self.plugins.split(',').filter(|name| !name.is_empty());
        let options = RootHelperOptions {
            kernel_log: self.kernel_log,
            plugin_specs_file: self.plugin_specs_file,
            plugins: names.map(str::to_owned).collect(),
        };
        Ok(Plan::new(self.common, options))
    }
}
