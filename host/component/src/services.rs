//! The services that all components of a daemon share.

use std::{
    fmt::Display,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use tokio::sync::OnceCell;

use super::{commit, feed::Feed, health_log::EventLog, latch::Latches, unsaved::Unsaved};
use crate::{
    metrics,
    model::{Health, HealthState},
    node::{
        Node,
        kmsg::{KernelLog, SourceState},
    },
    store::Store,
};

/// The component that shows the daemon's own trouble.
pub(super) const OWN_TROUBLE: &str = "os";
/// Longest that opening the kernel log may take where no reader follows it.
const PROBE_TIME: Duration = Duration::from_secs(5);

fn unreadable(error: &dyn Display) -> String {
    format!("the kernel log cannot be read ({error})")
}

/// The services that all components share.
pub struct Services {
    /// The machine.
    pub node: Arc<Node>,
    /// The daemon's store; `None` in a scan.
    pub store: Option<Store>,
    /// Present values of all metrics.
    pub metrics: Arc<metrics::Registry>,
    /// The kernel log, once it is read.
    pub kernel_log: OnceLock<Arc<KernelLog>>,
    /// The result of opening the kernel log where no reader follows it.
    kernel_log_probe: OnceCell<Option<String>>,
    /// The feed of changes for readers that follow the daemon.
    pub feed: Feed,
    /// Logs new events.
    pub(super) event_log: EventLog,
    /// Changes of verdicts are logged: they are this machine's.
    pub(super) logs_changes: bool,
    /// Verdicts that stay until something clears them.
    pub(super) latches: Latches,
    /// The data that could not be stored.
    pub(super) unsaved: Unsaved,
    /// Why the API cannot be reached.
    api_trouble: Mutex<Option<String>>,
}

impl Services {
    /// Makes the services with the latched verdicts of the store.
    pub async fn new(
        node: Arc<Node>,
        store: Option<Store>,
        metrics: Arc<metrics::Registry>,
    ) -> Self {
        let latches = Latches::load(store.as_ref()).await;
        Self {
            feed: Feed::new(node.clock.now_ms()),
            // Without a store, as in a scan, there is no health before that could have changed.
            logs_changes: store.is_some(),
            node,
            store,
            metrics,
            kernel_log: OnceLock::new(),
            kernel_log_probe: OnceCell::new(),
            event_log: EventLog::default(),
            latches,
            unsaved: Unsaved::default(),
            api_trouble: Mutex::default(),
        }
    }

    /// Makes the services for a saved log. Changes of verdicts are not logged, since they concern another machine or time.
    #[must_use]
    pub fn of_saved_log(self) -> Self {
        Self {
            logs_changes: false,
            ..self
        }
    }

    /// Stores what could not be stored earlier, of all components, if the database can be written again.
    pub async fn save_unsaved(&self) {
        for component in self.unsaved.components() {
            if let Err(error) = commit::save_unsaved(self, &component).await {
                tracing::debug!("findings wait for the database: {error}");
                return;
            }
        }
    }

    /// Notes why the API cannot be reached, or that it can.
    pub fn set_api_trouble(&self, trouble: Option<String>) {
        *self.lock_api_trouble() = trouble;
    }

    fn lock_api_trouble(&self) -> MutexGuard<'_, Option<String>> {
        self.api_trouble
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the states of a component; the component that shows the daemon's own trouble gets that of the database and of the
    /// API.
    pub fn with_own_trouble(
        &self,
        component: &str,
        mut states: Vec<HealthState>,
    ) -> Vec<HealthState> {
        if component != OWN_TROUBLE {
            return states;
        }
        let database = self.store.as_ref().and_then(Store::trouble);
        for trouble in database.into_iter().chain(self.lock_api_trouble().clone()) {
            let Some(state) = states.first_mut() else {
                break;
            };
            if state.health.rank() < Health::Degraded.rank() {
                state.health = Health::Degraded;
                state.reason.clone_from(&trouble);
            } else {
                state.reason.push_str("; ");
                state.reason.push_str(&trouble);
            }
            state.error.get_or_insert(trouble);
        }
        states
    }

    /// Returns why the kernel log gives no messages, if so: verdicts from it cannot be trusted then. Where no
    /// reader follows it, as in a scan and in the first checks of a daemon, it is opened once to see.
    pub(super) async fn kernel_log_problem(&self) -> Option<String> {
        match self.kernel_log.get().map(|log| log.status().state) {
            Some(SourceState::Unavailable { error, .. }) => return Some(unreadable(&error)),
            Some(SourceState::Following | SourceState::Stopped) => return None,
            Some(SourceState::Starting) | None => {}
        }
        let probe = || async {
            let opened = self.node.kmsg_probe(PROBE_TIME).await;
            opened.err().map(|error| unreadable(&error))
        };
        self.kernel_log_probe.get_or_init(probe).await.clone()
    }
}
