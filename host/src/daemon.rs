//! The daemon put together: what is started in which order, and how it stops.
//!
//! The API answers first; plugins are compiled and loaded behind it, then the kernel log is read and everything runs
//! on its schedule.

use std::{path::PathBuf, sync::Arc, time::Duration};

use serde_json::Value;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::{
    capability::Grants,
    component::{
        Component, DaemonBackend, EffectiveConfig, Registry, Services, WasmChecker,
        builtin::{self, Builtin},
        kernel_log,
        scheduler::Scheduler,
    },
    machine_info::Collector,
    metrics,
    node::{Node, kmsg::KernelLog},
    runtime::{Compiler, Limits, PluginSource, Runtime},
    server,
    store::{Store, StoreOptions},
};

/// How often metrics are stored and old rows removed.
const HOUSEKEEPING: Duration = Duration::from_secs(60);
/// Longest that checks under way may take to stop.
const STOP_WAIT: Duration = Duration::from_secs(5);
/// Folder of compiled code inside the data folder.
const CACHE_FOLDER: &str = "cache";

/// How a daemon is to run.
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
    /// Command lines for bash that replace lsblk and findmnt in the inventory.
    pub disk_commands: (Option<String>, Option<String>),
    /// What `/admin/config` shows.
    pub shown: EffectiveConfig,
}

/// Which built-in components run, and their configuration.
pub struct Selection {
    /// Does this one run?
    pub enabled: Box<dyn Fn(&str) -> bool + Send + Sync>,
    /// Its configuration, a JSON object.
    pub config: Box<dyn Fn(&str) -> Value + Send + Sync>,
}

/// Why a daemon could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
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
    /// WebAssembly.
    #[error("{0}")]
    Runtime(#[from] crate::runtime::StartError),
}

/// Runs a daemon until `shutdown`.
///
/// # Errors
/// [`StartError`]; once it runs, nothing stops it but `shutdown`.
pub async fn run(options: Options, shutdown: CancellationToken) -> Result<(), StartError> {
    let Options {
        data_dir,
        store,
        compiler,
        components,
        listen_address,
        tls_files,
        disk_commands: (lsblk, findmnt),
        shown,
    } = options;
    let node = Arc::new(Node::live().await?);
    let listener = server::bind(&listen_address).await?;
    let tls = match &tls_files {
        Some((certificate, key)) => server::from_files(certificate, key)?,
        None => server::self_signed(&node.hostname().await)?,
    };
    let store = open_store(store).await?;
    record_reboot(&store, &node).await;
    let runtime = Runtime::start(&data_dir.join(CACHE_FOLDER), compiler, Arc::clone(&node))?;
    let metrics = Arc::new(metrics::Registry::new());
    let services = Services::new(node, Some(store.clone()), metrics).await;
    let services = Arc::new(services);
    let registry = Arc::new(Registry::default());
    let builtins: Vec<(Builtin, Arc<Component>)> = builtin::all()
        .into_iter()
        .filter(|builtin| (components.enabled)(builtin.component))
        .filter_map(|builtin| {
            let component = registry.add(Component::loading(builtin.component)).ok()?;
            Some((builtin, component))
        })
        .collect();
    let backend = DaemonBackend {
        registry: Arc::clone(&registry),
        services: Arc::clone(&services),
        inventory: Collector::new(services.node.files.clone(), lsblk, findmnt),
        config: shown,
    };
    let mut tasks = JoinSet::new();
    let serving = server::serve(listener, tls, Arc::new(backend), shutdown.clone());
    tasks.spawn(serving);
    tasks.spawn(housekeeping(Arc::clone(&services), shutdown.clone()));
    tracing::info!(address = listen_address, "gpud is ready");

    let scheduler = Scheduler::new(Arc::clone(&services), shutdown.clone());
    tokio::select! {
        () = shutdown.cancelled() => {}
        () = load_all(&runtime, &builtins, &components, &scheduler, &mut tasks) => {}
    }
    let kernel_log = start_kernel_log(&registry, &services, &mut tasks, &shutdown).await;
    tracing::info!(
        components = registry.names().len(),
        compiled = runtime.compiled(),
        "all components are loaded"
    );

    shutdown.cancelled().await;
    tracing::info!("stopping");
    if let Some(log) = kernel_log {
        // Joins threads, for a second at most.
        let _ = tokio::task::spawn_blocking(move || log.shutdown()).await;
    }
    let stopped = async { while tasks.join_next().await.is_some() {} };
    if tokio::time::timeout(STOP_WAIT, stopped).await.is_err() {
        tracing::warn!("checks that did not stop in time are ended");
    }
    tasks.shutdown().await;
    if let Err(error) = store.checkpoint_and_close().await {
        tracing::warn!("the database was not closed in good order: {error}");
    }
    Ok(())
}

