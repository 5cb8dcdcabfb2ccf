//! The options of a daemon, as plain values.

use std::{path::PathBuf, time::Duration};

use gpud_exports::{config::Address, inventory};

use super::run_as::RunAs;
use crate::cli::{
    checks::CheckOptions, components::ComponentSelection, local_socket::LocalSocketChoice,
};

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
    pub webhook_url: Option<Address>,
    /// Where to send everything by OTLP, besides the exports of the file.
    pub otlp_endpoint: Option<Address>,
    /// The export of the inventory that the environment describes, with the time limit of one delivery.
    pub inventory: Option<Box<(inventory::Settings, Duration)>>,
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
