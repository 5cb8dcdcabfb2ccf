//! What all components of a daemon share.

use std::sync::{Arc, OnceLock};

use super::latch::Latches;
use crate::{
    metrics,
    node::{
        Node,
        kmsg::{KernelLog, SourceState},
    },
    store::Store,
};

/// What all components share.
pub struct Services {
    /// The machine.
    pub node: Arc<Node>,
    /// What the daemon remembers; `None` in a scan.
    pub store: Option<Store>,
    /// Present values of all metrics.
    pub metrics: Arc<metrics::Registry>,
    /// The kernel log, once it is read.
    pub kernel_log: OnceLock<Arc<KernelLog>>,
    /// Verdicts that stay until something clears them.
    pub(super) latches: Latches,
}

impl Services {
    /// With the latched verdicts that the store kept.
    pub async fn new(
        node: Arc<Node>,
        store: Option<Store>,
        metrics: Arc<metrics::Registry>,
    ) -> Self {
        let latches = Latches::load(store.as_ref()).await;
        Self {
            node,
            store,
            metrics,
            kernel_log: OnceLock::new(),
            latches,
        }
    }

    /// Why nothing comes from the kernel log, if so: what is drawn from it is then not to be trusted.
    pub(super) fn kernel_log_problem(&self) -> Option<String> {
        match self.kernel_log.get()?.status().state {
            SourceState::Unavailable { error, .. } => {
                Some(format!("the kernel log is not read: {error}"))
            }
            _ => None,
        }
    }
}
