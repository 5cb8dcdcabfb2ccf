//! What a daemon does besides its checks: stores metrics, removes old rows, and looks for GPUs.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use super::parts::Parts;
use crate::{component::Services, metrics};

/// How often metrics are stored, and the inventory of GPUs is looked at.
const HOUSEKEEPING: Duration = Duration::from_secs(60);
/// How often old rows are removed, in rounds of housekeeping: it takes nine transactions, some of which count all rows.
const PURGE_ROUNDS: u32 = 10;
/// How often it is tried to move a database that is in memory for want of a file into that file.
const RETURN_TO_FILE: Duration = Duration::from_secs(5);

/// Starts all of it.
pub fn start(parts: &Parts) {
    let services = || Arc::clone(&parts.services);
    let shutdown = || parts.shutdown.clone();
    parts.tasks.spawn(housekeeping(services(), shutdown()));
    parts.tasks.spawn(return_to_file(services(), shutdown()));
    parts.tasks.spawn(keep_gpus(services(), shutdown()));
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
