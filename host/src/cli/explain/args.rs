//! The flags of `gpud explain`.

use std::path::PathBuf;

use clap::Args;

use super::{ExplainOptions, Subject};
use crate::cli::{
    args::{CommonArgs, path},
    check_args::SiteArgs,
    checks::{CheckOptions, XidCatalog},
    command::{Arguments, Plan},
    exit::Exit,
};

#[derive(Debug, Args)]
pub struct ExplainArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// A saved kernel log: of dmesg, journalctl -k, /dev/kmsg or syslog
    #[arg(long, value_name = "FILE", value_parser = path)]
    pub file: Option<PathBuf>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    /// Whose view of Xids and SXids judges: gpud or nvidia
    #[arg(
        long,
        value_name = "VIEW",
        default_value = "gpud",
        hide_possible_values = true
    )]
    pub xid_catalog: XidCatalog,
    /// GPU product of the log, such as "NVIDIA H100 80GB HBM3"
    #[arg(long, value_name = "NAME")]
    pub product: Option<String>,
    #[command(flatten)]
    pub site: SiteArgs,
    /// `xid 79`, `sxid 12028`, or a pasted kernel line
    #[arg(value_name = "WORDS")]
    pub words: Vec<String>,
}

impl Arguments for ExplainArgs {
    fn plan(self, _: &mut Vec<String>) -> Result<Plan, Exit> {
        let subject = match self.file {
            Some(file) => Subject::File(file),
            None => Subject::Words(self.words),
        };
        let options = ExplainOptions {
            subject,
            checks: CheckOptions {
                site_file: self.site.component_configs_file,
                xid_catalog: self.xid_catalog,
                log_product: self.product,
                ..CheckOptions::default()
            },
            json: self.json,
        };
        Ok(Plan::new(self.common, options))
    }
}
