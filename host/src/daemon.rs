//! The daemon put together: what is started in which order, and how it stops.
//!
//! The API answers first; plugins are compiled and loaded behind it, then the kernel log is read and everything runs
//! on its schedule.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::{
    sync::{
        Notify,
        mpsc::{self, Sender},
        oneshot,
    },
    task::JoinSet,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    backend::{DaemonBackend, EffectiveConfig},
    capability::Grants,
    component::{
        Component, ComponentConfig, OwnSeries, Registry, Services, WasmChecker,
        builtin::{self, Builtin},
        kernel_log::{self, Watchers},
        scheduler::Scheduler,
        troubles,
    },
    exports,
    logging::Reopener,
    machine_info::Collector,
    metrics,
    node::{
        Node,
        kmsg::KernelLog,
        local_socket::{BoundSocket, LocalSocket},
        nvml, process,
    },
    pack::installed::Packs,
    plugins::{
        Plugins,
        file::Stamps,
        init, packs,
        watch::{self, ReadSpecFile},
    },
    runtime::{Compiler, Limits, PluginSource, Runtime, Wasm},
    server,
    service::{Service, presence::Presence, reload::Reload, watchdog},
    store::{Store, StoreOptions},
};

/// How often metrics are stored, and the inventory of GPUs is looked at.
const HOUSEKEEPING: Duration = Duration::from_secs(60);
/// How often old rows are removed, in rounds of housekeeping: it takes nine transactions, some of which count all rows.
const PURGE_ROUNDS: u32 = 10;
/// How often it is tried to move a database that is in memory for want of a file into that file.
const RETURN_TO_FILE: Duration = Duration::from_secs(5);
/// Longest that checks under way may take to stop.
const STOP_WAIT: Duration = Duration::from_secs(5);
/// The component that says what is wrong with the site's configuration of components. It is only there while something is.
const CONFIGS: &str = troubles::COMPONENT_CONFIGS;
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
    /// What `/admin/config` shows.
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
    /// The problem with the site's configuration, of which then nothing is used. The component [`CONFIGS`] shows it.
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
    let Options {
        data_dir,
        store,
        compiler,
        components,
        listen_address,
        tls_files,
        dcgm_names,
        require_token,
        token_file,
        local_socket,
        bound_socket,
        allowed_hosts,
        allowed_origins,
        profiling,
        replacements,
        plugin_specs,
        exports,
        nvml,
        shown,
        service,
        announce,
    } = options;
    let notifier = Arc::clone(&service.notifier);
    let mut own_files = vec![data_dir.clone()];
    own_files.extend(token_file.clone());
    own_files.extend(tls_files.as_ref().map(|(_, key)| key.clone()));
    exports::withhold_secrets(&exports.further);
    if let Some(path) = exports.file.clone() {
        let named = tokio::task::spawn_blocking(move || exports::secret_files(&path));
        own_files.extend(named.await.unwrap_or_default());
    }
    let node = Node::live_with(nvml).await?.replacing(replacements);
    let node = Arc::new(node.sealing(&own_files)?);
    let listener = server::bind(&listen_address).await?;
    let hostname = node.hostname().await;
    let address = listener.local_addr();
    let page = address.as_ref().map_or_else(
        |_| String::new(),
        |address| server::page_address(*address, &hostname),
    );
    let mut reloaded: Vec<Arc<dyn server::Reload>> = Vec::new();
    let mut sites = server::Sites {
        hosts: server::Sites::names_of_machine(&hostname),
        certificate: None,
        origins: allowed_origins,
    };
    sites.hosts.extend(allowed_hosts);
    let tls = match &tls_files {
        Some((certificate, key)) => {
            let (tls, certificate) = server::from_files(certificate, key)?;
            sites.certificate = Some(Arc::clone(&certificate));
            reloaded.push(certificate);
            tls
        }
        None => server::self_signed(&hostname)?,
    };
    let store = open_store(store).await?;
    // An unknown address counts as open to all.
    let wide = listener
        .local_addr()
        .map_or(true, |address| !address.ip().to_canonical().is_loopback());
    let named = token_file.is_some();
    let file = token_file.unwrap_or_else(|| data_dir.join(server::TOKEN_FILE));
    // Where only this machine can connect, root and gpud's own user need none, and others have none unless somebody made it.
    let token = match wide || require_token || named || file.exists() {
        true => {
            let token = Arc::new(server::Token::open(&file)?);
            reloaded.push(Arc::<server::Token>::clone(&token));
            Some(token)
        }
        false => None,
    };
    let reload_now = Arc::new(Notify::new());
    let serving = server::Serving {
        tls,
        access: server::Access {
            token,
            require_token,
        },
        sites,
        profiling,
        reloaded,
        reload_now: Arc::clone(&reload_now),
    };
    record_reboot(&store, &node).await;
    let runtime = Runtime::start(&data_dir.join(CACHE_FOLDER), compiler, Arc::clone(&node))?;
    let metrics = Arc::new(metrics::Registry::new());
    let services = Services::new(node, Some(store.clone()), metrics).await;
    let services = Arc::new(services);
    let specs = read_specs(plugin_specs).await;
    if let Some((_, Ok(read))) = &specs {
        tokio::select! {
            () = shutdown.cancelled() => return Ok(()),
            done = init::run(&read.file.plugins, &services) => done?,
        }
    }
    let registry = Arc::new(Registry::default());
    let builtins: Vec<(Builtin, Arc<Component>)> = builtin::all()
        .into_iter()
        .filter(|builtin| (components.enabled)(builtin.component))
        .filter_map(|builtin| {
            let component = registry.add(Component::loading(builtin.component)).ok()?;
            Some((builtin, component))
        })
        .collect();
    if let Some(problem) = &components.problem {
        tracing::error!("{problem}");
        let shown = format!("the configuration of components is not used: {problem}");
        // The name is not a built-in component's, and plugins come later.
        let _ = registry.add(Component::of_problem(CONFIGS, shown));
    }
    let tasks = TaskTracker::new();
    let mut reload = Reload::default();
    let (all, shared) = (Arc::clone(&registry), Arc::clone(&services));
    let look = exports::start(exports, all, shared, &tasks, &shutdown).await?;
    reload.on("the exports", move || look_now(look.clone()));
    tasks.spawn(process::look_after_orphans(shutdown.clone()));
    let start = tokio::time::Instant::now();
    let scheduler = || {
        Scheduler::new(
            Arc::clone(&services),
            tasks.clone(),
            shutdown.clone(),
            start,
        )
    };
    let plugins = Arc::new(Plugins::new(
        Arc::clone(&registry),
        scheduler(),
        runtime.clone(),
        &data_dir,
    ));
    scheduler().spawn(Arc::clone(&plugins).look_after());
    reload.on("certificate and token", move || {
        // Read by the server's own task, which says what is wrong with them.
        reload_now.notify_one();
        std::future::ready(Ok(()))
    });
    if let Some((path, read)) = specs {
        let look = start_plugins(&plugins, path, read, &tasks, &shutdown).await;
        reload.on("the plugin specs", move || look_now(look.clone()));
    }
    let look_at_packs = Arc::new(Notify::new());
    let installed = packs::run(
        Arc::clone(&plugins),
        Packs::of(&data_dir),
        Arc::clone(&look_at_packs),
    );
    reload.on("installed packs", move || {
        look_at_packs.notify_one();
        std::future::ready(Ok(()))
    });
    let until = shutdown.clone();
    tasks.spawn(async move {
        tokio::select! {
            () = until.cancelled() => {}
            () = installed => {}
        }
    });
    let backend = DaemonBackend {
        registry: Arc::clone(&registry),
        services: Arc::clone(&services),
        plugins: Arc::clone(&plugins),
        inventory: Collector::new(&services.node),
        config: shown,
        dcgm_names,
        own_series: OwnSeries::new(Arc::clone(&registry), Arc::clone(&services)),
    };
    let local_socket = local_socket.and_then(|path| open_local_socket(&path, bound_socket));
    let socket_path = local_socket.as_ref().map(|socket| socket.path().to_owned());
    let entrances = server::Entrances {
        port: listener,
        local_socket,
    };
    tasks.spawn(server::serve(
        entrances,
        serving,
        Arc::new(backend),
        shutdown.clone(),
    ));
    tasks.spawn(housekeeping(Arc::clone(&services), shutdown.clone()));
    tasks.spawn(return_to_file(Arc::clone(&services), shutdown.clone()));
    tasks.spawn(keep_gpus(Arc::clone(&services), shutdown.clone()));
    let presence =
        address.and_then(|address| Presence::announce(&data_dir, address, socket_path.as_deref()));
    if let Err(error) = &presence {
        tracing::warn!("`gpud status` may not find this daemon: {error}");
    }
    serve_as(service, reload, &listen_address, &store, &tasks, &shutdown);
    tracing::info!(address = listen_address, page, "gpud is ready");
    announce(&page);

    let scheduler = scheduler();
    tokio::select! {
        () = shutdown.cancelled() => {}
        () = load_all(&runtime, &builtins, &components, &scheduler) => {}
    }
    let kernel_log = start_kernel_log(&registry, &services, &plugins, &tasks, &shutdown).await;
    tracing::info!(
        components = registry.names().len(),
        compiled = runtime.compiled(),
        "all components are loaded"
    );

    shutdown.cancelled().await;
    tracing::info!("stopping");
    notifier.stopping();
    drop(presence);
    if let Some(log) = kernel_log {
        // Joins threads, for a second at most.
        let _ = tokio::task::spawn_blocking(move || log.shutdown()).await;
    }
    for component in registry.all() {
        component.close();
    }
    tasks.close();
    if tokio::time::timeout(STOP_WAIT, tasks.wait()).await.is_err() {
        tracing::warn!("checks that did not stop in time are ended");
    }
    services.save_unsaved().await;
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