async fn open_store(options: StoreOptions) -> Result<Store, StartError> {
    // Opening may check a large file for seconds.
    let opened = tokio::task::spawn_blocking(move || Store::open(options)).await;
    let opened = opened.map_err(|_| crate::store::StoreError::Closed)??;
    if let Some(path) = opened.set_aside {
        tracing::error!(
            "the database was corrupt; it is set aside as {} and a new one begun",
            path.display()
        );
    }
    if let Some(problem) = opened.degraded {
        tracing::error!("nothing is kept across restarts, the database is in memory: {problem}");
    }
    Ok(opened.store)
}

async fn record_reboot(store: &Store, node: &Node) {
    let recorded = store
        .record_reboot(node.clock.now_ms(), node.boot.time, &node.boot.id)
        .await;
    if let Err(error) = recorded {
        tracing::error!("the boot could not be recorded: {error}");
    }
}

/// Loads the built-in checkers side by side; each runs as soon as it is there.
async fn load_all(
    runtime: &Runtime,
    builtins: &[(Builtin, Arc<Component>)],
    components: &Selection,
    scheduler: &Scheduler,
    tasks: &mut JoinSet<()>,
) {
    let mut loading = JoinSet::new();
    for (builtin, component) in builtins {
        let (runtime, builtin, component) =
            (runtime.clone(), builtin.clone(), Arc::clone(component));
        let config = (components.config)(builtin.component);
        loading.spawn(async move {
            load(&runtime, &builtin, &component, &config).await;
            component
        });
    }
    while let Some(loaded) = loading.join_next().await {
        match loaded {
            Ok(component) => scheduler.schedule(component, tasks),
            Err(error) => tracing::error!("loading a component failed: {error}"),
        }
    }
}

/// Loads one built-in checker into its component, which shows what went wrong.
pub async fn load(runtime: &Runtime, builtin: &Builtin, component: &Component, config: &Value) {
    let grants = match Grants::parse(&builtin.grants) {
        Ok(grants) => grants,
        Err(error) => return component.failed(error.to_string()),
    };
    let source = PluginSource {
        name: builtin.folder,
        wasm: builtin.wasm,
        grants,
        limits: Limits::default(),
    };
    match runtime.load(source).await {
        Ok(plugin) => {
            let plugin = Arc::new(plugin);
            let described = plugin
                .components()
                .iter()
                .find(|d| d.name == component.name());
            match described.cloned() {
                Some(descriptor) => {
                    let config = config.to_string().into();
                    component.ready(WasmChecker::new(plugin, descriptor, config));
                }
                None => component.failed(format!(
                    "plugin {} does not describe a component `{}`",
                    plugin.name(),
                    component.name()
                )),
            }
        }
        Err(error) => component.failed(error.to_string()),
    }
}

async fn start_kernel_log(
    registry: &Registry,
    services: &Arc<Services>,
    tasks: &mut JoinSet<()>,
    shutdown: &CancellationToken,
) -> Option<Arc<KernelLog>> {
    let mut config = services.node.kmsg_config();
    config.resume_after = kernel_log::resume_after(registry, services).await;
    match KernelLog::start(config) {
        Ok(log) => {
            let log = Arc::new(log);
            let _ = services.kernel_log.set(Arc::clone(&log));
            kernel_log::watch(registry, services, Arc::clone(&log), tasks, shutdown).await;
            Some(log)
        }
        Err(error) => {
            tracing::error!("the kernel log is not read: {error}");
            None
        }
    }
}

/// Stores metrics and removes old rows, once a minute.
async fn housekeeping(services: Arc<Services>, shutdown: CancellationToken) {
    let Some(store) = services.store.clone() else {
        return;
    };
    loop {
        tokio::select! {
            () = shutdown.cancelled() => return,
            () = tokio::time::sleep(HOUSEKEEPING) => {}
        }
        let now = services.node.clock.now_ms();
        if let Err(error) = metrics::scrape(&services.metrics, &store, now).await {
            tracing::error!("metrics could not be stored: {error}");
        }
        if let Err(error) = store.purge(now).await {
            tracing::error!("old rows could not be removed: {error}");
        }
    }
}
