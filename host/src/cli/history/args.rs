//! The flags of `gpud history`.

use std::path::PathBuf;

use clap::Args;

use super::HistoryOptions;
use crate::{
    cli::{
        args::{CommonArgs, path},
        command::{Arguments, Plan},
        components::names,
        exit::Exit,
    },
    node::clock::Clock,
    wire::parse_since,
};

#[derive(Debug, Args)]
pub struct HistoryArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// How far back: 2d, 12h, 90m, or a time such as 2026-11-26T14:00:00Z
    #[arg(long, value_name = "HOW LONG", default_value = "1d")]
    pub since: String,
    /// Only of these components, comma-separated
    #[arg(long, value_name = "LIST")]
    pub component: Vec<String>,
    /// Only about this GPU: its number, UUID, PCI id or serial number
    #[arg(long, value_name = "GPU")]
    pub gpu: Option<String>,
    /// Most entries
    #[arg(long, short = 'n', value_name = "COUNT", default_value_t = 200)]
    pub limit: u32,
    /// Base URL of the daemon [default: of the one on this machine, else https://localhost:15132]
    #[arg(
        long,
        value_name = "URL",
        default_value = "",
        hide_default_value = true
    )]
    pub server: String,
    /// File with the bearer token [default: token in the data folder, for the daemon of this machine]
    #[arg(long, value_name = "FILE", value_parser = path)]
    pub token_file: Option<PathBuf>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

impl Arguments for HistoryArgs {
    fn plan(self, _: &mut Vec<String>) -> Result<Plan, Exit> {
        let since = parse_since(&self.since, Clock::Live.now_ms())
            .map_err(|error| Exit::failure(format!("invalid value for --since: {error}")))?;
        let options = HistoryOptions {
            server: self.server,
            token_file: self.token_file,
            since,
            components: names(&self.component),
            gpu: self.gpu.filter(|gpu| !gpu.trim().is_empty()),
            limit: self.limit,
            json: self.json,
        };
        Ok(Plan::new(self.common, options))
    }
}
