//! Opens the port of the API, its certificate and token, and the Unix socket.

use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio::{net::TcpListener, sync::Notify};
use tokio_util::sync::CancellationToken;

use super::{Options, StartError};
use crate::{
    node::{
        Node,
        local_socket::{BoundSocket, LocalSocket},
    },
    server::{self, Access, Backend, Listeners, Serving, Sites, Token},
};

/// The bound port of the API, before it is served.
pub struct ApiPort {
    listener: TcpListener,
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
        let listener = server::bind(&options.listen_address).await?;
        let hostname = node.hostname().await;
        let page = listener.local_addr().map_or_else(
            |_| String::new(),
            |address| server::page_address(address, &hostname),
        );
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
            .map_or(true, |address| !address.ip().to_canonical().is_loopback());
        let is_named = named.is_some();
        let file = named.unwrap_or_else(|| data_dir.join(server::TOKEN_FILE));
        if wide || self.serving.access.require_token || is_named || file.exists() {
            let token = Arc::new(Token::open(&file)?);
            self.serving.reloaded.push(Arc::<Token>::clone(&token));
            self.serving.access.token = Some(token);
        }
        Ok(())
    }

    /// Returns the address of the port.
    ///
    /// # Errors
    /// The system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
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
        shutdown: CancellationToken,
    ) {
        let listeners = Listeners {
            port: self.listener,
            local_socket,
        };
        server::serve(listeners, self.serving, backend, shutdown).await;
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