/// The Unix socket for local administration. Without it root's commands use the port.
fn open_local_socket(path: &Path, bound: Option<BoundSocket>) -> Option<LocalSocket> {
    let made = match bound {
        Some(bound) => bound.serve(),
        None => LocalSocket::bind(path),
    };
    match made {
        Ok(socket) => Some(socket),
        Err(error) => {
            tracing::warn!("there is no Unix socket for local administration: {error}");
            None
        }
    }
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
            Ok(component) => scheduler.schedule(component),
            Err(error) => tracing::error!("loading a component failed: {error}"),
        }
    }
}

/// Loads one built-in checker into its component, which shows what went wrong.
pub async fn load(
    runtime: &Runtime,
    builtin: &Builtin,
    component: &Component,
    config: &ComponentConfig,
) {
    let grants = match Grants::parse(&builtin.grants(&config.whole())) {
        Ok(grants) => grants.of_builtin(),
        Err(error) => return component.failed(error.to_string()),
    };
    let unpack = || builtin.unpack();
    let source = PluginSource {
        name: builtin.folder,
        wasm: Wasm::Packed {
            sha256: builtin.sha256,
            unpack: &unpack,
        },
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
                    let (config, problem) = config.resolve(&descriptor);
                    if let Some(problem) = problem {
                        component.runs_without(problem);
                    }
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
    registry: &Arc<Registry>,
    services: &Arc<Services>,
    plugins: &Plugins,
    tasks: &TaskTracker,
    shutdown: &CancellationToken,
) -> Option<Arc<KernelLog>> {
    let mut config = services.node.kmsg_config();
    config.resume_after = kernel_log::resume_after(registry, services).await;
    match KernelLog::start(config) {
        Ok(log) => {
            let log = Arc::new(log);
            let _ = services.kernel_log.set(Arc::clone(&log));
            let watchers = Arc::new(Watchers::new(
                Arc::clone(registry),
                Arc::clone(services),
                Arc::clone(&log),
                tasks.clone(),
                shutdown.clone(),
            ));
            plugins.feed_from(Arc::clone(&watchers));
            watchers.sync().await;
            Some(log)
        }
        Err(error) => {
            tracing::error!("the kernel log is not read: {error}");
            None
        }
    }
}

/// The spec file, if there is one; GPUd's daemon does without one that is not there, too.
async fn read_specs(path: Option<PathBuf>) -> Option<(PathBuf, Result<ReadSpecFile, String>)> {
    let path = path?;
    let read = watch::read(path.clone()).await;
    if let Err(problem) = &read {
        tracing::warn!("no plugins: {problem}");
    }
    Some((path, read))
}

/// Tells systemd that the daemon is ready and lives, and heeds SIGHUP.
fn serve_as(
    service: Service,
    mut reload: Reload,
    address: &str,
    store: &Store,
    tasks: &TaskTracker,
    shutdown: &CancellationToken,
) {
    let Service {
        notifier,
        watchdog,
        hangups,
        log,
    } = service;
    let status = format!("serving at {address}");
    notifier.ready(&status);
    if let Some(interval) = watchdog {
        let store = store.clone();
        let alive = move || store.is_alive();
        let notifier = Arc::clone(&notifier);
        tasks.spawn(watchdog::run(notifier, interval, alive, shutdown.clone()));
    }
    if let Some(hangups) = hangups {
        // First: what the others have to say belongs into the new file.
        reload.first("the log file", move || reopen(log.clone()));
        tasks.spawn(reload.run(hangups, notifier, status, shutdown.clone()));
    }
}

async fn reopen(log: Reopener) -> Result<(), String> {
    let done = tokio::task::spawn_blocking(move || log.reopen()).await;
    match done {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

/// Has the watcher look at the spec file now, and waits until it has. What it finds, it says itself.
async fn look_now(look: Sender<oneshot::Sender<()>>) -> Result<(), String> {
    let (done, looked) = oneshot::channel();
    if look.send(done).await.is_ok() {
        let _ = looked.await;
    }
    Ok(())
}

/// Starts the plugins of the spec file, and follows its edits. A file that is not there may come. Gives the way to have
/// the file looked at now.
async fn start_plugins(
    plugins: &Arc<Plugins>,
    path: PathBuf,
    read: Result<ReadSpecFile, String>,
    tasks: &TaskTracker,
    shutdown: &CancellationToken,
) -> Sender<oneshot::Sender<()>> {
    let (look, hurry) = mpsc::channel(1);
    let stamps = match read {
        Ok(ReadSpecFile { file, stamps }) => {
            plugins.start(file, &path, &stamps).await;
            stamps
        }
        Err(_) => Stamps::missing(path.clone()),
    };
    let (plugins, shutdown) = (Arc::clone(plugins), shutdown.clone());
    tasks.spawn(async move {
        tokio::select! {
            () = shutdown.cancelled() => {}
            () = watch::run(plugins, path, stamps, hurry) => {}
        }
    });
    look
}

/// Keeps the inventory of GPUs, so that requests need not ask the driver; and notices without any check when a driver
/// comes.
async fn keep_gpus(services: Arc<Services>, shutdown: CancellationToken) {
    tokio::select! {
        () = shutdown.cancelled() => {}
        () = services.node.nvml.keep_inventory(HOUSEKEEPING) => {}
    }
}

/// Stores metrics once a minute, and removes old rows less often, unless a component has too many.
async fn housekeeping(services: Arc<Services>, shutdown: CancellationToken) {
    let Some(store) = services.store.clone() else {
        return;
    };
    let mut until_purge = 1;
    loop {
        tokio::select! {
            () = shutdown.cancelled() => return,
            () = tokio::time::sleep(HOUSEKEEPING) => {}
        }
        services.save_unsaved().await;
        let now = services.node.clock.now_ms();
        if let Err(error) = metrics::scrape(&services.metrics, &store, now).await {
            tracing::error!("metrics could not be stored: {error}");
        }
        until_purge -= 1;
        if until_purge > 0 {
            continue;
        }
        until_purge = match store.purge(now).await {
            Ok(purged) if purged.excess > 0 => 1,
            Ok(_) => PURGE_ROUNDS,
            Err(error) => {
                tracing::error!("old rows could not be removed: {error}");
                1
            }
        };
    }
}

/// Moves a database that is in memory because its file could not be written into that file, once it can be.
async fn return_to_file(services: Arc<Services>, shutdown: CancellationToken) {
    let Some(store) = &services.store else { return };
    while store.is_fallback() {
        tokio::select! {
            () = shutdown.cancelled() => return,
            () = tokio::time::sleep(RETURN_TO_FILE) => {}
        }
        match store.move_to_file().await {
            Ok(true) => {
                tracing::warn!("the database is in its file again, with all that was in memory")
            }
            Ok(false) => {}
            Err(error) => tracing::debug!("the database stays in memory: {error}"),
        }
    }
}
