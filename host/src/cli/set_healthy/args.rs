//! The flags of the commands that ask the running daemon.

use std::path::PathBuf;

use clap::Args;

use super::args::{CommonArgs, path};

#[derive(Debug, Args)]
pub struct SetHealthyArgs {
    #[command(flatten)]
    pub common: CommonArgs,
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
    /// Components, comma-separated; all without any
    #[arg(value_name = "COMPONENTS")]
    pub components: Vec<String>,
}

#[derive(Debug, Args)]
pub struct ListPluginsArgs {
    #[command(flatten)]
    pub common: CommonArgs,
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
    /// Print the specs as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct RunPluginGroupArgs {
    #[command(flatten)]
    pub common: CommonArgs,
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
    /// The tag
    #[arg(value_name = "TAG")]
    pub tags: Vec<String>,
}
