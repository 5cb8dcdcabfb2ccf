//! `gpud run`: the daemon in the foreground until SIGTERM or SIGINT.

mod args;
mod destinations;
mod effective_config;
mod options;
mod run_as;

use std::{
    env,
    io::{self, IsTerminal as _},
    path::PathBuf,
    time::Duration,
};

use gpud_exports::{
    config::{Address, ExportConfig},
    inventory,
    kinds::Settings,
    secret::Secret,
    webhook,
};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use self::{args::RunCommand, effective_config::effective_config};
pub use self::{
    options::{RunOptions, TlsFiles},
    run_as::RunAs,
};
use super::{
    VERSION,
    command::{Action, Command, CommandContext},
    data_dir,
    exit::Exit,
    settings::component_config,
    site_configs::SiteConfigs,
};
use crate::{
    component::builtin,
    daemon::{self, Options, Selection},
    exports,
    logging::LogOptions,
    node::{local_socket::BoundSocket, process, root_helper, slow_files, temporary},
    runtime::Compiler,
    service::{Service, signals},
    store::{Location, STATE_FILE, StoreOptions},
};

/// The entry of the table of commands.
pub(super) const COMMAND: Command =
    Command::new::<RunCommand>("run", "Run the daemon in the foreground");

impl Action for RunOptions {
    fn prepare(
        &mut self,
        log: &LogOptions,
        notes: &mut Vec<String>,
    ) -> Result<Option<BoundSocket>, Exit> {
        run_as::prepare(self, log, notes)
    }

    async fn run(self, context: CommandContext) -> Result<Exit, Exit> {
        run(self, context.service, context.socket).await?;
        Ok(Exit::success(""))
    }
}

/// Runs until a signal; then stops in good order. `socket` is the Unix socket, where it is made already.
///
/// # Errors
/// When it could not start.
pub async fn run(
    options: RunOptions,
    mut service: Service,
    socket: Option<BoundSocket>,
) -> Result<(), Exit> {
    let shutdown = CancellationToken::new();
    stop_on_signals(shutdown.clone()).map_err(Exit::failure)?;
    service.hangups = Some(signals::listen().map_err(Exit::failure)?);
    let known: Vec<String> = builtin::all()
        .iter()
        .map(|builtin| builtin.component.to_owned())
        .collect();
    if let Some(warning) = options.components.warning(&known) {
        tracing::warn!("{warning}");
    }
    tracing::info!(version = VERSION, data_dir = %options.data_dir.display(), "starting gpud");
    if let Some(run_as) = &options.run_as
        && root_helper::connection().is_some()
    {
        tracing::info!(
            user = run_as.user,
            "gpud has given up root; what needs it is asked of a helper"
        );
    }
    tokio::task::spawn_blocking(temporary::clean)
        .await
        .map_err(Exit::failure)?;
    tokio::select! {
        closed = data_dir::close_in_time(&options.data_dir) => closed.map_err(Exit::failure)?,
        () = shutdown.cancelled() => return Ok(()),
    }
    daemon::run(daemon_options(options, service, socket)?, shutdown)
        .await
        .map_err(Exit::failure)
}

fn daemon_options(
    options: RunOptions,
    service: Service,
    bound_socket: Option<BoundSocket>,
) -> Result<Options, Exit> {
    let shown = effective_config(&options);
    let state_file = options.data_dir.join(STATE_FILE);
    let location = match options.db_in_memory {
        true => Location::Memory,
        false => Location::File(state_file),
    };
    let commands = options.checks.commands.clone();
    let replacements = [
        ("lsblk", commands.lsblk),
        ("findmnt", commands.findmnt),
        ("df", commands.blockdev_usage),
        (
            "containerd-service-active",
            commands.containerd_service_active,
        ),
    ];
    let nvml = options.checks.nvml();
    let host_root = options.checks.host_root.clone();
    let (site, site_problem) = match load_site(options.checks.site_file.clone()) {
        Ok(site) => (site, None),
        Err(problem) => (SiteConfigs::default(), Some(problem)),
    };
    let otlp = options.otlp_endpoint.map(otlp).transpose()?;
    let exports = exports::Options {
        file: options.exports_file,
        further: options
            .webhook_url
            .map(webhook)
            .into_iter()
            .chain(otlp)
            .chain(options.inventory.map(|described| inventory(*described)))
            .collect(),
        spool_folder: (!options.db_in_memory)
            .then(|| exports::Options::spool_folder(&options.data_dir)),
    };
    let checks = options.checks;
    let selection = options.components;
    Ok(Options {
        store: StoreOptions {
            events_retention: options.events_retention,
            metrics_retention: options.metrics_retention,
            ..StoreOptions::new(location)
        },
        compiler: Compiler::of_this_program(),
        components: Selection {
            enabled: Box::new(move |name| selection.includes(name)),
            config: Box::new(move |name| component_config(name, &checks, &site)),
            problem: site_problem,
        },
        listen_address: options.listen_address,
        tls_files: options.tls.map(|files| (files.certificate, files.key)),
        require_token: options.require_token,
        dcgm_names: options.dcgm_names,
        token_file: options.token_file,
        local_socket: options.local_socket.path(&options.data_dir),
        bound_socket,
        allowed_hosts: options.allowed_hosts,
        allowed_origins: options.allowed_origins,
        profiling: options.pprof,
        data_dir: options.data_dir,
        replacements,
        plugin_specs: options.plugin_specs_file,
        exports,
        nvml,
        host_root,
        shown,
        service,
        announce: announce_page,
    })
}

