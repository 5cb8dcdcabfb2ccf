//! Opens the port of the API, its certificate and token, and the Unix socket.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use futures_util::FutureExt as _;
use tokio::{net::TcpListener, sync::Notify};
use tokio_util::sync::CancellationToken;

use super::{Options, StartError};
use crate::{
    component::Services,
    node::{
        Node,
        local_socket::{BoundSocket, LocalSocket},
    },
    server::{self, Access, Backend, Listeners, Serving, Sites, Token},
};

/// The time between two tries for a port that another user has.
const AGAIN: Duration = Duration::from_secs(5);

/// The port of the API, before it is served.
pub struct ApiPort {
    /// As given.
    asked: String,
    /// The port, or why there is none yet: another user has it. Who keeps gpud from its port does not keep it from judging.
    listener: Result<TcpListener, String>,
    serving: Serving,
    /// Address of the page; empty if the port is not known.
    pub page: String,
}

impl ApiPort {
    /// Opens the port, and reads or makes its certificate.
    ///
    /// # Errors
    /// The address or the certificate cannot be used.
    pub async fn open(options: &Options, node: &Node) -> Result<Self, StartError> {
        let asked = options.listen_address.clone();
        let listener = match server::bind(&asked).await {
            Ok(listener) => Ok(listener),
            Err(error) if error.is_of_stranger() => {
                tracing::error!("{error}. Checks go on, and it is tried again");
                Err(error.to_string())
            }
            Err(error) => return Err(error.into()),
        };
        let hostname = node.hostname().await;
        let page = address(&listener, &asked).map_or_else(String::new, |address| {
            server::page_address(address, &hostname)
        });
        let mut reloaded: Vec<Arc<dyn server::Reload>> = Vec::new();
        let mut sites = Sites {
            hosts: Sites::names_of_machine(&hostname),
            certificate: None,
            origins: options.allowed_origins.clone(),
        };
        sites.hosts.extend(options.allowed_hosts.iter().cloned());
        let tls = match &options.tls_files {
            Some((certificate, key)) => {
                let (tls, certificate) = server::from_files(certificate, key)?;
                sites.certificate = Some(Arc::clone(&certificate));
                reloaded.push(certificate);
                tls
            }
            None => server::self_signed(&hostname)?,
        };
        let serving = Serving {
            tls,
            access: Access {
                token: None,
                require_token: options.require_token,
            },
            sites,
            profiling: options.profiling,
            reloaded,
            reload_now: Arc::new(Notify::new()),
        };
        Ok(Self {
            asked,
            listener,
            serving,
            page,
        })
    }

    /// Reads or makes the token, if there has to be one. Where only this machine can connect, root and gpud's own user
    /// need none, and others have none unless somebody made it.
    ///
    /// # Errors
    /// It cannot be read or made.
    pub fn open_token(
        &mut self,
        named: Option<PathBuf>,
        data_dir: &Path,
    ) -> Result<(), StartError> {
        // An unknown address counts as open to all.
        let wide = self
            .address()
            .is_none_or(|address| !address.ip().to_canonical().is_loopback());
        let is_named = named.is_some();
        let file = named.unwrap_or_else(|| data_dir.join(server::TOKEN_FILE));
        if wide || self.serving.access.require_token || is_named || file.exists() {
            let token = Arc::new(Token::open(&file)?);
            self.serving.reloaded.push(Arc::<Token>::clone(&token));
            self.serving.access.token = Some(token);
        }
        Ok(())
    }

    /// Returns the address of the port, if it is known.
    pub fn address(&self) -> Option<SocketAddr> {
        address(&self.listener, &self.asked)
    }

    /// Returns what has certificate and token read again.
    pub fn reload_now(&self) -> Arc<Notify> {
        Arc::clone(&self.serving.reload_now)
    }

    /// Serves until `shutdown`.
    pub async fn serve(
        self,
        local_socket: Option<LocalSocket>,
        backend: Arc<dyn Backend>,
        services: Arc<Services>,
        shutdown: CancellationToken,
    ) {
        let Self {
            asked,
            listener,
            serving,
            ..
        } = self;
        let port = async move {
            match listener {
                Ok(listener) => listener,
                Err(problem) => wait_for(&asked, problem, &services).await,
            }
        };
        let listeners = Listeners {
            port: port.boxed(),
            local_socket,
        };
        server::serve(listeners, serving, backend, shutdown).await;
    }
}

fn address(listener: &Result<TcpListener, String>, asked: &str) -> Option<SocketAddr> {
    match listener {
        Ok(listener) => listener.local_addr().ok(),
        Err(_) => asked.parse().ok(),
    }
}

/// Tries until nobody else has the port, and shows until then why the API cannot be reached.
async fn wait_for(asked: &str, mut problem: String, services: &Services) -> TcpListener {
    loop {
        services.set_api_trouble(Some(format!(
            "the API cannot be reached over TCP: {problem}"
        )));
        tokio::time::sleep(AGAIN).await;
        match server::bind(asked).await {
            Ok(listener) => {
                tracing::warn!(address = asked, "the API can be reached over TCP now");
                services.set_api_trouble(None);
                return listener;
            }
            Err(error) => problem = error.to_string(),
        }
    }
}

/// The Unix socket for local administration: `bound`, or one that is made now. Without it root's commands use the port.
pub fn open_local_socket(path: &Path, bound: Option<BoundSocket>) -> Option<LocalSocket> {
    let made = match bound {
        Some(bound) => bound.serve(),
        None => LocalSocket::bind(path),
    };
    match made {
        Ok(socket) => Some(socket),
        Err(error) => {
            tracing::warn!("there is no Unix socket for local administration: {error}");
            None
        }
    }
}
