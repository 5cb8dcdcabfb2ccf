//! Reads the kernel log for the components that watch it.

use std::sync::Arc;

use super::parts::Parts;
use crate::{
    component::kernel_log::{self, Watchers},
    node::kmsg::KernelLog,
    plugins::Plugins,
};

/// Starts to read the kernel log, and feeds components and plugins from it. `None` where it cannot be read.
pub async fn start(parts: &Parts, plugins: &Plugins) -> Option<Arc<KernelLog>> {
    let (registry, services) = (&parts.registry, &parts.services);
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
                parts.tasks.clone(),
                parts.shutdown.clone(),
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
