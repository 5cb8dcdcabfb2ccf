//! The tasks of a daemon besides its checks: it stores metrics, removes old rows, and looks for GPUs.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tokio_util::sync::CancellationToken;

use super::{database, parts::Parts, purge_clock::PurgeClock};
use crate::{
    component::Services,
    metrics,
    node::{clock::SET_MS, clock_watch::ClockWatch},
    store::{PurgeCounts, Store, StoreError},
};

/// How often metrics are stored, and the inventory of GPUs is looked at.
const HOUSEKEEPING: Duration = Duration::from_secs(60);
/// How often old rows are removed, in rounds of housekeeping: it takes nine transactions, some of which count all rows.
const PURGE_ROUNDS: u32 = 10;
/// How often a database that is in memory since its file cannot be written is tried to be moved into that file.
const RETURN_TO_FILE: Duration = Duration::from_secs(5);
/// How often the clock is compared with the boot's, besides when the kernel says that it was set.
const FOLLOW_CLOCK: Duration = Duration::from_secs(60);

/// Starts all of it.
pub fn start(parts: &Parts) {
    let services = || Arc::clone(&parts.services);
    let shutdown = || parts.shutdown.clone();
    parts.tasks.spawn(housekeeping(services(), shutdown()));
    parts.tasks.spawn(return_to_file(services(), shutdown()));
    parts.tasks.spawn(keep_gpus(services(), shutdown()));
    parts.tasks.spawn(follow_clock(services(), shutdown()));
}

/// Keeps the inventory of GPUs, so that requests need not ask the driver; and notices without any check when a driver
/// comes.
async fn keep_gpus(services: Arc<Services>, shutdown: CancellationToken) {
    tokio::select! {
        () = shutdown.cancelled() => {}
        () = services.node.nvml.keep_inventory(HOUSEKEEPING) => {}
    }
}

/// Stores metrics once a minute, and removes old rows less often, unless a component fills the database.
async fn housekeeping(services: Arc<Services>, shutdown: CancellationToken) {
    let Some(store) = services.store.clone() else {
        return;
    };
    let mut until_purge = 1;
    let began = Instant::now();
    let mut purge_clock = PurgeClock::new(services.node.clock.now_ms());
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
        if until_purge > 0 && !is_full(&store) {
            continue;
        }
        let purge_time = purge_clock.advance(now, began.elapsed());
        until_purge = match store.purge(purge_time).await {
            Ok(purged) => rounds_until_next(purged),
            Err(error) => {
                tracing::error!("old rows could not be removed: {error}");
                1
            }
        };
    }
}

/// Whether the last write found no room: in the database, where a purge makes some, or on the disk.
fn is_full(store: &Store) -> bool {
    matches!(store.health(), Some(StoreError::DiskFull(_)))
}

/// A component that has filled its share goes on filling it: the next purge comes a round later.
fn rounds_until_next(purged: PurgeCounts) -> u32 {
    match purged.excess > 0 || purged.heavy > 0 {
        true => 1,
        false => PURGE_ROUNDS,
    }
}

/// Corrects what the database has of the future after the clock was set back.
async fn follow_clock(services: Arc<Services>, shutdown: CancellationToken) {
    let (Some(store), Some(mut known)) =
        (services.store.clone(), services.node.clock.booted_at_ms())
    else {
        return;
    };
    let watch = ClockWatch::new()
        .inspect_err(|error| tracing::warn!("the clock is looked at once a minute only: {error}"))
        .ok();
    loop {
        let set = async {
            match &watch {
                Some(watch) => watch.was_set().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = shutdown.cancelled() => return,
            () = set => {}
            () = tokio::time::sleep(FOLLOW_CLOCK) => {}
        }
        let Some(booted) = services.node.clock.booted_at_ms() else {
            return;
        };
        let set_back = known.saturating_sub(booted);
        if set_back > SET_MS {
            tracing::warn!(
                "the clock was set back by {} s: the boot and set-healthy marks get new times",
                set_back / 1000
            );
            database::record_reboot(&store, &services.node).await;
        }
        // Also where it was set forward. Less than a second adds up until it counts.
        if known.abs_diff(booted) > SET_MS {
            known = booted;
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_that_fills_the_database_is_looked_at_again_soon() {
        let none = PurgeCounts::default();
        let old = PurgeCounts { old: 9, ..none };
        let excess = PurgeCounts { excess: 1, ..none };
        let heavy = PurgeCounts { heavy: 1, ..none };
        let rounds = [none, old, excess, heavy].map(rounds_until_next);
        assert_eq!(rounds, [PURGE_ROUNDS, PURGE_ROUNDS, 1, 1]);
    }
}
