//! The flags that every command has, and readers of values.

use std::{convert::Infallible, path::PathBuf};

use clap::Args;

use super::terminal::ColorChoice;

/// Flags that every command has.
#[derive(Debug, Args)]
pub struct CommonArgs {
    /// debug, info, warn, error, dpanic, panic or fatal [default: info for run, else warn]
    #[arg(
        long,
        short = 'l',
        value_name = "LEVEL",
        default_value = "",
        hide_default_value = true
    )]
    pub log_level: String,
    /// When to colour: auto, always or never
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true
    )]
    pub color: ColorChoice,
}

/// A path as it is; clap's own reader refuses the empty one, which here means "none" or "the default".
#[expect(clippy::unnecessary_wraps, reason = "clap wants a result")]
pub fn path(text: &str) -> Result<PathBuf, Infallible> {
    Ok(text.into())
}
