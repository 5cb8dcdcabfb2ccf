//! Feeds the exports of `gpud-exports` with the findings of components, and shows how each export does.
//!
//! One task turns changes of the feed into records, one follows the file of exports, and one shows each export
//! as the component `export-NAME` and in the metrics. None of them is waited for by a check.

mod feed_reader;
mod file;
mod metrics;
mod records;
mod shown;
mod snapshot;

use std::{path::PathBuf, sync::Arc};

use gpud_exports::{
    Clock, Environment, Exports, MachineFacts, NodeIdentity, config::ExportConfig, http::Http,
    secret,
};
use tokio::sync::{mpsc::Sender, oneshot};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use file::{read, secret_files, secret_files_of, secrets_of_command, withhold_secrets};

use crate::{
    component::{Registry, Services},
    node::{
        Node,
        system::SystemFacts,
        trusted::{self, TrustError},
    },
};

/// Folder of the spools inside the data folder.
pub const SPOOL_FOLDER: &str = "exports";
/// How gpud names itself to servers.
pub const USER_AGENT: &str = concat!("gpud/", env!("CARGO_PKG_VERSION"));

/// The exports of a daemon, as its command line has them.
pub struct Options {
    /// The file of exports. It may be missing, and come.
    pub file: Option<PathBuf>,
    /// Exports besides those of the file.
    pub further: Vec<ExportConfig>,
    /// Folder with a folder for each export's spool; `None` keeps everything in memory.
    pub spool_folder: Option<PathBuf>,
}

impl Options {
    /// Returns the folder of spools inside a data folder.
    pub fn spool_folder(data_dir: &std::path::Path) -> PathBuf {
        data_dir.join(SPOOL_FOLDER)
    }
}

/// The exports of a daemon, with the sources that feed them.
struct DaemonExports {
    exports: Exports,
    registry: Arc<Registry>,
    services: Arc<Services>,
}

/// Returns the identity of this machine, for records.
pub async fn identity(node: &Node) -> NodeIdentity {
    let facts = SystemFacts::read(&node.files).await;
    NodeIdentity {
        hostname: facts.hostname.unwrap_or_default(),
        machine_id: facts.os_machine_id.unwrap_or_default(),
    }
}

/// Returns what this machine runs, for engines that describe the sender.
pub async fn machine(node: &Node) -> MachineFacts {
    let facts = SystemFacts::read(&node.files).await;
    MachineFacts {
        arch: facts.go_arch,
        os_name: facts.os.platform.unwrap_or_default(),
        os_version: facts.os.version.unwrap_or_default(),
        os_description: facts.os.pretty_name.unwrap_or_default(),
    }
}

/// Returns the services that exports may use.
pub fn environment(
    node: NodeIdentity,
    clock: crate::node::clock::Clock,
    secrets: Arc<dyn secret::SecretSource>,
    spool_folder: Option<PathBuf>,
) -> Environment {
    Environment {
        node,
        machine: MachineFacts::default(),
        clock: Clock::new(move || clock.now_ms()),
        secrets,
        http: Http::new(USER_AGENT),
        metrics: None,
        spool_folder,
    }
}

/// Starts everything; it ends after `shutdown`. An item that is sent to the returned channel has the file looked at now,
/// and is answered when that is done.
///
/// # Errors
/// The environment names certificates that others can change.
pub async fn start(
    options: Options,
    registry: Arc<Registry>,
    services: Arc<Services>,
    tasks: &TaskTracker,
    shutdown: &CancellationToken,
) -> Result<Sender<oneshot::Sender<()>>, TrustError> {
    trusted::check_certificates()?;
    let mut environment = environment(
        identity(&services.node).await,
        services.node.clock.clone(),
        file::secrets_of_daemon(),
        options.spool_folder,
    );
    environment.machine = machine(&services.node).await;
    environment.metrics = Some(Arc::new(metrics::SeriesSource::new(&registry, &services)));
    let daemon = Arc::new(DaemonExports {
        exports: Exports::new(environment.clone()),
        registry,
        services,
    });
    // Subscribed to before anything is checked, so that nothing is missed.
    let feed = daemon.services.feed.subscribe(None);
    let first = file::First::read(options.file.clone(), &options.further, &daemon).await;
    let healths = environment.spool_folder;
    let read_feed = feed_reader::run(Arc::clone(&daemon), environment.node, healths, feed);
    let (look, hurry) = tokio::sync::mpsc::channel(1);
    let follow = file::follow(
        Arc::clone(&daemon),
        options.file,
        options.further,
        first,
        hurry,
    );
    let show = shown::run(Arc::clone(&daemon));
    let until = shutdown.clone();
    tasks.spawn(async move {
        tokio::select! {
            () = until.cancelled() => {}
            _ = async { tokio::join!(read_feed, follow, show) } => {}
        }
        daemon.exports.stop().await;
    });
    Ok(look)
}
