//! All exports of a daemon.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::watch, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::{
    Context, Environment, Record, Snapshot,
    buffer::Buffer,
    config::ExportConfig,
    spool::Spool,
    status::{Status, StatusView},
    worker::Worker,
};

/// Component of an export's own state; its name follows.
pub const COMPONENT_PREFIX: &str = "export-";
/// Between two looks at queues whose records go to the disk.
const MOVING: Duration = Duration::from_millis(5);
/// The longest wait for them.
const LONGEST_MOVING: Duration = Duration::from_secs(2);

/// Runs exports. Giving it records and snapshots never waits.
#[derive(Debug)]
pub struct Exports {
    environment: Environment,
    snapshots: watch::Sender<Option<Arc<Snapshot>>>,
    running: Mutex<BTreeMap<String, RunningExport>>,
    /// Whether some export runs.
    any: watch::Sender<bool>,
    /// One change of the configuration after the other.
    applying: tokio::sync::Mutex<()>,
}

/// One export that runs.
#[derive(Debug)]
struct RunningExport {
    config: ExportConfig,
    buffer: Arc<Buffer>,
    status: Arc<Status>,
    stop: CancellationToken,
    task: Option<JoinHandle<()>>,
}

/// How one export does.
#[derive(Debug, Clone, PartialEq)]
pub struct ExportStatus {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: &'static str,
    /// Where it sends to, without secrets.
    pub target: String,
    /// Its counters.
    pub view: StatusView,
}

impl Exports {
    /// Makes it; nothing runs yet.
    pub fn new(environment: Environment) -> Self {
        Self {
            environment,
            snapshots: watch::Sender::new(None),
            running: Mutex::default(),
            any: watch::Sender::new(false),
            applying: tokio::sync::Mutex::default(),
        }
    }

    /// Makes these exports run and no others. One whose settings are as before is left alone; the counters and waiting
    /// records of one that changed stay.
    pub async fn apply(&self, configs: Vec<ExportConfig>) {
        let _one = self.applying.lock().await;
        let mut configs: BTreeMap<String, ExportConfig> = configs
            .into_iter()
            .map(|config| (config.name.clone(), config))
            .collect();
        let mut ending = Vec::new();
        for (name, running) in self.running().iter_mut() {
            if configs.get(name) == Some(&running.config) {
                configs.remove(name);
                continue;
            }
            running.stop.cancel();
            ending.extend(running.task.take().map(|task| (name.clone(), task)));
        }
        for (name, task) in ending {
            // It ends by itself within the workers' grace. Records that arrive in the meantime wait in its queue.
            if let Err(error) = task.await {
                tracing::error!(export = name, "the export's task failed: {error}");
            }
            match configs.remove(&name) {
                Some(config) => self.start(config).await,
                None => {
                    let mut running = self.running();
                    let old = running.remove(&name);
                    self.any.send_replace(!running.is_empty());
                    drop(running);
                    if let Some(old) = old {
                        log_undelivered(&old);
                    }
                }
            }
        }
        for config in configs.into_values() {
            self.start(config).await;
        }
    }

    /// Starts an export, in place of the one of its name whose task has ended.
    async fn start(&self, config: ExportConfig) {
        let name = config.name.clone();
        let status = self.running().get(&name).map(|old| Arc::clone(&old.status));
        let status = status.unwrap_or_default();
        let spool = self.open_spool(&config, &status).await;
        let buffer = Arc::new(Buffer::new(
            config.queue_records,
            spool,
            Arc::clone(&status),
            self.environment.clock.clone(),
        ));
        let stop = CancellationToken::new();
        let worker = Worker {
            context: Context {
                export: name.clone(),
                timeout: config.timeout,
                select: config.select.clone(),
                peer_user: config.peer_user.clone(),
                environment: self.environment.clone(),
                status: Arc::clone(&status),
            },
            buffer: Arc::clone(&buffer),
            snapshots: self.snapshots.subscribe(),
            batch_records: config.batch_records,
            longest_pause: config.longest_pause,
            stop: stop.clone(),
        };
        tracing::info!(
            export = name,
            kind = config.settings.kind(),
            target = config.settings.target(),
            "exporting"
        );
        // No record may come between the old buffer and the new one.
        let mut running = self.running();
        if let Some(old) = running.remove(&name) {
            buffer.take_over(&old.buffer);
        }
        let settings = config.settings.clone();
        let task = tokio::spawn(async move { settings.run(&worker).await });
        let started = RunningExport {
            config,
            buffer,
            status,
            stop,
            task: Some(task),
        };
        running.insert(name, started);
        self.any.send_replace(true);
    }

