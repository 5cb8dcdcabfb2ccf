//! Services that engines may use.

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use crate::{
    DeliveryError, NodeIdentity, UnixMillis,
    http::Http,
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

/// The services that all exports of a daemon share.
#[derive(Debug, Clone)]
pub struct Environment {
    /// Which machine this is.
    pub node: NodeIdentity,
    /// The wall clock.
    pub clock: Clock,
    /// Where secrets are read.
    pub secrets: Arc<dyn SecretSource>,
    /// The HTTP client.
    pub http: Http,
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

    /// Returns the wall-clock time.
    pub fn now(&self) -> UnixMillis {
        self.environment.clock.now()
    }
}
