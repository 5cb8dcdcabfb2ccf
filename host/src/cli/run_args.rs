//! The flags of `gpud run` that are not about checks.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum};

use super::args::path;
use crate::wire::GoDuration;

/// Where the daemon keeps things, where it listens, what it runs.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Folder of the state file [default: /var/lib/gpud for root, else ~/.gpud]
    #[arg(long, value_name = "FOLDER", value_parser = path)]
    pub data_dir: Option<PathBuf>,
    /// Keep everything in memory; it is lost when gpud ends
    #[arg(long)]
    pub db_in_memory: bool,
    /// Write the log to this file instead of standard error; rotated at 128 MB, 5 old files
    #[arg(long, value_name = "FILE", value_parser = path)]
    pub log_file: Option<PathBuf>,
    /// Where to listen, as host:port; `:15132` is every address of this machine
    #[arg(long, value_name = "ADDRESS", default_value = super::options::DEFAULT_LISTEN)]
    pub listen_address: String,
    /// PEM file with the certificate to serve with, instead of one made at each start
    #[arg(long, value_name = "FILE", value_parser = path, requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// PEM file with the certificate's private key
    #[arg(long, value_name = "FILE", value_parser = path, requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// File with the bearer token, made if it is not there [default: token in the data folder]
    #[arg(long, value_name = "FILE", value_parser = path)]
    pub token_file: Option<PathBuf>,
    /// Unix socket for local administration; `none` means none [default: /run/gpud/gpud.sock for root]
    #[arg(long, value_name = "PATH", value_parser = path)]
    pub local_socket: Option<PathBuf>,
    /// Further host names by which gpud may be asked, comma-separated; `.example` is every name in it, `*` any name
    #[arg(
        long,
        value_name = "LIST",
        default_value = "",
        hide_default_value = true
    )]
    pub allowed_hosts: String,
    /// Web sites whose pages may ask gpud, comma-separated, such as `https://grafana.example`
    #[arg(
        long,
        value_name = "LIST",
        default_value = "",
        hide_default_value = true
    )]
    pub allowed_origins: String,
    /// Ask for the token on every route but /healthz, also on this machine
    #[arg(long)]
    pub require_token: bool,
    /// Run as this user, by name or number, and leave what needs root to a helper
    #[arg(
        long,
        value_name = "NAME",
        default_value = "",
        hide_default_value = true
    )]
    pub user: String,
    /// Script plugins that run as root all the same, comma-separated; needs --user
    #[arg(
        long,
        value_name = "LIST",
        default_value = "",
        hide_default_value = true
    )]
    pub root_plugins: String,
    /// Answer under /admin/pprof, where GPUd has Go's profiles, with what to use instead
    #[arg(long)]
    pub pprof: bool,
    /// YAML file with script plugins; an empty name means none
    #[arg(long, value_name = "FILE", value_parser = path, default_value = super::options::DEFAULT_PLUGIN_SPECS)]
    pub plugin_specs_file: PathBuf,
    /// YAML file of exports, which send verdicts and events elsewhere; an empty name means none
    #[arg(long, value_name = "FILE", value_parser = path, default_value = super::options::DEFAULT_EXPORTS)]
    pub exports_file: PathBuf,
    /// Send verdicts and events to this address as CloudEvents; or env:NAME or file:/path that holds it [default: of GPUD_WEBHOOK_URL]
    #[arg(
        long,
        value_name = "URL",
        default_value = "",
        hide_default_value = true
    )]
    pub webhook_url: String,
    /// Send metrics, verdicts and events to this address by OTLP, as OpenTelemetry's variables say; or env:NAME or file:/path that holds it [default: of GPUD_OTLP_ENDPOINT]
    #[arg(
        long,
        value_name = "URL",
        default_value = "",
        hide_default_value = true
    )]
    pub otlp_endpoint: String,

    /// Export the GPUs' serial numbers as the environment says with gpuid's variables (EXPORTER_TYPE, CLUSTER_NAME, …)
    #[arg(long)]
    pub inventory_from_env: bool,
    /// Built-in checks to run, comma-separated: names, `all`, `none`; `-name` leaves one out
    #[arg(
        long,
        value_name = "LIST",
        default_value = "",
        hide_default_value = true
    )]
    pub components: String,
    /// How long metrics are kept
    #[arg(
        long,
        alias = "retention-period",
        value_name = "DURATION",
        default_value = "3h0m0s"
    )]
    pub metrics_retention_period: GoDuration,
    /// Names of metrics on /metrics: gpud, or dcgm for those of dcgm-exporter, too
    #[arg(
        long,
        value_name = "NAMES",
        default_value = "gpud",
        hide_possible_values = true
    )]
    pub metrics_names: MetricsNames,
    #[command(flatten)]
    pub control_plane: ControlPlaneArgs,
}

