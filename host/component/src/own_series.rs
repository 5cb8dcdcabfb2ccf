//! The daemon's own series, updated when a client requests metrics.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::sync::Mutex;

use super::{Registry, Services, verdict_metrics};
use crate::{metrics, node::system};

/// Least time between two readings of the sources: the database and the process's files.
const FRESH: Duration = Duration::from_secs(1);

/// Updates the daemon's own series.
pub struct OwnSeries {
    registry: Arc<Registry>,
    services: Arc<Services>,
    /// The time of the last update.
    recorded: Mutex<Option<Instant>>,
}

impl OwnSeries {
    /// Makes the updater for these components.
    pub fn new(registry: Arc<Registry>, services: Arc<Services>) -> Self {
        Self {
            registry,
            services,
            recorded: Mutex::default(),
        }
    }

    /// Updates the series, unless that was done within the last second.
    pub async fn refresh(&self) {
        let mut last = self.recorded.lock().await;
        if last.is_some_and(|last| last.elapsed() < FRESH) {
            return;
        }
        *last = Some(Instant::now());
        let store = self.services.store.as_ref();
        let db_size_bytes = match store {
            Some(store) => store.size_bytes().await.ok(),
            None => None,
        };
        let readings = metrics::own::OwnReadings {
            open_files: system::own_open_fds().ok(),
            db_size_bytes,
            sqlite: store.map(|store| store.counters()).unwrap_or_default(),
            usage: system::own_usage().ok(),
            boot_time_seconds: self.services.node.boot.time as f64 / 1000.0,
        };
        let recorded = metrics::own::record(&self.services.metrics, &readings);
        let kernel_log = self.services.kernel_log.get();
        let counted = kernel_log.map_or(Ok(()), |log| {
            metrics::own::record_kernel_log(&self.services.metrics, log)
        });
        let now = self.services.node.clock.now_ms();
        let judged = verdict_metrics::record(&self.services.metrics, &self.registry, now);
        for error in [recorded, counted, judged]
            .into_iter()
            .filter_map(Result::err)
        {
            tracing::warn!("{error}");
        }
    }
}
