//! Whose program gets what is sent without TLS.
//!
//! Any user of the machine can listen on a port of it while the usual server does not. So each connection without TLS to
//! an address of this machine is checked after it was made and before anything is sent: by its own two addresses, whatever
//! name it was made by. [`SecretSource::check_server`] knows the users.

use std::{
    error::Error,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use hyper_util::client::legacy::connect::{Connection, HttpInfo};
use reqwest::tls::TlsInfo;
use tower_layer::Layer;
use tower_service::Service;

use crate::secret::SecretSource;

/// The `peer_user` of an export that sends to programs of every user, and to those whose user is not known.
pub const ANY_USER: &str = "any";

type BoxError = Box<dyn Error + Send + Sync>;
type BoxFuture<T> = Pin<Box<dyn Future<Output = Result<T, BoxError>> + Send>>;

/// Checks whose program serves a connection. As a layer of an HTTP client it checks each new connection without TLS.
#[derive(Debug, Clone)]
pub struct PeerCheck {
    secrets: Arc<dyn SecretSource>,
    user: Option<Arc<str>>,
}

impl PeerCheck {
    /// Makes one that trusts root, the user of this process, and the one that is named.
    pub fn new(secrets: Arc<dyn SecretSource>, user: Option<&str>) -> Self {
        Self {
            secrets,
            user: user.map(Arc::from),
        }
    }

    /// Returns true if no user is named.
    pub(crate) fn is_usual(&self) -> bool {
        self.user.is_none()
    }

    /// Checks the server of a connection that this process has made and holds.
    ///
    /// # Errors
    /// Why nothing may be sent to it, and what to do.
    pub async fn check(&self, local: SocketAddr, remote: SocketAddr) -> Result<(), String> {
        let Self { secrets, user } = self.clone();
        let checked = tokio::task::spawn_blocking(move || {
            secrets.check_server(local, remote, user.as_deref())
        });
        checked.await.unwrap_or_else(|error| Err(error.to_string()))
    }
}

impl<S> Layer<S> for PeerCheck {
    type Service = Checked<S>;

    fn layer(&self, inner: S) -> Checked<S> {
        Checked {
            inner,
            peers: self.clone(),
        }
    }
}

/// Makes connections and checks them.
#[derive(Debug, Clone)]
pub struct Checked<S> {
    inner: S,
    peers: PeerCheck,
}

impl<S, R> Service<R> for Checked<S>
where
    S: Service<R, Error = BoxError>,
    S::Response: Connection + Send + 'static,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = BoxFuture<S::Response>;

    fn poll_ready(&mut self, task: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(task)
    }

    fn call(&mut self, request: R) -> Self::Future {
        let (connecting, peers) = (self.inner.call(request), self.peers.clone());
        Box::pin(async move {
            let connection = connecting.await?;
            if let Some(ends) = plain_ends(&connection) {
                let (local, remote) = ends.ok_or("the connection has no addresses")?;
                peers.check(local, remote).await?;
            }
            Ok(connection)
        })
    }
}

/// Returns the two addresses of a connection without TLS, ours first, as far as they are known; nothing for one with TLS,
/// whose server has proved its name.
fn plain_ends(connection: &impl Connection) -> Option<Option<(SocketAddr, SocketAddr)>> {
    let mut facts = ::http::Extensions::new();
    connection.connected().get_extras(&mut facts);
    if facts.get::<TlsInfo>().is_some() {
        return None;
    }
    let ends = facts.get::<HttpInfo>();
    Some(ends.map(|ends| (ends.local_addr(), ends.remote_addr())))
}
