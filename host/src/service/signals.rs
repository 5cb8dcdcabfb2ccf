//! SIGHUP reloads settings, SIGUSR1 writes down what the daemon's threads do. Without a handler either would end it.

use std::{io, process};

use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc::{Receiver, channel},
};

use super::threads;
use crate::node::trusted;

/// Listens for both from now on. The receiver gets one item for any number of SIGHUPs that come while it is busy.
///
/// # Errors
/// The handlers cannot be set.
pub fn listen() -> io::Result<Receiver<()>> {
    let mut hangup = signal(SignalKind::hangup())?;
    let mut user = signal(SignalKind::user_defined1())?;
    let (send, receive) = channel(1);
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = hangup.recv() => {
                    // Full: one still has to be handled, and will see what this one is about.
                    let _ = send.try_send(());
                }
                _ = user.recv() => write_threads().await,
            }
        }
    });
    Ok(receive)
}

async fn write_threads() {
    let tasks = tokio::runtime::Handle::current().metrics();
    let work = move || threads::write(&trusted::temporary_folder(), process::id(), &tasks);
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(path)) => tracing::info!(file = %path.display(), "SIGUSR1: what the threads do"),
        Ok(Err(error)) => {
            tracing::error!("SIGUSR1: what the threads do cannot be written: {error}")
        }
        Err(error) => tracing::error!("SIGUSR1: {error}"),
    }
}
