//! What a command line asks for, as plain values that need no further checking.

use std::{path::PathBuf, time::Duration};

use clap::ValueEnum;
use clap_complete::Shell;

use super::{
    args::OutputFormat, checks::CheckOptions, components::ComponentSelection, explain::Subject,
    exports::ExportsAction, healthcheck::HealthcheckOptions, history::HistoryOptions,
    local_socket::LocalSocketChoice, metadata::MetadataOptions, pack::PackAction,
    plugin::PluginAction, run_as::RunAs, service::UpOptions, status::StatusOptions,
    terminal::ColorChoice, update::UpdateOptions, watch::WatchOptions,
};
use crate::{logging::LogOptions, wire::GoDuration};

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

/// A command, ready to be carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// What to do.
    pub action: Action,
    /// How to log.
    pub log: LogOptions,
    /// When to colour.
    pub color: ColorChoice,
    /// Lines for the log about flags that have no effect, or another than they say.
    pub notes: Vec<String>,
}

/// A command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Set up the service and start it.
    Up(UpOptions),
    /// Stop the service.
    Down {
        /// Folder of the state file.
        data_dir: PathBuf,
        /// Forget what a hosted platform gave.
        reset_state: bool,
    },
    /// Say how the daemon does.
    Status(StatusOptions),
    /// Answer one line and an exit status.
    Healthcheck(Box<HealthcheckOptions>),
    /// Show what the daemon finds, live.
    Watch(WatchOptions),
    /// Show events and changes of health.
    History(HistoryOptions),
    /// Show what the state file notes.
    Metadata(MetadataOptions),
    /// Print a script for a shell.
    Completion(Shell),
    /// Print a manual page.
    Man {
        /// Of which command; empty is gpud itself.
        topic: Vec<String>,
        /// Write all of them into this folder instead.
        dir: Option<PathBuf>,
    },
    /// Say that this build has nothing to do here, and succeed.
    Nothing(&'static str),
    /// Replace the installed program by a release.
    Update(Box<UpdateOptions>),
    /// Say that this build cannot do it.
    NotHere(&'static str),
    /// Run the daemon.
    Run(Box<RunOptions>),
    /// Check everything once.
    Scan(Box<ScanOptions>),
    /// Check a file of plugins.
    CustomPlugins(CustomPluginsOptions),
    /// For those who write plugins.
    Plugin(Box<PluginAction>),
    /// Packs of plugins.
    Pack(PackAction),
    /// Exports.
    Exports(ExportsAction),
    /// Say what kernel messages mean.
    Explain {
        /// Of what.
        subject: Subject,
        /// Settings of the checks.
        checks: Box<CheckOptions>,
        /// As one JSON document.
        json: bool,
    },
    /// List the running daemon's plugins.
    ListPlugins {
        /// Base URL; empty is the default.
        server: String,
        /// Where the token is, if not in the data folder.
        token_file: Option<PathBuf>,
        /// The specs as JSON.
        json: bool,
    },
    /// Check the running daemon's components with a tag.
    RunPluginGroup {
        /// Base URL; empty is the default.
        server: String,
        /// Where the token is, if not in the data folder.
        token_file: Option<PathBuf>,
        /// The tag.
        tag: String,
        /// As one JSON document.
        json: bool,
    },
    /// Print the inventory.
    MachineInfo {
        /// Folder of the state file.
        data_dir: PathBuf,
        /// As one line of JSON.
        json: bool,
    },
    /// Write into the kernel log.
    InjectFault {
        /// Priority's name.
        priority: String,
        /// Text.
        message: String,
        /// Say so in JSON.
        json: bool,
    },
    /// Clear verdicts in the running daemon.
    SetHealthy {
        /// Base URL; empty is the default.
        server: String,
        /// Where the token is, if not in the data folder.
        token_file: Option<PathBuf>,
        /// Which; empty is all.
        components: Vec<String>,
        /// As one JSON document.
        json: bool,
    },
    /// Shrink the state file.
    Compact {
        /// Folder of the state file.
        data_dir: PathBuf,
        /// As one JSON document.
        json: bool,
    },
    /// Do what needs root, for a daemon that runs as another user.
    RootHelper {
        /// The kernel log that it opens.
        kernel_log: PathBuf,
        /// Specs of the plugins that it runs.
        plugin_specs_file: Option<PathBuf>,
        /// Names of these plugins.
        plugins: Vec<String>,
    },
    /// Compile a Wasm component.
    CompileComponent {
        /// The component.
        input: PathBuf,
        /// Where the code goes.
        output: PathBuf,
    },
    /// Compile the built-in components.
    CompileBuiltins {
        /// Where the archive goes.
        output: PathBuf,
        /// For machines of this target.
        target: Option<String>,
    },
}

/// How to run the daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOptions {
    /// Folder of the state file; may not exist yet.
    pub data_dir: PathBuf,
    /// Which user to become; `None` stays who it is.
    pub run_as: Option<RunAs>,
    /// Keep nothing on disk.
    pub db_in_memory: bool,
    /// `host:port`, for [`crate::server::bind`].
    pub listen_address: String,
    /// The operator's own certificate.
    pub tls: Option<TlsFiles>,
    /// Serve GPU readings under the names of dcgm-exporter, too.
    pub dcgm_names: bool,
    /// Where the bearer token is, if not in the data folder.
    pub token_file: Option<PathBuf>,
    /// Every route but `/healthz` asks for it.
    pub require_token: bool,
    /// The Unix socket for local administration.
    pub local_socket: LocalSocketChoice,
    /// Further host names by which the daemon may be asked.
    pub allowed_hosts: Vec<String>,
    /// Web sites whose pages may ask it.
    pub allowed_origins: Vec<String>,
    /// Serve `/admin/pprof`.
    pub pprof: bool,
    /// Specs of script plugins; `None` is none. The default file may be missing.
    pub plugin_specs_file: Option<PathBuf>,
    /// File of exports; `None` is none. The default file may be missing.
    pub exports_file: Option<PathBuf>,
    /// Where to send everything by a webhook, besides the exports of the file.
    pub webhook_url: Option<gpud_exports::config::Address>,
    /// Where to send everything by OTLP, besides the exports of the file.
    pub otlp_endpoint: Option<gpud_exports::config::Address>,
    /// The export of the inventory that the environment describes, with the time limit of one delivery.
    pub inventory: Option<Box<(gpud_exports::inventory::Settings, Duration)>>,
    /// Built-in checks to run.
    pub components: ComponentSelection,
    /// How long metrics are kept, at least a minute.
    pub metrics_retention: Duration,
    /// How long events are kept, at least a minute.
    pub events_retention: Duration,
    /// Settings of the checks.
    pub checks: CheckOptions,
}

