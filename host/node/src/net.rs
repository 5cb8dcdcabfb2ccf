//! Local services over HTTP, and whether a TCP port can be reached.
//!
//! HTTP goes to unix sockets and to this machine's loopback addresses only, with GET only, and answers are bounded.
//! gRPC goes to unix sockets ([`grpc`]).

pub mod grpc;

use std::{
    convert::Infallible,
    future::{Future, pending},
    io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    os::fd::AsRawFd,
    path::Path,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{HeaderMap, Request, header::HOST};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt::socket_error},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, UnixStream, lookup_host},
};

use super::{
    error::SourceError,
    port_holder,
    socket_owner::{is_own_address, own_uid},
    trusted::{self, TrustError},
};

/// Bytes buffered for the status line and headers of an answer. One read may go a little beyond.
const MAX_HEAD_BYTES: usize = 64 * 1024;

/// The first number of ordinary users, as distributions have it (`UID_MIN` of login.defs(5)); those of services are lower.
const FIRST_ORDINARY_USER: u32 = 1000;

/// The users whose services on this machine are talked to over TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Servers {
    /// Root, gpud's own user and users of services. Anybody else could take a port while its service is down, and say that
    /// all is well.
    System,
    /// Any user.
    Anybody,
}

/// A GET request.
#[derive(Debug, Clone)]
pub struct HttpGet {
    /// Path and query, beginning with `/`.
    pub path: String,
    /// Further headers. `Host` is `localhost` unless given here.
    pub headers: HeaderMap,
    /// Largest body accepted, in bytes.
    pub max_bytes: u64,
    /// Time for the whole exchange, connecting included.
    pub deadline: Duration,
}

/// The answer to a [`HttpGet`]. Any status is an answer; redirects are not followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpResponse {
    /// Status code.
    pub status: u16,
    /// Headers, names in lower case, values with replacement characters where they are not UTF-8.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// Sends a GET request to a unix socket.
///
/// # Errors
/// [`SourceError::NotFound`] when there is no socket, [`SourceError::Denied`], [`SourceError::TooLarge`] for the body,
/// [`SourceError::TimedOut`], [`SourceError::Invalid`] for an unusable path, [`SourceError::Other`] when nobody
/// listens or the answer is not HTTP/1.1 or its headers are much longer than 64 KiB.
pub async fn http_over_unix(socket: &Path, get: &HttpGet) -> Result<HttpResponse, SourceError> {
    let what = format!("unix:{}{}", socket.display(), get.path);
    let request = request(&what, get)?;
    let exchange = async {
        let stream = connect_unix(&what, socket).await?;
        exchange(&what, stream, request, get.max_bytes).await
    };
    within(&what, get.deadline, exchange).await
}

/// Connects to a Unix socket that is where its path says; see [`trusted::open_socket`].
async fn connect_unix(what: &str, socket: &Path) -> Result<UnixStream, SourceError> {
    let path = socket.to_owned();
    let opened = tokio::task::spawn_blocking(move || trusted::open_socket(&path));
    let opened = opened
        .await
        .map_err(|error| SourceError::Other(format!("{what}: {error}")))?;
    let handle = opened.map_err(|error| match error {
        TrustError::Io { source, .. } => SourceError::from_io(what, &source),
        refused => SourceError::Denied(format!("{what}: {refused}")),
    })?;
    // The socket that was looked at, whatever has its name by now.
    UnixStream::connect(format!("/proc/self/fd/{}", handle.as_raw_fd()))
        .await
        .map_err(|error| SourceError::from_io(what, &error))
}

/// Sends a GET request to a port of 127.0.0.1, or of ::1 when no process listens there.
///
/// # Errors
/// As for [`http_over_unix`]; [`SourceError::Other`] with the word `refused` where somebody else than `servers` listens.
pub async fn http_loopback(
    port: u16,
    servers: Servers,
    get: &HttpGet,
) -> Result<HttpResponse, SourceError> {
    let what = format!("http://localhost:{port}{}", get.path);
    let request = request(&what, get)?;
    let exchange = async {
        let (first, second) = (
            SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            SocketAddr::from((Ipv6Addr::LOCALHOST, port)),
        );
        let (stream, address) = match TcpStream::connect(first).await {
            Ok(stream) => (stream, first),
            // The first error is the one that people can make sense of: most machines use IPv4 here.
            Err(error) => match TcpStream::connect(second).await {
                Ok(stream) => (stream, second),
                Err(_) => return Err(SourceError::from_io(&what, &error)),
            },
        };
        check_server(&what, address, servers).await?;
        exchange(&what, stream, request, get.max_bytes).await
    };
    within(&what, get.deadline, exchange).await
}

