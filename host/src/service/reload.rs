//! The parts of the daemon that SIGHUP reloads.

use std::{pin::Pin, sync::Arc};

use tokio::sync::mpsc::Receiver;
use tokio_util::sync::CancellationToken;

use super::notify::Notifier;

type Hook = Box<dyn Fn() -> Pin<Box<dyn Future<Output = Result<(), String>> + Send>> + Send + Sync>;

/// The hooks that reload something, in order.
#[derive(Default)]
pub struct Reload {
    hooks: Vec<(&'static str, Hook)>,
}

impl Reload {
    /// Adds one: what it is, for the log, and how it is read. The former stays in force when that fails.
    pub fn on<F>(&mut self, what: &'static str, hook: impl Fn() -> F + Send + Sync + 'static)
    where
        F: Future<Output = Result<(), String>> + Send + 'static,
    {
        self.hooks.push((what, Box::new(move || Box::pin(hook()))));
    }

    /// The same before all others.
    pub fn first<F>(&mut self, what: &'static str, hook: impl Fn() -> F + Send + Sync + 'static)
    where
        F: Future<Output = Result<(), String>> + Send + 'static,
    {
        self.hooks
            .insert(0, (what, Box::new(move || Box::pin(hook()))));
    }

    /// Reloads everything at each hang-up until `shutdown`, and notifies systemd. `status` is the text that systemd
    /// then gets.
    pub async fn run(
        self,
        mut hangups: Receiver<()>,
        notifier: Arc<Notifier>,
        status: String,
        shutdown: CancellationToken,
    ) {
        loop {
            tokio::select! {
                () = shutdown.cancelled() => return,
                hangup = hangups.recv() => if hangup.is_none() { return },
            }
            notifier.reloading();
            for (what, hook) in &self.hooks {
                if let Err(problem) = hook().await {
                    tracing::error!("SIGHUP: {what}: {problem}");
                }
            }
            tracing::info!("SIGHUP: settings were read again");
            notifier.ready(&status);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn every_hook_runs_whatever_the_others_do() {
        let count = Arc::new(AtomicUsize::new(0));
        let mut reload = Reload::default();
        let counter = Arc::clone(&count);
        reload.first("the first", || async { Err("no".to_owned()) });
        reload.on("the second", move || {
            let counter = Arc::clone(&counter);
            async move {
                counter.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
        });
        let (send, hangups) = tokio::sync::mpsc::channel(2);
        send.send(()).await.unwrap();
        send.send(()).await.unwrap();
        drop(send);
        let shutdown = CancellationToken::new();
        let done = reload.run(hangups, Arc::default(), String::new(), shutdown);
        done.await;
        assert_eq!(count.load(Ordering::Relaxed), 2);
    }
}
