//! One GET of a file by HTTP or HTTPS: bounded, from the named host only.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{
    Request, Uri,
    header::{HOST, LOCATION, USER_AGENT},
};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::{TlsConnector, rustls::pki_types::ServerName};

use crate::{cli::terminal::printable, pack::oci};

/// The longest time of connecting, and of the request with its answer.
const CONNECT: Duration = Duration::from_secs(15);
const EXCHANGE: Duration = Duration::from_secs(600);
/// Largest head of an answer, bytes.
const MAX_HEAD: usize = 64 << 10;

/// Reads a file of up to `max` bytes. A redirection is not followed: it may lead to a host that nobody named.
///
/// # Errors
/// No connection, no TLS that the system's certificates vouch for, or another answer than a file.
pub async fn get(url: &str, max: usize) -> Result<Vec<u8>, String> {
    let uri = url
        .parse::<Uri>()
        .map_err(|error| format!("it is no URL: {error}"))?;
    timeout(EXCHANGE, talk(&uri, max))
        .await
        .map_err(|_| format!("no answer within {} s", EXCHANGE.as_secs()))?
}

async fn talk(uri: &Uri, max: usize) -> Result<Vec<u8>, String> {
    let is_secure = uri.scheme_str() == Some("https");
    let host = uri.host().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let port = uri.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
    let tcp = timeout(CONNECT, TcpStream::connect((host, port)))
        .await
        .map_err(|_| format!("cannot connect within {} s", CONNECT.as_secs()))?
        .map_err(|error| format!("cannot connect: {error}"))?;
    if !is_secure {
        return over(tcp, uri, max).await;
    }
    let config = oci::tls().map_err(|error| error.to_string())?;
    let name = ServerName::try_from(host.to_owned()).map_err(|error| error.to_string())?;
    let stream = TlsConnector::from(Arc::new(config))
        .connect(name, tcp)
        .await
        .map_err(|error| format!("TLS: {error}"))?;
    over(stream, uri, max).await
}

async fn over(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    uri: &Uri,
    max: usize,
) -> Result<Vec<u8>, String> {
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    let target = uri.path_and_query().map_or("/", |target| target.as_str());
    let request = Request::get(target)
        .header(HOST, authority)
        .header(USER_AGENT, concat!("gpud/", env!("CARGO_PKG_VERSION")))
        .body(Empty::<Bytes>::new())
        .map_err(|error| error.to_string())?;
    let (mut sender, connection) = http1::Builder::new()
        .max_buf_size(MAX_HEAD)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|error| error.to_string())?;
    // It ends with the sender; its errors reach the request too.
    let connection = tokio::spawn(connection);
    let answer = async {
        let response = sender
            .send_request(request)
            .await
            .map_err(|error| error.to_string())?;
        let status = response.status();
        if status.is_redirection() {
            let location = response.headers().get(LOCATION);
            let location = location.map_or("another place".into(), |to| {
                String::from_utf8_lossy(to.as_bytes())
            });
            return Err(format!(
                "the host points to {}; if you trust that, name it with --from",
                printable(&location)
            ));
        }
        if !status.is_success() {
            return Err(format!("the host answers {status}"));
        }
        let body = Limited::new(response.into_body(), max).collect().await;
        body.map(|body| body.to_bytes().to_vec()).map_err(|error| {
            format!("the answer broke off, or is larger than {max} bytes: {error}")
        })
    }
    .await;
    connection.abort();
    answer
}

#[cfg(test)]
mod tests;
