//! Services that engines may use.

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use crate::{
    DeliveryError, NodeIdentity, UnixMillis,
    http::Http,
    metrics::MetricSource,
    peer::PeerCheck,
    secret::{Secret, SecretSource, SecretValue},
    select::Select,
    status::Status,
};

/// Tells the wall-clock time.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> UnixMillis + Send + Sync>);

impl Clock {
    /// Makes a clock of a function. Its time may jump; durations are measured otherwise.
    pub fn new(now: impl Fn() -> UnixMillis + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// Returns the time.
    pub fn now(&self) -> UnixMillis {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Clock({})", self.now())
    }
}

/// The software of the machine, for engines that describe the sender. Texts are empty where something is not known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MachineFacts {
    /// Architecture as Go names it: `amd64`, `arm64`.
    pub arch: String,
    /// Distribution, for example `ubuntu`.
    pub os_name: String,
    /// Its version, for example `24.04`.
    pub os_version: String,
    /// Both for a person, for example `Ubuntu 24.04.1 LTS`.
    pub os_description: String,
}

/// The services that all exports of a daemon share.
#[derive(Debug, Clone)]
pub struct Environment {
    /// Which machine this is.
    pub node: NodeIdentity,
    /// The software of the machine.
    pub machine: MachineFacts,
    /// The wall clock.
    pub clock: Clock,
    /// Where secrets are read.
    pub secrets: Arc<dyn SecretSource>,
    /// The HTTP client.
    pub http: Http,
    /// Where metrics are read; `None` where nothing is measured.
    pub metrics: Option<Arc<dyn MetricSource>>,
    /// Folder that gets a folder for each export with a spool; `None` keeps everything in memory.
    pub spool_folder: Option<PathBuf>,
}

/// The services of one export.
#[derive(Debug, Clone)]
pub struct Context {
    /// The export's name.
    pub export: String,
    /// Time limit of one delivery.
    pub timeout: Duration,
    /// Which records and components it wants.
    pub select: Select,
    /// The user of this machine whose programs may have what is sent without TLS, besides root and our own.
    pub peer_user: Option<String>,
    /// Services shared with the others.
    pub environment: Environment,
    /// Its counters.
    pub status: Arc<Status>,
}

impl Context {
    /// Reads a secret as it is now, so that a replaced one is used at once.
    ///
    /// # Errors
    /// A transient error that names the reference: the operator may fix it.
    pub async fn secret(&self, secret: &Secret) -> Result<SecretValue, DeliveryError> {
        let read = secret.read(&self.environment.secrets).await;
        read.map_err(|error| DeliveryError::transient(error.to_string()))
    }

    /// Returns the check of programs that get something without TLS.
    pub(crate) fn peers(&self) -> PeerCheck {
        PeerCheck::new(
            Arc::clone(&self.environment.secrets),
            self.peer_user.as_deref(),
        )
    }

    /// Returns the same with the usual user of a server where the settings name none.
    #[cfg(feature = "postgres")]
    pub(crate) fn peers_or(&self, user: &str) -> PeerCheck {
        let named = self.peer_user.as_deref().unwrap_or(user);
        PeerCheck::new(Arc::clone(&self.environment.secrets), Some(named))
    }

    /// Returns the wall-clock time.
    pub fn now(&self) -> UnixMillis {
        self.environment.clock.now()
    }
}
