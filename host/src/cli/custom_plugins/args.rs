//! The flags of `gpud custom-plugins`.

use std::path::PathBuf;

use clap::{ArgAction, Args};

use super::CustomPluginsOptions;
use crate::cli::{
    args::{CommonArgs, path},
    command::{Arguments, Plan},
    exit::Exit,
};

#[derive(Debug, Args)]
pub struct CustomPluginsArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// Run every plugin once, also the manual ones, for at most 2 minutes in all
    #[arg(long, short = 'r')]
    pub run: bool,
    /// End at the first plugin that is not healthy, with status 1
    #[arg(
        long,
        short = 'f',
        value_name = "BOOL",
        action = ArgAction::Set,
        default_value_t = true,
        hide_possible_values = true
    )]
    pub fail_fast: bool,
    /// Fail where there are warnings, too
    #[arg(long)]
    pub strict: bool,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    #[arg(long, hide = true)]
    pub infiniband_class_root_dir: Option<String>,
    #[arg(long, hide = true)]
    pub infiniband_exclude_devices: Option<String>,
    /// YAML file with plugins; a built-in example without one
    #[arg(value_name = "FILE", value_parser = path)]
    pub files: Vec<PathBuf>,
}

impl Arguments for CustomPluginsArgs {
    fn plan(self, notes: &mut Vec<String>) -> Result<Plan, Exit> {
        for (flag, value) in [
            ("infiniband-class-root-dir", self.infiniband_class_root_dir),
            (
                "infiniband-exclude-devices",
                self.infiniband_exclude_devices,
            ),
        ] {
            if value.is_some() {
                notes.push(format!("--{flag} has no effect on plugins"));
            }
        }
        let mut files = self.files.into_iter();
        let file = files.next();
        notes.extend(files.map(|word| format!("argument {word:?} ignored: one file is checked")));
        let options = CustomPluginsOptions {
            file,
            run: self.run,
            fail_fast: self.fail_fast,
            strict: self.strict,
            json: self.json,
        };
        Ok(Plan::new(self.common, options))
    }
}
