//! One request to a registry and its answer: connecting, TLS, HTTP/1.1, and bounds on all of it.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Method, Request, StatusCode, Uri,
    header::{ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, USER_AGENT},
};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, lookup_host},
};
use tokio_rustls::{
    TlsConnector,
    rustls::{ClientConfig, RootCertStore, crypto::ring, pki_types::ServerName},
};

use super::{
    client::{MAX_ANSWER, Registry},
    scope::Scope,
    server_user,
};
use crate::{PackRefusal, node::trusted};

/// For connecting, and for each request with its answer.
const CONNECT: Duration = Duration::from_secs(15);
const EXCHANGE: Duration = Duration::from_secs(300);
/// Largest head of an answer, bytes, and most headers in it.
const MAX_HEAD: usize = 64 << 10;
const MAX_HEADERS: usize = 100;

/// What a registry answered.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// Where it came from.
    pub(super) uri: Uri,
}

/// A request to a registry.
#[derive(Clone)]
pub(super) struct Call {
    pub(super) method: Method,
    pub(super) uri: Uri,
    pub(super) content_type: Option<&'static str>,
    pub(super) accept: Option<&'static str>,
    pub(super) body: Bytes,
    pub(super) max_answer: usize,
}

impl Registry {
    /// Sends a request and reads its answer, whatever its status.
    pub(super) async fn exchange(
        &self,
        call: &Call,
        authorization: Option<HeaderValue>,
    ) -> Result<Answer, PackRefusal> {
        let what = format!("{} {}", call.method, call.uri.host().unwrap_or(""));
        tokio::time::timeout(EXCHANGE, self.talk(call, authorization))
            .await
            .map_err(|_| PackRefusal(format!("{what}: no answer within {} s", EXCHANGE.as_secs())))?
            .map_err(|error| PackRefusal(format!("{what}: {error}")))
    }

    async fn talk(
        &self,
        call: &Call,
        authorization: Option<HeaderValue>,
    ) -> Result<Answer, String> {
        let secure = call.uri.scheme_str() == Some("https");
        let host = call.uri.host().unwrap_or("");
        let connecting = self.connect(&call.uri);
        let tcp = tokio::time::timeout(CONNECT, connecting)
            .await
            .map_err(|_| format!("cannot connect within {} s", CONNECT.as_secs()))??;
        if !secure {
            if authorization.is_some() {
                server_user::check(&tcp).await?;
            }
            return self.over(tcp, call, authorization).await;
        }
        let name = ServerName::try_from(host.to_owned()).map_err(|error| error.to_string())?;
        let stream = TlsConnector::from(Arc::clone(&self.tls))
            .connect(name, tcp)
            .await
            .map_err(|error| no_tls(host, &error))?;
        self.over(stream, call, authorization).await
    }

    /// Connects to the registry wherever it is, and to another host only where the registry may point.
    async fn connect(&self, uri: &Uri) -> Result<TcpStream, String> {
        let host = uri.host().unwrap_or("");
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let failed = |error: std::io::Error| format!("cannot connect: {error}");
        let addresses = lookup_host((bare, port(uri))).await.map_err(failed)?;
        let addresses: Vec<SocketAddr> = addresses.collect();
        let ours = self.is_ours(uri);
        if !ours {
            let own = self.scope.get().copied().unwrap_or(Scope::Public);
            let outside = addresses
                .iter()
                .find(|address| !own.may_point_to(Scope::of(address.ip())));
            if let Some(address) = outside {
                return Err(format!(
                    "the registry points to {}, an address inside of this network; it is not asked",
                    address.ip()
                ));
            }
        }
        // The very addresses that were looked at: another answer of the resolver's does not count.
        let stream = TcpStream::connect(addresses.as_slice())
            .await
            .map_err(failed)?;
        if ours && let Ok(address) = stream.peer_addr() {
            let _ = self.scope.set(Scope::of(address.ip()));
        }
        Ok(stream)
    }

    async fn over(
        &self,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        call: &Call,
        authorization: Option<HeaderValue>,
    ) -> Result<Answer, String> {
        let authority = call
            .uri
            .authority()
            .map_or("", |authority| authority.as_str());
        let target = call
            .uri
            .path_and_query()
            .map_or("/", |target| target.as_str());
        let mut request = Request::builder()
            .method(call.method.clone())
            .uri(target)
            .header(HOST, authority)
            .header(USER_AGENT, concat!("gpud/", env!("CARGO_PKG_VERSION")))
            .header(CONTENT_LENGTH, call.body.len());
        if let Some(content_type) = call.content_type {
            request = request.header(CONTENT_TYPE, content_type);
        }
        if let Some(accept) = call.accept {
            request = request.header(ACCEPT, accept);
        }
        if let Some(authorization) = authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let request = request
            .body(Full::new(call.body.clone()))
            .map_err(|error| error.to_string())?;
        let (mut sender, connection) = http1::Builder::new()
            .max_buf_size(MAX_HEAD)
            .max_headers(MAX_HEADERS)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|error| error.to_string())?;
        let connection = tokio::spawn(connection);
        let answer = async {
            let response = sender
                .send_request(request)
                .await
                .map_err(|error| error.to_string())?;
            let (head, body) = response.into_parts();
            // What is no success has words of its own.
            let limit = if head.status.is_success() {
                call.max_answer
            } else {
                MAX_ANSWER
            };
            let body = Limited::new(body, limit).collect().await.map_err(|error| {
                format!("the answer broke off, or is larger than {limit} bytes: {error}")
            })?;
            Ok(Answer {
                status: head.status,
                headers: head.headers,
                body: body.to_bytes(),
                uri: call.uri.clone(),
            })
        }
        .await;
        connection.abort();
        answer
    }
}

/// Returns the port of an address.
pub(super) fn port(uri: &Uri) -> u16 {
    let usual = match uri.scheme_str() {
        Some("https") => 443,
        _ => 80,
    };
    uri.port_u16().unwrap_or(usual)
}

/// Why there is no TLS. What speaks plain HTTP answers with something that is no record of TLS.
fn no_tls(host: &str, error: &std::io::Error) -> String {
    match error.to_string() {
        text if text.contains("InvalidContentType") => {
            format!("{host} does not speak TLS; --plain-http talks HTTP to it")
        }
        text => format!("TLS: {text}"),
    }
}

/// Returns the settings of TLS with the system's certificates, or those that the environment names if nobody else can change
/// them.
///
/// # Errors
/// [`PackRefusal`]: somebody else can change the certificates that the environment names.
pub fn tls() -> Result<ClientConfig, PackRefusal> {
    trusted::check_certificates().map_err(|error| PackRefusal(error.to_string()))?;
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs);
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| PackRefusal(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(config)
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind};

    use super::*;

    #[test]
    fn a_registry_without_tls_is_named_with_the_flag_for_it() {
        let plain = Error::new(
            ErrorKind::InvalidData,
            "received corrupt message of type InvalidContentType",
        );
        assert_eq!(
            no_tls("hub.example", &plain),
            "hub.example does not speak TLS; --plain-http talks HTTP to it"
        );
        let other = Error::other("certificate expired");
        assert_eq!(no_tls("hub.example", &other), "TLS: certificate expired");
    }
}
