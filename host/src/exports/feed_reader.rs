//! Turns changes of the feed into records, and keeps the picture of the node's present state up to date.

use std::{path::PathBuf, sync::Arc, time::Duration};

use gpud_exports::{LastHealths, NodeIdentity};
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use super::{DaemonExports, records, snapshot::Snapshots};
use crate::component::feed::{Change, ChangeId, Subscription};

/// How often the present state is looked at without a change: reasons move, and components come and go.
const LOOK: Duration = Duration::from_secs(5);

/// Reads the feed for the exports.
struct FeedReader {
    daemon: Arc<DaemonExports>,
    node: NodeIdentity,
    healths: LastHealths,
    last: ChangeId,
    /// A disk did not take what the queues hold; it is not waited for again before it does.
    disk_is_slow: bool,
}

/// Feeds the exports for ever.
pub(super) async fn run(
    daemon: Arc<DaemonExports>,
    node: NodeIdentity,
    folder: Option<PathBuf>,
    mut feed: Subscription,
) {
    let loaded = tokio::task::spawn_blocking(move || LastHealths::load(folder.as_deref())).await;
    let mut reader = FeedReader {
        daemon,
        node,
        healths: loaded.unwrap_or_default(),
        last: feed.last,
        disk_is_slow: false,
    };
    let mut snapshots = Snapshots::default();
    loop {
        let exports = &reader.daemon.exports;
        let pause = async {
            match exports.is_empty() {
                true => exports.wait_for_any().await,
                false => tokio::time::sleep(LOOK).await,
            }
        };
        let change = tokio::select! {
            biased;
            change = feed.changes.recv() => Some(change),
            () = pause => None,
        };
        match change {
            None => {}
            Some(Ok(change)) => {
                reader.take(&change).await;
                feed = reader.take_more(feed).await;
            }
            Some(Err(RecvError::Lagged(_))) => feed = reader.catch_up().await,
            // The daemon ends, and with it this task.
            Some(Err(RecvError::Closed)) => return std::future::pending().await,
        }
        let exports = &reader.daemon.exports;
        if exports.wants_snapshots() {
            exports.show(snapshots.take(&reader.daemon, &reader.node));
        }
        reader = reader.save().await;
    }
}

impl FeedReader {
    async fn take(&mut self, change: &Change) {
        self.last = change.id;
        if self.daemon.exports.is_empty() {
            return;
        }
        let gpus = self.daemon.services.node.nvml.inventory();
        let record = records::record(change, &self.node, gpus.as_deref(), &mut self.healths);
        if let Some(record) = record {
            let exports = &self.daemon.exports;
            exports.push(&Arc::new(record));
            self.disk_is_slow = match self.disk_is_slow {
                true => exports.is_moving(),
                false => !exports.room().await,
            };
        }
    }

    /// Takes the changes that are there without waiting.
    async fn take_more(&mut self, mut feed: Subscription) -> Subscription {
        loop {
            match feed.changes.try_recv() {
                Ok(change) => self.take(&change).await,
                Err(TryRecvError::Lagged(_)) => feed = self.catch_up().await,
                Err(TryRecvError::Empty | TryRecvError::Closed) => return feed,
            }
        }
    }

    /// Takes the changes for which this task was too slow.
    async fn catch_up(&mut self) -> Subscription {
        let feed = self.daemon.services.feed.subscribe(Some(self.last));
        match &feed.missed {
            Some(missed) => {
                for change in missed {
                    self.take(change).await;
                }
            }
            None => {
                let count = feed.last.number.saturating_sub(self.last.number);
                tracing::error!(
                    "exports miss {count} changes: there were more than the feed holds"
                );
            }
        }
        self.last = feed.last;
        feed
    }

    /// Writes down the reported healths, where they changed.
    async fn save(mut self) -> Self {
        if !self.healths.wants_saving() {
            return self;
        }
        let mut healths = std::mem::take(&mut self.healths);
        let saved = tokio::task::spawn_blocking(move || {
            let saved = healths.save();
            (healths, saved)
        });
        match saved.await {
            Ok((healths, saved)) => {
                self.healths = healths;
                if let Err(error) = saved {
                    tracing::debug!("the last healths could not be written down: {error}");
                }
            }
            Err(error) => tracing::error!("the last healths are lost: {error}"),
        }
        self
    }
}
