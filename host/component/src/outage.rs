//! What happens to findings while the database cannot be written: the kernel log's wait, those of checks are kept for
//! the component's next commit. A failure of the database is nobody else's: no checker is blamed for it.

use std::{future::Future, time::Duration};

use super::{Services, commit};
use crate::store::{Commit, Inserted, StoreError};

/// The wait before the second try.
pub(super) const FIRST_WAIT: Duration = Duration::from_millis(100);
/// The longest wait between two tries; it ends early when some other write works.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Commits, trying for as long as the database cannot be written. `None`: `ended` came first, and nothing was stored.
/// While events wait, the component reads them as if they were stored; `changed` is called when that begins and ends.
///
/// # Errors
/// Failures that another try does not resolve.
pub(super) async fn commit_when_possible(
    services: &Services,
    component: &str,
    found: Commit,
    changed: impl Fn(),
    ended: impl Future<Output = ()>,
) -> Result<Option<Vec<Inserted>>, StoreError> {
    let Some(store) = &services.store else {
        return Ok(Some(Vec::new()));
    };
    if found == Commit::default() {
        return Ok(Some(Vec::new()));
    }
    let mut ended = std::pin::pin!(ended);
    let mut wait = FIRST_WAIT;
    let mut shown = None;
    loop {
        // What was found earlier is stored first.
        let stored = match commit::save_unsaved(services, component).await {
            Ok(()) => commit::commit_and_log(services, store, component, found.clone()).await,
            Err(error) => Err(error),
        };
        match stored {
            Err(error) if error.is_outage() => {
                tracing::debug!(component, "waiting for the database: {error}");
            }
            stored => {
                if shown.take().is_some() {
                    changed();
                }
                return stored.map(Some);
            }
        }
        if shown.is_none() {
            shown = Some(store.show_waiting(component, found.events.clone()));
            changed();
        }
        tokio::select! {
            () = &mut ended => return Ok(None),
            () = pause(services, &mut wait) => {}
        }
    }
}

/// Waits before another try, longer each time, or until a write works.
pub(super) async fn pause(services: &Services, wait: &mut Duration) {
    tokio::select! {
        () = tokio::time::sleep(*wait) => {}
        () = next_success(services) => {}
    }
    *wait = (*wait * 2).min(LONGEST_WAIT);
}

/// Waits until a write works, but not for a write that worked already.
async fn next_success(services: &Services) {
    match &services.store {
        Some(store) if store.outage().is_some() => store.outage_over().await,
        _ => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