    /// Opens the spool of an export that wants one. Without it records wait in memory, and the state says so.
    async fn open_spool(&self, config: &ExportConfig, status: &Arc<Status>) -> Option<Spool> {
        let max_bytes = config.spool_bytes?;
        let folder = self.environment.spool_folder.as_ref()?.join(&config.name);
        if !config.settings.takes_records() {
            return None;
        }
        let opened = tokio::task::spawn_blocking(move || Spool::open(&folder, max_bytes)).await;
        let opened = opened.map_err(|error| error.to_string());
        match opened.and_then(|opened| opened.map_err(|error| error.to_string())) {
            Ok((spool, problems)) => {
                for problem in problems {
                    tracing::error!(export = config.name, "{problem}");
                }
                status.set_spool_problem(None);
                Some(spool)
            }
            Err(error) => {
                tracing::error!(export = config.name, "{error}; records wait in memory only");
                status.set_spool_problem(Some(format!("{error}; records wait in memory only")));
                None
            }
        }
    }

    /// Gives a record to all exports that want it. An export does not hear of its own state.
    pub fn push(&self, record: &Arc<Record>) {
        let of_export = record.component().strip_prefix(COMPONENT_PREFIX);
        for running in self.running().values() {
            let config = &running.config;
            let is_own = of_export == Some(config.name.as_str());
            if config.settings.takes_records() && !is_own && config.select.wants(record) {
                running.buffer.push(Arc::clone(record));
            }
        }
    }

    /// Waits until there is room in the queues whose records go to the disk: a burst is faster than the disk. Returns false
    /// if there was none in time.
    pub async fn room(&self) -> bool {
        let room = async {
            while self.is_moving() {
                tokio::time::sleep(MOVING).await;
            }
        };
        tokio::time::timeout(LONGEST_MOVING, room).await.is_ok()
    }

    /// Whether the disk is about to take over a queue that fills up.
    pub fn is_moving(&self) -> bool {
        let running = self.running();
        running.values().any(|running| running.buffer.is_moving())
    }

    /// Replaces the picture of the node's present state.
    pub fn show(&self, snapshot: Snapshot) {
        self.snapshots.send_if_modified(|present| {
            let is_new = present.as_deref() != Some(&snapshot);
            if is_new {
                *present = Some(Arc::new(snapshot));
            }
            is_new
        });
    }

    /// Returns true if some export wants the node's present state.
    pub fn wants_snapshots(&self) -> bool {
        let running = self.running();
        running
            .values()
            .any(|r| r.config.settings.takes_snapshots())
    }

    /// Returns true if no export runs.
    pub fn is_empty(&self) -> bool {
        self.running().is_empty()
    }

    /// Waits until some export runs.
    pub async fn wait_for_any(&self) {
        // It fails only without a sender, which is here.
        let _ = self.any.subscribe().wait_for(|any| *any).await;
    }

    /// Returns how all of them do, ascending by name.
    pub fn statuses(&self) -> Vec<ExportStatus> {
        let running = self.running();
        let status = |(name, running): (&String, &RunningExport)| ExportStatus {
            name: name.clone(),
            kind: running.config.settings.kind(),
            target: running.config.settings.target(),
            view: running.status.view(),
        };
        running.iter().map(status).collect()
    }

    /// Ends all exports, within the workers' grace.
    pub async fn stop(&self) {
        self.apply(Vec::new()).await;
    }

    fn running(&self) -> MutexGuard<'_, BTreeMap<String, RunningExport>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Logs how many records are left of an export that ends.
fn log_undelivered(old: &RunningExport) {
    let view = old.status.view();
    let name = &old.config.name;
    if view.queued > 0 {
        let count = view.queued;
        tracing::warn!(
            export = name,
            "{count} records in memory were not delivered"
        );
    }
    if view.spooled > 0 {
        let count = view.spooled;
        tracing::info!(
            export = name,
            "{count} records wait in the spool for the next start"
        );
    }
}
