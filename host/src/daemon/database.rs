//! The database of the daemon.

use super::StartError;
use crate::{
    node::Node,
    store::{Store, StoreOptions},
};

/// Opens the database. Writes to the log where it could not be opened as it was, or not in its file.
pub async fn open(options: StoreOptions) -> Result<Store, StartError> {
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

/// Records that the machine has booted, unless that is known, and corrects what a clock that was set back left in the
/// future: the present boot, and set-healthy marks.
pub async fn record_reboot(store: &Store, node: &Node) {
    let now = node.clock.now_ms();
    if let Err(error) = store.settle_marks(now).await {
        tracing::error!("set-healthy marks in the future stay there: {error}");
    }
    let recorded = store
        .record_reboot(now, node.boot_time(), &node.boot.id)
        .await;
    if let Err(error) = recorded {
        tracing::error!("the boot could not be recorded: {error}");
    }
}
