//! The daemon as a service: signs of life, and what is reloaded on SIGHUP.

use std::sync::Arc;

use super::parts::Parts;
use crate::{
    logging::Reopener,
    service::{Service, reload::Reload, watchdog},
    store::Store,
};

/// Notifies systemd that the daemon is ready and alive, and handles SIGHUP.
pub fn serve_as(service: Service, mut reload: Reload, address: &str, store: &Store, parts: &Parts) {
    let Service {
        notifier,
        watchdog,
        hangups,
        log,
    } = service;
    let status = format!("serving at {address}");
    notifier.ready(&status);
    if let Some(interval) = watchdog {
        let store = store.clone();
        let alive = move || store.is_alive();
        let notifier = Arc::clone(&notifier);
        let shutdown = parts.shutdown.clone();
        let watchdog = watchdog::run(notifier, interval, alive, shutdown);
        parts.tasks.spawn(watchdog);
    }
    if let Some(hangups) = hangups {
        // First: what the others have to say belongs into the new file.
        reload.first("the log file", move || reopen(log.clone()));
        let shutdown = parts.shutdown.clone();
        let reload = reload.run(hangups, notifier, status, shutdown);
        parts.tasks.spawn(reload);
    }
}

async fn reopen(log: Reopener) -> Result<(), String> {
    let done = tokio::task::spawn_blocking(move || log.reopen()).await;
    match done {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    }
}
