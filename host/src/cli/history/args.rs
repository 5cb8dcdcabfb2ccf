//! Flags of `gpud history` and `gpud watch`.

use std::path::PathBuf;

use clap::Args;

use super::args::{CommonArgs, path};

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

#[derive(Debug, Args)]
pub struct WatchArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// Folder of the state file, by which the daemon is found
    #[arg(long, value_name = "FOLDER", value_parser = path)]
    pub data_dir: Option<PathBuf>,
    /// Base URL of the daemon [default: of the one that uses the folder, else https://localhost:15132]
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
}