/// Opens and closes a TCP connection; gives the time that connecting took, without resolving the name. A host with
/// several addresses is tried in the resolver's order; the first that answers counts.
///
/// # Errors
/// [`SourceError::NotFound`] when the name has no address, [`SourceError::TimedOut`], [`SourceError::Other`] when the
/// connection is refused, no way leads there, or somebody else than `servers` listens there on this machine.
pub async fn tcp_connect(
    host: &str,
    port: u16,
    servers: Servers,
    deadline: Duration,
) -> Result<Duration, SourceError> {
    let what = format!("tcp://{host}:{port}");
    let connect = async {
        let addresses: Vec<SocketAddr> = match host {
            // As RFC 6761 has it, and without the resolver's files.
            "localhost" => vec![
                (Ipv4Addr::LOCALHOST, port).into(),
                (Ipv6Addr::LOCALHOST, port).into(),
            ],
            _ => lookup_host((host, port))
                .await
                .map_err(|error| SourceError::NotFound(format!("{what} ({error})")))?
                .collect(),
        };
        let mut failure = SourceError::NotFound(what.clone());
        for address in addresses {
            let started = Instant::now();
            match connected(address).await {
                Ok(()) => {
                    let took = started.elapsed();
                    check_server(&what, address, servers).await?;
                    return Ok(took);
                }
                Err(error) => failure = SourceError::from_io(&what, &error),
            }
        }
        Err(failure)
    };
    within(&what, deadline, connect).await
}

/// Checks who listens on an address of this machine. The listener is asked for, and not the other end of the connection: the
/// kernel shows a connection that no process has taken yet as root's.
async fn check_server(
    what: &str,
    address: SocketAddr,
    servers: Servers,
) -> Result<(), SourceError> {
    if servers == Servers::Anybody {
        return Ok(());
    }
    let listener = move || is_own_address(address).then(|| port_holder::user(address));
    let listener = tokio::task::spawn_blocking(listener)
        .await
        .map_err(|error| SourceError::Other(format!("{what}: {error}")))?;
    let refused = |why: String| Err(SourceError::Other(format!("{what}: refused, since {why}")));
    match listener {
        // The listener is on another machine.
        None => Ok(()),
        Some(Some(user)) if is_of_system(user) => Ok(()),
        Some(Some(user)) => refused(format!(
            "user {user} listens there, who is no user of a service"
        )),
        Some(None) => refused("the kernel does not say who listens there".to_owned()),
    }
}

fn is_of_system(user: u32) -> bool {
    user < FIRST_ORDINARY_USER || user == own_uid()
}

/// Opens and closes one connection. Those to this machine are decided when the call comes back, and then nobody is asked
/// to wait for them.
async fn connected(address: SocketAddr) -> io::Result<()> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    match connect(&socket, &address) {
        Ok(()) => return Ok(()),
        Err(Errno::INPROGRESS) => {}
        Err(error) => return Err(error.into()),
    }
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    if poll(&mut [PollFd::new(&socket, PollFlags::OUT)], Some(&at_once))? == 0 {
        let stream = TcpStream::from_std(socket.into())?;
        stream.writable().await?;
        return stream.take_error()?.map_or(Ok(()), Err);
    }
    socket_error(&socket)??;
    Ok(())
}

async fn within<T>(
    what: &str,
    deadline: Duration,
    work: impl Future<Output = Result<T, SourceError>>,
) -> Result<T, SourceError> {
    tokio::time::timeout(deadline, work)
        .await
        .unwrap_or_else(|_| {
            Err(SourceError::TimedOut {
                what: what.to_owned(),
                after: deadline,
                last_good: None,
            })
        })
}

async fn exchange(
    what: &str,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Empty<Bytes>>,
    max_bytes: u64,
) -> Result<HttpResponse, SourceError> {
    let failed = |error: hyper::Error| SourceError::Other(format!("{what}: {error}"));
    let (mut sender, connection) = hyper::client::conn::http1::Builder::new()
        .max_buf_size(MAX_HEAD_BYTES)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(failed)?;
    // The connection must be driven for the answer to come; its own end says nothing, the answer may still be read.
    let drive = async {
        let _ = connection.await;
        pending::<Infallible>().await
    };
    let answer = async {
        let response = sender.send_request(request).await.map_err(failed)?;
        let (head, body) = response.into_parts();
        let body = collect(what, body, max_bytes).await?;
        let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into();
        Ok(HttpResponse {
            status: head.status.as_u16(),
            headers: head
                .headers
                .iter()
                .map(|(name, value)| (name.as_str().to_owned(), text(value)))
                .collect(),
            body,
        })
    };
    tokio::select! {
        answer = answer => answer,
        never = drive => match never {},
    }
}

fn request(what: &str, get: &HttpGet) -> Result<Request<Empty<Bytes>>, SourceError> {
    if !get.path.starts_with('/') {
        return Err(SourceError::Invalid(format!(
            "{what}: the path does not begin with a slash"
        )));
    }
    let mut request = Request::get(&get.path)
        .body(Empty::new())
        .map_err(|error| SourceError::Invalid(format!("{what}: {error}")))?;
    *request.headers_mut() = get.headers.clone();
    let host = http::HeaderValue::from_static("localhost");
    request.headers_mut().entry(HOST).or_insert(host);
    Ok(request)
}

async fn collect(what: &str, mut body: Incoming, max_bytes: u64) -> Result<Vec<u8>, SourceError> {
    let mut content = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| SourceError::Other(format!("{what}: {error}")))?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        let size = content.len() as u64 + data.len() as u64;
        if size > max_bytes {
            return Err(SourceError::TooLarge {
                what: what.to_owned(),
                size,
                limit: max_bytes,
            });
        }
        content.extend_from_slice(&data);
    }
    Ok(content)
}

#[cfg(test)]
mod tests;
