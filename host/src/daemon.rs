//! The daemon put together: what is started in which order, and how it stops.
//!
//! The API answers first; plugins are compiled and loaded behind it, then the kernel log is read and everything runs
//! on its schedule.

mod api_port;
mod database;
mod kernel_records;
mod loading;
mod maintenance;
mod parts;
mod plugin_sources;
mod purge_clock;
mod systemd;

use std::{path::PathBuf, sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

pub use self::loading::load;
use self::{api_port::ApiPort, loading::RegisteredBuiltin, parts::Parts};
use crate::{
    backend::{DaemonBackend, EffectiveConfig},
    component::{ComponentConfig, OwnSeries, Services},
    exports,
    machine_info::Collector,
    metrics,
    node::{
        Node,
        kmsg::KernelLog,
        local_socket::BoundSocket,
        nvml, process,
        slow_files::{self, NoAnswer},
        trusted,
    },
    plugins::{Plugins, init},
    runtime::{Compiler, Runtime},
    server,
    service::{Service, presence::Presence, reload::Reload},
    store::{Store, StoreOptions},
};

/// Longest that checks under way may take to stop.
const STOP_WAIT: Duration = Duration::from_secs(5);
/// Folder of compiled code inside the data folder.
pub const CACHE_FOLDER: &str = "cache";

/// The options of a daemon.
pub struct Options {
    /// Where it keeps its files.
    pub data_dir: PathBuf,
    /// The database.
    pub store: StoreOptions,
    /// Where plugins are compiled.
    pub compiler: Compiler,
    /// Which built-in components run, and how they are configured.
    pub components: Selection,
    /// `host:port` of the API.
    pub listen_address: String,
    /// Certificate and key in PEM; without them the certificate is self-signed and kept in memory.
    pub tls_files: Option<(PathBuf, PathBuf)>,
    /// Readings of GPUs are served under the names of dcgm-exporter, too.
    pub dcgm_names: bool,
    /// Every route but `/healthz` asks for the token.
    pub require_token: bool,
    /// Where the token is, if not in the data folder.
    pub token_file: Option<PathBuf>,
    /// Path of the Unix socket for local administration; `None` is none.
    pub local_socket: Option<PathBuf>,
    /// The same socket, where it was made before the daemon became another user.
    pub bound_socket: Option<BoundSocket>,
    /// Further host names by which the API may be asked.
    pub allowed_hosts: Vec<String>,
    /// Web sites whose pages may ask it.
    pub allowed_origins: Vec<String>,
    /// The routes of `--pprof` are there.
    pub profiling: bool,
    /// Command lines for bash that replace programs, by the programs' names.
    pub replacements: [(&'static str, Option<String>); 4],
    /// Specs of plugins; `None` is none. The file may be missing.
    pub plugin_specs: Option<PathBuf>,
    /// The exports.
    pub exports: exports::Options,
    /// Which driver to ask about GPUs.
    pub nvml: nvml::Options,
    /// Folder at which the machine's `/` is mounted, in a container; `None` is as the environment says.
    pub host_root: Option<PathBuf>,
    /// The document of `/admin/config`.
    pub shown: EffectiveConfig,
    /// The process that started it and receives notifications.
    pub service: Service,
    /// Called with the address of the page once the API answers.
    pub announce: fn(&str),
}

/// Which built-in components run, and their configuration.
pub struct Selection {
    /// Does this one run?
    pub enabled: Box<dyn Fn(&str) -> bool + Send + Sync>,
    /// Its configuration.
    pub config: Box<dyn Fn(&str) -> ComponentConfig + Send + Sync>,
    /// The problem with the site's configuration, of which then nothing is used. A component of its own shows it.
    pub problem: Option<String>,
}

/// Why a daemon could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Certificates that exports would trust.
    #[error("{0}")]
    Trust(#[from] crate::node::trusted::TrustError),
    /// The machine cannot be read at all.
    #[error("{0}")]
    Node(#[from] crate::node::error::SourceError),
    /// The database.
    #[error("{0}")]
    Store(#[from] crate::store::StoreError),
    /// The address.
    #[error("{0}")]
    Bind(#[from] server::BindError),
    /// The certificate.
    #[error("{0}")]
    Tls(#[from] server::TlsError),
    /// The file of the certificate, the key or the token.
    #[error("{0}")]
    NoAnswer(#[from] NoAnswer),
    /// The token.
    #[error("{0}")]
    Token(#[from] server::TokenError),
    /// WebAssembly.
    #[error("{0}")]
    Runtime(#[from] crate::runtime::StartError),
    /// An init plugin failed.
    #[error("{0}")]
    Init(#[from] init::InitFailed),
}

/// Runs a daemon until `shutdown`.
///
/// # Errors
/// [`StartError`]; once it runs, nothing stops it but `shutdown`.
pub async fn run(options: Options, shutdown: CancellationToken) -> Result<(), StartError> {
    let own_files = own_files(&options).await?;
    let node = Node::live_with(options.nvml.clone()).await?;
    let node = node.replacing(options.replacements.clone());
    let node = node.with_host_root(options.host_root.clone())?;
    let node = Arc::new(node.denying(&own_files)?);
    let mut port = ApiPort::open(&options, &node).await?;
    let store = database::open(options.store).await?;
    port.open_token(options.token_file, &options.data_dir)?;
    database::record_reboot(&store, &node).await;
    let cache = options.data_dir.join(CACHE_FOLDER);
    let runtime = Runtime::start(&cache, options.compiler, Arc::clone(&node))?;
    let metrics = Arc::new(metrics::Registry::new());
    let services = Services::new(node, Some(store.clone()), metrics).await;
    let services = Arc::new(services);
    let specs = plugin_sources::read_specs(options.plugin_specs).await;
    if let Some((_, Ok(read))) = &specs {
        tokio::select! {
            () = shutdown.cancelled() => return Ok(()),
            done = init::run(&read.file.plugins, &services) => done?,
        }
    }
    let parts = Parts::new(services, shutdown);
    let builtins = loading::register(&parts.registry, &options.components);
    let mut reload = Reload::default();
    follow_exports(options.exports, &parts, &mut reload).await?;
    parts
        .tasks
        .spawn(process::look_after_orphans(parts.shutdown.clone()));
    let plugins = Arc::new(Plugins::new(
        Arc::clone(&parts.registry),
        parts.scheduler(),
        runtime.clone(),
        &options.data_dir,
    ));
    parts.scheduler().spawn(Arc::clone(&plugins).look_after());
    let reload_now = port.reload_now();
    reload.on("certificate and token", move || {
        // Read by the server's own task, which says what is wrong with them.
        reload_now.notify_one();
        std::future::ready(Ok(()))
    });
    plugin_sources::start(&parts, &plugins, specs, &options.data_dir, &mut reload).await;
    let backend = backend(&parts, &plugins, options.shown, options.dcgm_names);
    let (page, address) = (port.page.clone(), port.address());
    let (local_socket, bound) = (options.local_socket, options.bound_socket);
    let local_socket = local_socket.and_then(|path| api_port::open_local_socket(&path, bound));
    let socket_path = local_socket.as_ref().map(|socket| socket.path().to_owned());
    let shutdown = parts.shutdown.clone();
    let services = Arc::clone(&parts.services);
    let serving = port.serve(local_socket, Arc::new(backend), services, shutdown);
    parts.tasks.spawn(serving);
    maintenance::start(&parts);
    let data_dir = options.data_dir;
    let presence =
        address.map(|address| Presence::announce(&data_dir, address, socket_path.as_deref()));
    if let Some(Err(error)) = &presence {
        tracing::warn!("`gpud status` may not find this daemon: {error}");
    }
    let notifier = Arc::clone(&options.service.notifier);
    let address = options.listen_address;
    systemd::serve_as(options.service, reload, &address, &store, &parts);
    tracing::info!(address, page, "gpud is ready");
    (options.announce)(&page);

    let kernel_log = load_all(&parts, &runtime, &builtins, &options.components, &plugins).await;
    parts.shutdown.cancelled().await;
    tracing::info!("stopping");
    notifier.stopping();
    drop(presence);
    stop(&parts, kernel_log, &store).await;
    Ok(())
}

/// Withholds secrets of exports from child processes, and returns the files that no check may read.
///
/// # Errors
/// One of the files without which the daemon cannot serve does not answer.
async fn own_files(options: &Options) -> Result<Vec<PathBuf>, NoAnswer> {
    let certificate = options.tls_files.iter().flat_map(|(one, key)| [one, key]);
    for needed in certificate.chain(&options.token_file) {
        let file = needed.clone();
        slow_files::in_time(needed, move || trusted::stamp(&file)).await?;
    }
    let mut own_files = vec![options.data_dir.clone()];
    own_files.extend(options.token_file.clone());
    own_files.extend(options.tls_files.as_ref().map(|(_, key)| key.clone()));
    exports::withhold_secrets(&options.exports.further);
    let further = options.exports.further.clone();
    let named = tokio::task::spawn_blocking(move || exports::secret_files_of(&further));
    let mut secrets: Vec<PathBuf> = named.await.unwrap_or_default();
    if let Some(path) = options.exports.file.clone() {
        let file = path.clone();
        let named = slow_files::in_time(&path, move || exports::secret_files(&file));
        secrets.extend(named.await.unwrap_or_default());
    }
    for secret in secrets {
        let file = secret.clone();
        match slow_files::in_time(&secret, move || trusted::stamp(&file)).await {
            Ok(_) => own_files.push(secret),
            Err(late) => tracing::error!("a secret of an export cannot be read: {late}"),
        }
    }
    Ok(own_files)
}

/// Starts the exports, and has SIGHUP look at their file.
async fn follow_exports(
    options: exports::Options,
    parts: &Parts,
    reload: &mut Reload,
) -> Result<(), StartError> {
    let (registry, services) = (Arc::clone(&parts.registry), Arc::clone(&parts.services));
    let look = exports::start(options, registry, services, &parts.tasks, &parts.shutdown).await?;
    reload.on("the exports", move || parts::look_now(look.clone()));
    Ok(())
}

/// Returns what the API answers with.
fn backend(
    parts: &Parts,
    plugins: &Arc<Plugins>,
    config: EffectiveConfig,
    dcgm_names: bool,
) -> DaemonBackend {
    DaemonBackend {
        registry: Arc::clone(&parts.registry),
        services: Arc::clone(&parts.services),
        plugins: Arc::clone(plugins),
        inventory: Collector::new(&parts.services.node),
        config,
        dcgm_names,
        own_series: OwnSeries::new(Arc::clone(&parts.registry), Arc::clone(&parts.services)),
    }
}

/// Loads the built-in components, and then reads the kernel log.
async fn load_all(
    parts: &Parts,
    runtime: &Runtime,
    builtins: &[RegisteredBuiltin],
    selection: &Selection,
    plugins: &Plugins,
) -> Option<Arc<KernelLog>> {
    let scheduler = parts.scheduler();
    tokio::select! {
        () = parts.shutdown.cancelled() => {}
        () = loading::load_all(runtime, builtins, selection, &scheduler) => {}
    }
    let kernel_log = kernel_records::start(parts, plugins).await;
    tracing::info!(
        components = parts.registry.names().len(),
        compiled = runtime.compiled(),
        "all components are loaded"
    );
    kernel_log
}

/// Ends checks and tasks, and saves what is not stored yet.
async fn stop(parts: &Parts, kernel_log: Option<Arc<KernelLog>>, store: &Store) {
    if let Some(log) = kernel_log {
        // Joins threads, for a second at most.
        let _ = tokio::task::spawn_blocking(move || log.shutdown()).await;
    }
    for component in parts.registry.all() {
        component.close();
    }
    parts.tasks.close();
    let ended = tokio::time::timeout(STOP_WAIT, parts.tasks.wait()).await;
    if ended.is_err() {
        tracing::warn!("checks that did not stop in time are ended");
    }
    process::end_all().await;
    parts.services.save_unsaved().await;
    if let Err(error) = store.checkpoint_and_close().await {
        tracing::warn!("the database was not closed in good order: {error}");
    }
}