/// Whose names metrics have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MetricsNames {
    /// gpud's, which are GPUd's.
    Gpud,
    /// Also those of dcgm-exporter, for readings that both have.
    Dcgm,
}

/// Flags for a hosted platform and for self-update. They are taken, checked and not used: unit files of GPUd carry them.
#[derive(Debug, Args)]
pub struct ControlPlaneArgs {
    #[arg(long, hide = true)]
    pub token: Option<String>,
    #[arg(long, hide = true)]
    pub endpoint: Option<String>,
    #[arg(long, hide = true)]
    pub machine_id: Option<String>,
    #[arg(long, hide = true)]
    pub machine_id_overwrite: bool,
    #[arg(long, hide = true)]
    pub refresh_session_token: bool,
    #[arg(long, hide = true)]
    pub skip_session_update_config: bool,
    #[arg(long, hide = true)]
    pub session_protocol: Option<String>,
    #[arg(long, hide = true)]
    pub reboot_commands: Option<String>,
    #[arg(long, hide = true, action = ArgAction::Set, num_args = 1)]
    pub enable_auto_update: Option<bool>,
    #[arg(long, hide = true, allow_negative_numbers = true)]
    pub auto_update_exit_code: Option<i64>,
    #[arg(long, hide = true)]
    pub version_file: Option<String>,
}

impl ControlPlaneArgs {
    /// One line about the flags that were given, if any. The session protocol that unit files always carry says nothing.
    ///
    /// # Errors
    /// A session protocol that does not exist.
    pub fn note(&self) -> Result<Option<String>, String> {
        let protocol = session_protocol(self.session_protocol.as_deref())?;
        let mut given = ControlPlane::default();
        given.flag("token", self.token.is_some());
        given.flag("endpoint", self.endpoint.is_some());
        given.flag("machine-id", self.machine_id.is_some());
        given.flag("machine-id-overwrite", self.machine_id_overwrite);
        given.flag("refresh-session-token", self.refresh_session_token);
        given.flag(
            "skip-session-update-config",
            self.skip_session_update_config,
        );
        given.flag("session-protocol", protocol);
        given.flag("reboot-commands", self.reboot_commands.is_some());
        given.flag("enable-auto-update", self.enable_auto_update == Some(true));
        given.flag(
            "auto-update-exit-code",
            self.auto_update_exit_code.is_some(),
        );
        given.flag("version-file", self.version_file.is_some());
        Ok(given.note())
    }
}

/// Flags that were given and have no effect here.
#[derive(Debug, Default)]
pub struct ControlPlane(Vec<String>);

impl ControlPlane {
    /// Takes one down.
    pub fn flag(&mut self, name: &str, given: bool) {
        if given {
            self.0.push(format!("--{name}"));
        }
    }

    /// One line about all of them.
    pub fn note(&self) -> Option<String> {
        (!self.0.is_empty()).then(|| {
            format!(
                "this build has no control plane and no self-update: {} ignored",
                self.0.join(", ")
            )
        })
    }
}

/// Checks a session protocol, as GPUd does: the flag's, else that of the environment. True if it asks for something.
///
/// # Errors
/// There is no such protocol.
pub fn session_protocol(flag: Option<&str>) -> Result<bool, String> {
    let environment = std::env::var("GPUD_SESSION_PROTOCOL").unwrap_or_default();
    match flag.unwrap_or(&environment) {
        "" | "auto" => Ok(false),
        "v1" | "v2" => Ok(flag.is_some()),
        other => Err(format!(
            "invalid session protocol {other:?}: it is v1, v2 or auto"
        )),
    }
}
