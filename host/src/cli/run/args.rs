//! The flags of `gpud run`.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum};

use super::{
    destinations::{inventory_of_environment, otlp_endpoint, webhook_url},
    options::{RunOptions, TlsFiles},
    run_as::RunAs,
};
use crate::{
    cli::{
        args::{CommonArgs, path},
        check_args::{CheckArgs, RunCheckArgs},
        checks::check_options,
        command::{Arguments, Plan},
        components::ComponentSelection,
        control_plane::{ControlPlane, session_protocol},
        data_dir::data_dir,
        exit::Exit,
        local_socket::LocalSocketChoice,
        options::{
            DEFAULT_EXPORTS, DEFAULT_LISTEN, DEFAULT_PLUGIN_SPECS, EVENTS_RETENTION,
            METRICS_RETENTION, retention,
        },
    },
    logging::{LogLevel, LogOptions},
    server::{parse_hosts, parse_origins},
    wire::GoDuration,
};

#[derive(Debug, Args)]
pub struct RunCommand {
    #[command(flatten)]
    pub common: CommonArgs,
    #[command(flatten)]
    pub run: RunArgs,
    #[command(flatten)]
    pub run_checks: RunCheckArgs,
    #[command(flatten)]
    pub checks: CheckArgs,
}

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
    #[arg(long, value_name = "ADDRESS", default_value = DEFAULT_LISTEN)]
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
    #[arg(long, value_name = "FILE", value_parser = path, default_value = DEFAULT_PLUGIN_SPECS)]
    pub plugin_specs_file: PathBuf,
    /// YAML file of exports, which send verdicts and events elsewhere; an empty name means none
    #[arg(long, value_name = "FILE", value_parser = path, default_value = DEFAULT_EXPORTS)]
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

impl RunCommand {
    fn options(self, notes: &mut Vec<String>) -> Result<(CommonArgs, RunOptions), String> {
        let RunCommand {
            common,
            run,
            run_checks,
            checks,
        } = self;
        notes.extend(run.control_plane.note()?);
        let events_retention = retention(
            "events-retention-period",
            checks.events_retention_period,
            EVENTS_RETENTION,
        )?;
        let metrics_retention = retention(
            "metrics-retention-period",
            run.metrics_retention_period,
            METRICS_RETENTION,
        )?;
        // GPUd listens everywhere when the address is empty; a user who wants that can pass `:15132`.
        let listen_address = match run.listen_address.trim() {
            "" => DEFAULT_LISTEN.to_owned(),
            address => address.to_owned(),
        };
        let given = |file: Option<PathBuf>| file.filter(|file| !file.as_os_str().is_empty());
        let options = RunOptions {
            data_dir: data_dir(run.data_dir)?,
            run_as: RunAs::of_flags(&run.user, &run.root_plugins)?,
            db_in_memory: run.db_in_memory,
            listen_address,
            tls: given(run.tls_cert)
                .zip(given(run.tls_key))
                .map(|(certificate, key)| TlsFiles { certificate, key }),
            dcgm_names: run.metrics_names == MetricsNames::Dcgm,
            token_file: given(run.token_file),
            require_token: run.require_token,
            local_socket: LocalSocketChoice::of_flag(run.local_socket),
            allowed_hosts: parse_hosts(&run.allowed_hosts)?,
            allowed_origins: parse_origins(&run.allowed_origins)?,
            pprof: run.pprof,
            plugin_specs_file: given(Some(run.plugin_specs_file)),
            exports_file: given(Some(run.exports_file)),
            webhook_url: webhook_url(&run.webhook_url)?,
            otlp_endpoint: otlp_endpoint(&run.otlp_endpoint)?,
            inventory: inventory_of_environment(run.inventory_from_env, |name| {
                std::env::var(name).ok()
            })?,
            components: ComponentSelection::parse(&run.components),
            metrics_retention,
            events_retention,
            checks: check_options(checks, run_checks, notes)?,
        };
        Ok((common, options))
    }
}

impl Arguments for RunCommand {
    fn plan(self, notes: &mut Vec<String>) -> Result<Plan, Exit> {
        let file = self.run.log_file.clone();
        let log = LogOptions {
            level: LogLevel::Info,
            json: true,
            file: file.filter(|file| !file.as_os_str().is_empty()),
        };
        let (common, options) = self.options(notes).map_err(Exit::failure)?;
        Ok(Plan::new(common, options).with_log(log))
    }
}
