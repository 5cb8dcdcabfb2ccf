//! Binds the port and accepts connections until the daemon stops.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
    time::{Duration, Instant},
};

use axum::Router;
use futures_util::future::BoxFuture;
use tokio::{
    net::TcpListener,
    sync::{Notify, Semaphore},
    time::{MissedTickBehavior, interval, sleep, timeout},
};
use tokio_rustls::{TlsAcceptor, rustls::ServerConfig};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    access::Access,
    backend::Backend,
    connection::{self, Client},
    limits::{DRAIN_TIME, LOCAL_SOCKET, MAX_IDENTIFYING},
    peer::Peer,
    reload::{Reload, watch},
    router::{App, router},
    shares::Shares,
    sites::Sites,
};
use crate::node::{
    local_socket::LocalSocket,
    port_holder::{self, PortHolder},
    stream::Stream,
};

/// When the system refuses new connections (no file descriptors left), it is asked again after this.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Why the daemon cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Not `host:port`.
    #[error("listen address {0:?} is not host:port, for example 127.0.0.1:15132")]
    Format(String),
    /// Another process has it.
    #[error(
        "cannot listen on {address}: the port is taken{}. Is another gpud running? Stop it, or use --listen-address with another port",
        by(holder.as_ref())
    )]
    Taken {
        /// As given.
        address: String,
        /// The process that listens there, where it is visible.
        holder: Option<PortHolder>,
    },
    /// Not allowed.
    #[error(
        "cannot listen on {0}: permission denied. Ports below 1024 need root; use --listen-address with another port"
    )]
    Denied(String),
    /// Anything else, such as an address that this machine does not have.
    #[error(
        "cannot listen on {address}: {source}. Use --listen-address with an address of this machine"
    )]
    Other {
        /// As given.
        address: String,
        /// The error of the system.
        source: io::Error,
    },
}

impl BindError {
    /// Whether the port is taken by another user, or by nobody who can be seen: by a user who keeps gpud from it, perhaps.
    pub fn is_of_stranger(&self) -> bool {
        let own = crate::node::system::euid();
        let is_stranger = |holder: &PortHolder| holder.uid != 0 && holder.uid != own;
        matches!(self, Self::Taken { holder, .. } if holder.as_ref().is_none_or(is_stranger))
    }
}

/// Listens on `host:port`; an empty host means every address, IPv6 and IPv4, as in Go. Port 0 takes a free one.
pub async fn bind(address: &str) -> Result<TcpListener, BindError> {
    let parts = address
        .rsplit_once(':')
        .and_then(|(host, port)| Some((host, port.parse::<u16>().ok()?)));
    let Some((host, port)) = parts else {
        return Err(BindError::Format(address.to_owned()));
    };
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    let bound = match (host, bare) {
        // A kernel without IPv6 has no `::`.
        ("", _) => match TcpListener::bind(("::", port)).await {
            Err(error) if error.kind() != io::ErrorKind::AddrInUse => {
                TcpListener::bind(("0.0.0.0", port)).await
            }
            bound => bound,
        },
        (_, Some(bare)) => TcpListener::bind((bare, port)).await,
        (host, None) if host.contains(':') => return Err(BindError::Format(address.to_owned())),
        (host, None) => TcpListener::bind((host, port)).await,
    };
    let source = match bound {
        Ok(listener) => return Ok(listener),
        Err(source) => source,
    };
    let address = address.to_owned();
    Err(match source.kind() {
        io::ErrorKind::AddrInUse => BindError::Taken {
            address,
            holder: holder_of(bare.unwrap_or(host), port).await,
        },
        io::ErrorKind::PermissionDenied => BindError::Denied(address),
        _ => BindError::Other { address, source },
    })
}

/// A host name may stand for any address of the machine.
async fn holder_of(host: &str, port: u16) -> Option<PortHolder> {
    let ip = host.parse().unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
    let found = tokio::task::spawn_blocking(move || port_holder::find(SocketAddr::new(ip, port)));
    found.await.ok().flatten()
}

fn by(holder: Option<&PortHolder>) -> String {
    holder.map_or_else(String::new, |holder| format!(" by {holder}"))
}

/// The sockets that the server listens on.
pub struct Listeners {
    /// The port, once it can be had.
    pub port: BoxFuture<'static, TcpListener>,
    /// The Unix socket.
    pub local_socket: Option<LocalSocket>,
}

/// The settings by which the API is served.
pub struct Serving {
    /// The certificate and the TLS settings.
    pub tls: Arc<ServerConfig>,
    /// The rights of clients.
    pub access: Access,
    /// The names by which gpud may be reached, and the allowed web sites.
    pub sites: Sites,
    /// The routes of `--pprof` are there.
    pub profiling: bool,
    /// The parts that are reloaded when their files change.
    pub reloaded: Vec<Arc<dyn Reload>>,
    /// Asks for a look at these files at once.
    pub reload_now: Arc<Notify>,
}

