//! The services that the parts of a running daemon share.

use std::sync::Arc;

use tokio::{
    sync::{mpsc::Sender, oneshot},
    time::Instant,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::component::{Registry, Services, scheduler::Scheduler};

/// What the parts of a running daemon share.
pub struct Parts {
    /// All components.
    pub registry: Arc<Registry>,
    /// The machine, the store, the metrics.
    pub services: Arc<Services>,
    /// Everything that runs beside the checks.
    pub tasks: TaskTracker,
    /// Cancelled when the daemon is to stop.
    pub shutdown: CancellationToken,
    /// When it started.
    start: Instant,
}

impl Parts {
    /// Begins a daemon without components.
    pub fn new(services: Arc<Services>, shutdown: CancellationToken) -> Self {
        Self {
            registry: Arc::new(Registry::default()),
            services,
            tasks: TaskTracker::new(),
            shutdown,
            start: Instant::now(),
        }
    }

    /// Returns a scheduler for checks.
    pub fn scheduler(&self) -> Scheduler {
        Scheduler::new(
            Arc::clone(&self.services),
            self.tasks.clone(),
            self.shutdown.clone(),
            self.start,
        )
    }

    /// Runs work beside the checks until the daemon stops.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let shutdown = self.shutdown.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                () = shutdown.cancelled() => {}
                () = work => {}
            }
        });
    }
}

/// Has the watcher look at the spec file now, and waits until it has. What it finds, it says itself.
pub async fn look_now(look: Sender<oneshot::Sender<()>>) -> Result<(), String> {
    let (done, looked) = oneshot::channel();
    if look.send(done).await.is_ok() {
        let _ = looked.await;
    }
    Ok(())
}
