//! Asks the running daemon: over its Unix socket where that can be used, else over HTTPS. On this machine nothing is sent
//! before it is known that root or our own user answers.
//!
//! The daemon's certificate is usually one that it made for itself, so it is not verified: this client is for the
//! machine's own daemon, as GPUd's is.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use http::{
    HeaderValue, Method, Request, StatusCode, Uri,
    header::{AUTHORIZATION, HOST},
};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};
use tokio_rustls::{TlsConnector, rustls::pki_types::ServerName};

use super::{
    data_dir::{SHARED_DATA_DIR, data_dir},
    local_socket::{self, SHARED_SOCKET},
};
use crate::{
    node::{local_socket::connect, port_holder::PortHolder, stream::Stream},
    server::TokenError,
    service::presence::{self, DaemonPresence},
};

pub mod ask;
mod server;
pub mod token;
pub mod trust;

use server::Server;
use token::ClientToken;

/// The daemon on this machine.
pub const DEFAULT_SERVER: &str = "https://localhost:15132";
/// The longest time of a whole exchange, unless [`Client::with_limit`] sets another.
const TIME_LIMIT: Duration = Duration::from_secs(30);
/// Largest answer that is read, bytes.
const MAX_ANSWER: usize = 64 << 20;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Not a base URL.
    #[error("server address {0:?} is not a URL such as {DEFAULT_SERVER}")]
    Address(String),
    /// The token file holds no token.
    #[error("{0}")]
    Token(#[from] TokenError),
    /// Nobody listens there.
    #[error("cannot reach {server}: {source}; is gpud running?")]
    Connect {
        /// As given.
        server: String,
        /// The error of the system.
        source: io::Error,
    },
    /// Somebody listens, but does not speak HTTPS.
    #[error("{server} does not speak TLS: {source}; is it gpud that listens there?")]
    Tls {
        /// As given.
        server: String,
        /// What went wrong.
        source: io::Error,
    },
    /// Another user's process listens there.
    #[error(
        "{server} is served by {holder}, who is neither root nor you; nothing was sent. If that is gpud's own user, run the command as that user; else end that process and start gpud"
    )]
    Stranger {
        /// As given.
        server: String,
        /// The user and the process.
        holder: PortHolder,
    },
    /// It is on this machine, and the kernel does not say whose it is.
    #[error(
        "cannot find out which user serves {server}; nothing was sent. If you know that it is gpud, name it with --server"
    )]
    Unknown {
        /// The usual one.
        server: String,
    },
    /// The exchange broke off.
    #[error("no usable answer from {server}: {reason}")]
    Http {
        /// As given.
        server: String,
        /// What went wrong.
        reason: String,
    },
    /// It takes too long.
    #[error("no answer from {server} within {} seconds", limit.as_secs())]
    TimedOut {
        /// As given.
        server: String,
        /// The limit.
        limit: Duration,
    },
}

/// The daemon's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The body.
    pub body: Bytes,
}

/// A client of the daemon at one address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    server: String,
    /// Somebody named it, as opposed to the usual one or the one that was found.
    is_named: bool,
    tls: bool,
    host: String,
    port: u16,
    authority: String,
    base: String,
    limit: Duration,
    token: Option<ClientToken>,
    /// Unix sockets that are tried before the address.
    sockets: Vec<PathBuf>,
}

