//! What happens to findings while the database cannot be written: the kernel log's wait, those of checks are kept for
//! the component's next commit. A failure of the database is nobody else's: no checker is blamed for it.

use std::{future::Future, time::Duration};

use super::{Services, commit};
use crate::store::{Commit, Inserted, StoreError};

/// The wait before the second try.
pub(super) const FIRST_WAIT: Duration = Duration::from_millis(100);
/// The longest wait between two tries; it ends early when some other write works.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// How long a write may take before the component judges by what it writes: behind another process's lock, each write takes
/// seconds.
const SHOWN_AFTER: Duration = Duration::from_secs(1);

/// Commits, trying for as long as the database cannot be written. `None`: `ended` came first, and nothing was stored.
/// Events that wait for longer than `SHOWN_AFTER` are read by the component as if they were stored; `changed` is called
/// when that begins and ends.
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
        let attempt = async {
            commit::save_unsaved(services, component).await?;
            commit::commit_and_log(services, store, component, found.clone()).await
        };
        let mut attempt = std::pin::pin!(attempt);
        let show = || {
            let waiting = store.show_waiting(component, found.events.clone());
            changed();
            waiting
        };
        let stored = match tokio::time::timeout(SHOWN_AFTER, &mut attempt).await {
            Ok(stored) => stored,
            Err(_) => {
                shown.get_or_insert_with(show);
                attempt.await
            }
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
        shown.get_or_insert_with(show);
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
