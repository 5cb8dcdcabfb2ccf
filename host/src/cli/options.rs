//! Values of flags that several commands have, and their defaults.

use std::time::Duration;

use clap::ValueEnum;

use crate::wire::GoDuration;

/// Where the daemon listens unless configured otherwise: this machine only.
pub const DEFAULT_LISTEN: &str = "127.0.0.1:15132";
/// Where the specs of script plugins are.
pub const DEFAULT_PLUGIN_SPECS: &str = "/etc/default/gpud.plugins.yaml";
/// Where exports are listed.
pub const DEFAULT_EXPORTS: &str = "/etc/gpud/exports.yaml";
/// How long metrics are kept.
pub const METRICS_RETENTION: Duration = Duration::from_secs(3 * 3600);
/// How long events are kept.
pub const EVENTS_RETENTION: Duration = Duration::from_secs(14 * 24 * 3600);

/// The health from which on a scan fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// Degraded or worse.
    Degraded,
    /// Unhealthy.
    Unhealthy,
}

/// `None` for 0 and below.
pub fn at_least_a_nanosecond(duration: GoDuration) -> Option<Duration> {
    let nanoseconds = u64::try_from(duration.0).ok().filter(|n| *n > 0);
    nanoseconds.map(Duration::from_nanos)
}

/// How long something is kept: the default for 0 and below.
///
/// # Errors
/// Less than a minute.
pub fn retention(flag: &str, duration: GoDuration, default: Duration) -> Result<Duration, String> {
    match at_least_a_nanosecond(duration) {
        None => Ok(default),
        Some(kept) if kept < Duration::from_secs(60) => Err(format!(
            "invalid value for --{flag}: {duration} is less than a minute"
        )),
        Some(kept) => Ok(kept),
    }
}

/// Form of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// Tables.
    Plain,
    /// One line of JSON, errors included.
    Json,
}

/// Reads `--output-format`, blanks and case aside.
///
/// # Errors
/// Neither `plain` nor `json`.
pub fn is_json(format: &str) -> Result<bool, String> {
    OutputFormat::from_str(format.trim(), true)
        .map(|format| format == OutputFormat::Json)
        .map_err(|_| format!("invalid output format {format:?}: it is plain or json"))
}