impl Client {
    /// Makes a client for a base URL with `http` or `https`; [`DEFAULT_SERVER`] for an empty one.
    ///
    /// # Errors
    /// [`ClientError::Address`].
    pub fn new(server: &str) -> Result<Self, ClientError> {
        let (server, is_named) = match server.trim() {
            "" => (DEFAULT_SERVER, false),
            server => (server, true),
        };
        let wrong = || ClientError::Address(server.to_owned());
        let uri: Uri = server.parse().map_err(|_| wrong())?;
        let tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(wrong()),
        };
        let authority = uri.authority().ok_or_else(wrong)?;
        if authority.as_str().contains('@') || uri.query().is_some() || uri.host() == Some("") {
            return Err(wrong());
        }
        let host = authority.host();
        Ok(Self {
            server: server.to_owned(),
            is_named,
            tls,
            host: host
                .strip_prefix('[')
                .and_then(|host| host.strip_suffix(']'))
                .unwrap_or(host)
                .to_owned(),
            port: authority.port_u16().unwrap_or(if tls { 443 } else { 80 }),
            authority: authority.as_str().to_owned(),
            base: uri.path().trim_end_matches('/').to_owned(),
            limit: TIME_LIMIT,
            token: None,
            sockets: Vec::new(),
        })
    }

    /// Makes a client for a base URL; without one for the daemon that runs on this machine's usual data folders,
    /// wherever it listens, else for the usual Unix socket and [`DEFAULT_SERVER`]. With an address or a token file,
    /// sockets are not used.
    ///
    /// # Errors
    /// [`ClientError::Address`] and [`ClientError::Token`].
    pub fn of_daemon(server: &str, token_file: Option<&Path>) -> Result<Self, ClientError> {
        let token = ClientToken::find(token_file)?;
        if !server.trim().is_empty() {
            return Ok(Self::new(server)?.with_token(token));
        }
        let own = data_dir(None).ok();
        let folders = [own.as_deref(), Some(Path::new(SHARED_DATA_DIR))];
        let mut folders = folders.into_iter().flatten();
        let mut client = match folders.find_map(presence::find) {
            Some(running) => Self::of_running(&running)?,
            None => Self::of_machine(own.as_deref())?,
        };
        if token_file.is_some() {
            client.sockets.clear();
        }
        Ok(client.with_token(token))
    }

    /// Makes a client for a daemon that was found.
    ///
    /// # Errors
    /// [`ClientError::Address`].
    pub fn of_running(running: &DaemonPresence) -> Result<Self, ClientError> {
        Ok(Self {
            sockets: running.socket.iter().cloned().collect(),
            is_named: false,
            ..Self::new(&running.url())?
        })
    }

    /// Makes a client for the daemon at one of the usual Unix sockets, else at [`DEFAULT_SERVER`].
    ///
    /// # Errors
    /// [`ClientError::Address`].
    pub fn of_machine(data_dir: Option<&Path>) -> Result<Self, ClientError> {
        Ok(Self {
            sockets: usual_sockets(data_dir),
            ..Self::new("")?
        })
    }

    /// The same with another limit for the whole exchange, for requests that the daemon works on before it answers.
    #[must_use]
    pub fn with_limit(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    /// The same with a token, which goes over TLS only.
    #[must_use]
    pub fn with_token(self, token: Option<ClientToken>) -> Self {
        Self { token, ..self }
    }

    /// Sends a request without a body and reads the answer, whatever its status. `target` is path and query.
    ///
    /// # Errors
    /// As [`ClientError`] lists them.
    pub async fn send(&self, method: Method, target: &str) -> Result<Answer, ClientError> {
        self.send_body(method, target, Bytes::new()).await
    }

    /// As [`Self::send`], with a body.
    ///
    /// # Errors
    /// As [`ClientError`] lists them.
    pub async fn send_body(
        &self,
        method: Method,
        target: &str,
        body: Bytes,
    ) -> Result<Answer, ClientError> {
        tokio::time::timeout(self.limit, self.exchange(method, target, body))
            .await
            .map_err(|_| ClientError::TimedOut {
                server: self.server.clone(),
                limit: self.limit,
            })?
    }

    async fn exchange(
        &self,
        method: Method,
        target: &str,
        body: Bytes,
    ) -> Result<Answer, ClientError> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{target}", self.base))
            .header(HOST, &self.authority)
            .body(Full::new(body))
            .map_err(|error| self.broken(&error))?;
        for socket in &self.sockets {
            if let Some(stream) = connect(socket).await {
                return self.talk(stream, request).await;
            }
        }
        let unreachable = |source| ClientError::Connect {
            server: self.server.clone(),
            source,
        };
        let tcp = TcpStream::connect((self.host.as_str(), self.port))
            .await
            .map_err(unreachable)?;
        let stream = Stream::tcp(tcp);
        let (ends, weak) = (stream.ends(), stream.downgrade());
        if !self.tls {
            self.judge(server::of(ends, &weak))?;
            return self.talk(stream, request).await;
        }
        let tls = |source| ClientError::Tls {
            server: self.server.clone(),
            source,
        };
        let config = trust::anyone().map_err(|error| tls(io::Error::other(error)))?;
        let name = ServerName::try_from(self.host.clone())
            .map_err(|_| ClientError::Address(self.server.clone()))?;
        let stream = TlsConnector::from(Arc::new(config))
            .connect(name, stream)
            .await
            .map_err(tls)?;
        let server = self.judge(server::of(ends, &weak))?;
        let shown = self.token.as_ref();
        let shown = shown.and_then(|token| token.shown_to(server));
        if let Some(token) = shown {
            let value = HeaderValue::try_from(format!("Bearer {token}"));
            let mut value = value.map_err(|error| self.broken(&error))?;
            value.set_sensitive(true);
            request.headers_mut().insert(AUTHORIZATION, value);
        }
        self.talk(stream, request).await
    }

    /// Passes on whom this client talks to, if it may.
    fn judge(&self, found: Option<Server>) -> Result<Server, ClientError> {
        match found {
            None => Err(self.broken(&"the connection was closed")),
            Some(Server::Stranger(holder)) => Err(ClientError::Stranger {
                server: self.server.clone(),
                holder,
            }),
            Some(Server::Unknown) if !self.is_named => Err(ClientError::Unknown {
                server: self.server.clone(),
            }),
            Some(server) => Ok(server),
        }
    }

    async fn talk(
        &self,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        request: Request<Full<Bytes>>,
    ) -> Result<Answer, ClientError> {
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| self.broken(&error))?;
        // It ends with the sender; its errors reach the request too.
        let connection = tokio::spawn(connection);
        let answer = async {
            let response = sender
                .send_request(request)
                .await
                .map_err(|error| self.broken(&error))?;
            let status = response.status();
            let body = Limited::new(response.into_body(), MAX_ANSWER)
                .collect()
                .await
                .map_err(|error| {
                    if error.is::<LengthLimitError>() {
                        self.broken(&"it is larger than 64 MiB")
                    } else {
                        self.broken(&error)
                    }
                })?;
            Ok(Answer {
                status,
                body: body.to_bytes(),
            })
        }
        .await;
        connection.abort();
        answer
    }

    fn broken(&self, reason: &dyn std::fmt::Display) -> ClientError {
        ClientError::Http {
            server: self.server.clone(),
            reason: reason.to_string(),
        }
    }
}

/// The sockets of a daemon that our own user runs, and of one that root runs.
fn usual_sockets(data_dir: Option<&Path>) -> Vec<PathBuf> {
    let mut sockets: Vec<PathBuf> = data_dir.map(local_socket::usual).into_iter().collect();
    sockets.push(SHARED_SOCKET.into());
    sockets.dedup();
    sockets
}

/// Status and words of an answer that is not a success: those of its document, or its first 500 characters.
pub fn reason_of(answer: &Answer) -> String {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Refusal {
        message: String,
        error: String,
    }
    let refusal = serde_json::from_slice::<Refusal>(&answer.body).unwrap_or_default();
    let text = match (refusal.message.as_str(), refusal.error.as_str()) {
        ("", "") => {
            let body = String::from_utf8_lossy(&answer.body);
            body.chars().take(500).collect()
        }
        ("", error) => error.to_owned(),
        (message, _) => message.to_owned(),
    };
    format!("{}: {text}", answer.status)
}

#[cfg(test)]
mod tests;
