//! The flags of `gpud scan`.

use std::path::PathBuf;

use clap::Args;

use super::ScanOptions;
use crate::cli::{
    args::{CommonArgs, path},
    check_args::{CheckArgs, RunCheckArgs},
    checks::{CheckOptions, check_options},
    command::{Arguments, Plan},
    components::ComponentSelection,
    exit::Exit,
    options::{EVENTS_RETENTION, FailOn, at_least_a_nanosecond},
};

#[derive(Debug, Args)]
pub struct ScanArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// Exit with status 1 when a component is this bad, or worse: degraded or unhealthy
    #[arg(long, value_name = "HEALTH", hide_possible_values = true)]
    pub fail_on: Option<FailOn>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    /// Show every check with its reason and tables
    #[arg(long)]
    pub verbose: bool,
    /// Print in GPUd's layout: every component as it is checked, with its tables
    #[arg(long)]
    pub classic: bool,
    /// Judge this saved kernel log instead of the machine: of dmesg, journalctl -k, /dev/kmsg or syslog
    #[arg(long, value_name = "FILE", value_parser = path)]
    pub kmsg_file: Option<PathBuf>,
    /// GPU product of the saved log, such as "NVIDIA H100 80GB HBM3"
    #[arg(long, value_name = "NAME", requires = "kmsg_file")]
    pub product: Option<String>,
    /// Components to check, comma-separated; `-name` leaves one out
    #[arg(
        long,
        value_name = "LIST",
        default_value = "",
        hide_default_value = true
    )]
    pub components: String,
    #[command(flatten)]
    pub checks: CheckArgs,
}

impl Arguments for ScanArgs {
    fn plan(self, notes: &mut Vec<String>) -> Result<Plan, Exit> {
        let events_retention = self.checks.events_retention_period;
        let checks = check_options(self.checks, RunCheckArgs::default(), notes);
        let options = ScanOptions {
            fail_on: self.fail_on,
            json: self.json,
            verbose: self.verbose,
            classic: self.classic,
            kmsg_file: self.kmsg_file,
            components: ComponentSelection::parse(&self.components),
            events_retention: at_least_a_nanosecond(events_retention).unwrap_or(EVENTS_RETENTION),
            checks: CheckOptions {
                log_product: self.product,
                ..checks.map_err(Exit::failure)?
            },
        };
        Ok(Plan::new(self.common, options))
    }
}