/// PEM files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// Certificate chain.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

/// How to scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanOptions {
    /// What makes the scan fail; `None` is nothing.
    pub fail_on: Option<FailOn>,
    /// Print one JSON document.
    pub json: bool,
    /// Everything, with tables.
    pub verbose: bool,
    /// GPUd's layout.
    pub classic: bool,
    /// A saved kernel log to be judged instead of the machine.
    pub kmsg_file: Option<PathBuf>,
    /// Checks to run.
    pub components: ComponentSelection,
    /// How far back events count.
    pub events_retention: Duration,
    /// Settings of the checks.
    pub checks: CheckOptions,
}

/// How to check a file of plugins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomPluginsOptions {
    /// The file; `None` is the built-in example.
    pub file: Option<PathBuf>,
    /// Run every plugin once.
    pub run: bool,
    /// End at the first that is not healthy, and fail.
    pub fail_fast: bool,
    /// Warnings count as problems.
    pub strict: bool,
    /// Print one JSON document.
    pub json: bool,
}

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

/// Reads `--output-format`, blanks and case aside.
///
/// # Errors
/// Neither `plain` nor `json`.
pub fn is_json(format: &str) -> Result<bool, String> {
    OutputFormat::from_str(format.trim(), true)
        .map(|format| format == OutputFormat::Json)
        .map_err(|_| format!("invalid output format {format:?}: it is plain or json"))
}