/// Serves the API until `shutdown`, then gives requests under way five seconds to finish.
pub async fn serve(
    listeners: Listeners,
    serving: Serving,
    backend: Arc<dyn Backend>,
    shutdown: CancellationToken,
) {
    let Serving {
        tls,
        access,
        sites,
        profiling,
        reloaded,
        reload_now,
    } = serving;
    let mut app = App::new(backend, access, profiling);
    app.sites = Arc::new(sites);
    app.shutdown = shutdown.clone();
    let beside = tokio::spawn(watch(reloaded, reload_now));
    let shares = Arc::clone(&app.shares);
    let router = router(app);
    let port = async {
        let listener = tokio::select! {
            listener = listeners.port => listener,
            () = shutdown.cancelled() => return,
        };
        let port = Endpoint {
            listener: Listener::Port(listener),
            tls: Some(TlsAcceptor::from(tls)),
            shares,
        };
        accept(port, router.clone(), shutdown.clone()).await;
    };
    let local_socket = async {
        if let Some(socket) = listeners.local_socket {
            accept(Endpoint::local(socket), router.clone(), shutdown.clone()).await;
        }
    };
    tokio::join!(port, local_socket);
    beside.abort();
}

/// A listener with the TLS settings and the shares of its clients.
pub(super) struct Endpoint {
    pub(super) listener: Listener,
    /// `None` where plain HTTP is used.
    pub(super) tls: Option<TlsAcceptor>,
    pub(super) shares: Arc<Shares>,
}

impl Endpoint {
    /// The Unix socket, with shares of its own.
    pub(super) fn local(socket: LocalSocket) -> Self {
        Self {
            listener: Listener::Local(socket),
            tls: None,
            shares: Arc::new(Shares::new(LOCAL_SOCKET)),
        }
    }
}

/// The kinds of listeners.
pub(super) enum Listener {
    Port(TcpListener),
    Local(LocalSocket),
}

impl Listener {
    /// Waits for the next connection.
    async fn next(&self) -> io::Result<Stream> {
        Ok(match self {
            Self::Port(listener) => Stream::tcp(listener.accept().await?.0),
            Self::Local(socket) => Stream::unix(socket.accept().await?),
        })
    }
}

/// Takes connections until `shutdown`. Each is taken in as soon as it is known whose it is, or closed if its client has too
/// many: connections that say nothing never keep others from being accepted.
pub(super) async fn accept(endpoint: Endpoint, router: Router, shutdown: CancellationToken) {
    let Endpoint {
        listener,
        tls,
        shares,
    } = endpoint;
    let identifying = Arc::new(Semaphore::new(MAX_IDENTIFYING));
    let connections = TaskTracker::new();
    let cut = CancellationToken::new();
    let mut look = interval(shares.time_between_looks());
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let next = async {
            let place = Arc::clone(&identifying).acquire_owned().await.ok()?;
            Some((place, listener.next().await))
        };
        let (place, accepted) = tokio::select! {
            () = shutdown.cancelled() => break,
            // Without a connection nothing can stall, and nothing has to wake up.
            _ = look.tick(), if !connections.is_empty() => {
                shares.end_stalled(Instant::now());
                continue;
            }
            next = next => match next {
                Some(next) => next,
                None => break,
            },
        };
        let stream = match accepted {
            Ok(stream) => stream,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let (tls, router, shares) = (tls.clone(), router.clone(), Arc::clone(&shares));
        let (shutdown, cut) = (shutdown.clone(), cut.clone());
        connections.spawn(async move {
            let taken_in = take_in(stream, &shares).await;
            drop(place);
            let Some((stream, client)) = taken_in else {
                return;
            };
            let admitted = Arc::clone(&client.admitted);
            tokio::select! {
                () = connection::serve(stream, client, tls, router, shutdown) => {}
                () = cut.cancelled() => {}
                () = admitted.displaced() => {}
            }
        });
    }
    // New clients are refused at once rather than left waiting.
    drop(listener);
    connections.close();
    if timeout(DRAIN_TIME, connections.wait()).await.is_err() {
        tracing::warn!("requests still under way at the end are cut off");
        cut.cancel();
        connections.wait().await;
    }
}

/// Learns whose a connection is, before anything of it is read, and takes it in.
async fn take_in(stream: Stream, shares: &Arc<Shares>) -> Option<(Stream, Client)> {
    let identified = tokio::task::spawn_blocking(move || {
        let peer = Peer::identify(&stream)?;
        Some((stream, peer))
    });
    let (stream, peer) = identified.await.ok().flatten()?;
    let Some(admitted) = shares.admit(&peer) else {
        tracing::debug!(client = ?peer.identity(), "a client has too many connections");
        return None;
    };
    let admitted = Arc::new(admitted);
    Some((stream, Client { peer, admitted }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn errors_name_the_address_and_what_to_do() {
        let taken = bind("127.0.0.1:0").await.unwrap();
        let address = taken.local_addr().unwrap().to_string();
        let error = bind(&address).await.unwrap_err().to_string();
        assert!(
            error.contains(&address)
                && error.contains("another gpud")
                && error.contains("--listen-address"),
            "{error}"
        );
        let process = format!("(process {}, ", std::process::id());
        assert!(
            error.contains("the port is taken by ") && error.contains(&process),
            "{error}"
        );

        for address in [
            "",
            "localhost",
            "127.0.0.1:",
            "127.0.0.1:99999",
            "::1:80",
            "127.0.0.1:http",
        ] {
            assert!(
                matches!(bind(address).await, Err(BindError::Format(text)) if text == address),
                "{address}"
            );
        }
        // From the block kept for documentation: no machine has it.
        let error = bind("192.0.2.1:0").await.unwrap_err();
        assert!(matches!(error, BindError::Other { .. }), "{error}");
    }

    #[tokio::test]
    async fn every_form_that_go_takes_is_bound() {
        for address in [":0", "localhost:0", "0.0.0.0:0"] {
            bind(address).await.unwrap();
        }
    }
}