fn load_site(file: Option<PathBuf>) -> Result<SiteConfigs, String> {
    let path = file.clone().unwrap_or_default();
    slow_files::in_time_blocking(&path, move || SiteConfigs::load(file.as_deref()))
        .unwrap_or_else(|late| Err(late.to_string()))
}

/// The export of `--webhook-url`, signed if `GPUD_WEBHOOK_SECRET` is set.
fn webhook(url: Address) -> ExportConfig {
    let variable = "GPUD_WEBHOOK_SECRET";
    let is_set = env::var_os(variable).is_some_and(|secret| !secret.is_empty());
    let secret = is_set.then(|| Secret::Variable(variable.to_owned()));
    let settings = webhook::Settings::new(url, secret);
    ExportConfig::new("webhook", Settings::Webhook(Box::new(settings)))
}

/// The export of `--otlp-endpoint`, as OpenTelemetry's own variables would have it.
#[cfg(feature = "otlp")]
fn otlp(endpoint: Address) -> Result<ExportConfig, Exit> {
    let variable = |name: &str| env::var(name).ok();
    gpud_exports::otlp::config("otlp", endpoint, variable).map_err(Exit::failure)
}

/// Refuses `--otlp-endpoint`.
#[cfg(not(feature = "otlp"))]
fn otlp(_: Address) -> Result<ExportConfig, Exit> {
    let why = "--otlp-endpoint: this gpud was built without the feature `otlp`";
    Err(Exit::failure(why))
}

/// The export of `--inventory-from-env`.
fn inventory((settings, timeout): (inventory::Settings, Duration)) -> ExportConfig {
    // An address can hold a password. The variables of secrets are withheld with those of all exports.
    process::withhold(["HTTP_ENDPOINT"]);
    ExportConfig {
        timeout,
        ..ExportConfig::new("inventory", Settings::Inventory(Box::new(settings)))
    }
}

/// Prints the address of the page on a terminal.
fn announce_page(address: &str) {
    if io::stdout().is_terminal() && !address.is_empty() {
        println!("See this machine at {address}");
    }
}

/// SIGTERM and SIGINT cancel the token; SIGPIPE and a second signal change nothing.
pub(super) fn stop_on_signals(shutdown: CancellationToken) -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            shutdown.cancel();
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::parse::tests::values;

    fn shown(flags: &[&str]) -> String {
        let words = ["run", "--data-dir=/d"].iter().chain(flags);
        let words: Vec<&str> = words.copied().collect();
        let options = values::<RunOptions>(&words.join("|"));
        serde_json::to_string(&effective_config(&options)).unwrap()
    }

    /// Keys and their order are GPUd's (`pkg/config`).
    #[test]
    fn what_admin_config_shows() {
        assert_eq!(
            shown(&[]),
            r#"{"api_version":"v1","address":"127.0.0.1:15132","data_dir":"/d","state":"/d/gpud.state","metrics_retention_period":"3h0m0s","events_retention_period":"336h0m0s","compact_period":"0s","pprof":false,"enable_auto_update":false,"auto_update_exit_code":-1,"version_file":"","nvidia_tool_overwrites":{"infiniband_class_root_dir":"","excluded_infiniband_devices":null},"plugin_specs_file":"/etc/default/gpud.plugins.yaml","exports_file":"/etc/gpud/exports.yaml","components":null,"failure_injector":{"GPUUUIDsWithRowRemappingPending":[],"GPUUUIDsWithRowRemappingFailed":[],"GPUUUIDsWithHWSlowdown":[],"GPUUUIDsWithHWSlowdownThermal":[],"GPUUUIDsWithHWSlowdownPowerBrake":[],"GPUUUIDsWithGPULost":[],"GPUUUIDsWithGPURequiresReset":[],"GPUUUIDsWithFabricStateHealthSummaryUnhealthy":[],"GPUProductNameOverride":"","NVMLDeviceGetDevicesError":false,"ContainerdSocketMissing":false},"skip_session_update_config":false,"session_protocol":"","db_in_memory":false}"#
        );
        let given = shown(&[
            "--findmnt-commands=f",
            "--lsblk-commands=l",
            "--blockdev-usage-commands=nsenter -t 1 -m -- df",
            "--nfs-host-root=/host",
            "--containerd-service-active-commands=c",
            "--gpu-uuids-with-gpu-lost=GPU-1,GPU-2",
            "--containerd-socket-missing",
            "--pprof",
            "--webhook-url=https://hooks.example/T0/hunter2",
        ]);
        assert!(!given.contains("hunter2"), "{given}");
        for part in [
            r#""auto_update_exit_code":-1,"findmnt_commands":"f","lsblk_commands":"l","blockdev_usage_commands":"nsenter -t 1 -m -- df","nfs_host_root":"/host","containerd_service_active_commands":"c","version_file""#,
            r#""GPUUUIDsWithGPULost":["GPU-1","GPU-2"]"#,
            r#""ContainerdSocketMissing":true"#,
            r#""pprof":true"#,
        ] {
            assert!(given.contains(part), "{part} in {given}");
        }
    }
}
