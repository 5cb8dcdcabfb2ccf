//! The HTTP client that all exports share.
//!
//! TLS certificates are verified against the system's roots, and those of an export's own `ca_file`. Redirects are not
//! followed: a signed body is sent to the place that the operator named and to no other. No proxy is used. A program of this
//! machine that is reached without TLS gets nothing unless [`PeerCheck`] lets it.

mod confidential;
mod export_client;

use std::{
    error::Error as _,
    fmt,
    sync::{Arc, OnceLock},
    time::Duration,
};

use reqwest::{Client, ClientBuilder, Method, RequestBuilder, StatusCode, header, redirect};
use tokio_rustls::rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};

pub use confidential::Confidential;
pub use export_client::ExportClient;

use crate::{
    DeliveryError,
    names::{self, Names},
    peer::PeerCheck,
};

/// Longest that connecting may take, the look-up of the name and TLS included.
const CONNECT: Duration = names::LIMIT.saturating_add(Duration::from_secs(5));
/// How long an unused connection stays open.
const IDLE: Duration = Duration::from_secs(90);
/// Most bytes of an answer that are read.
pub(crate) const MAX_ANSWER: usize = 64 << 10;
/// Most characters of an answer that are shown.
const SHOWN: usize = 200;

/// Makes HTTP clients; the one without further roots is made once, when it is first needed.
#[derive(Clone, Default)]
pub struct Http {
    user_agent: String,
    shared: Arc<OnceLock<Client>>,
    names: Names,
}

/// Why there is no client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HttpError(String);

/// Whom a client trusts, and how it proves who it is.
#[derive(Clone, Copy, Default)]
pub struct Tls<'a> {
    /// Certificates to trust, PEM.
    pub roots: Option<&'a [u8]>,
    /// Trust those and not the system's.
    pub only_those: bool,
    /// The client's own certificate chain and its key, PEM.
    pub identity: Option<(&'a [u8], &'a [u8])>,
}

/// The answer of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Status.
    pub status: StatusCode,
    /// How long it asks us to wait.
    pub retry_after: Option<Duration>,
    /// The beginning of the body, as text.
    pub body: String,
}

impl Http {
    /// Makes clients that name themselves so.
    pub fn new(user_agent: impl Into<String>) -> Self {
        Self {
            user_agent: user_agent.into(),
            shared: Arc::default(),
            names: Names::default(),
        }
    }

    /// Returns what looks up the names of hosts for all exports.
    #[cfg(feature = "postgres")]
    pub(crate) fn names(&self) -> &Names {
        &self.names
    }

    /// Returns a client: the shared one, or one that trusts these further certificates (PEM) or a named user. Blocks while
    /// the system's certificates are read for the first time.
    ///
    /// # Errors
    /// No certificates can be read, or `pem` holds none.
    pub fn client(&self, pem: Option<&[u8]>, peers: &PeerCheck) -> Result<Client, HttpError> {
        if pem.is_some() || !peers.is_usual() {
            let tls = Tls {
                roots: pem,
                ..Tls::default()
            };
            return self.client_with(tls, peers);
        }
        if let Some(client) = self.shared.get() {
            return Ok(client.clone());
        }
        let made = self.client_with(Tls::default(), peers)?;
        Ok(self.shared.get_or_init(|| made).clone())
    }

    /// Makes a client of its own. Blocks while the system's certificates are read.
    ///
    /// # Errors
    /// A certificate or the key cannot be read.
    pub fn client_with(&self, tls: Tls<'_>, peers: &PeerCheck) -> Result<Client, HttpError> {
        let client = self.builder(tls_config(tls)?, peers);
        client.build().map_err(|error| HttpError(chain(&error)))
    }

    /// Makes a client that speaks HTTP/2 and nothing else, as gRPC wants it: without TLS from the first byte on. It trusts
    /// these further certificates (PEM). Blocks while the system's certificates are read.
    ///
    /// # Errors
    /// No certificates can be read, or `pem` holds none.
    #[cfg(feature = "otlp")]
    pub fn http2_client(&self, pem: Option<&[u8]>, peers: &PeerCheck) -> Result<Client, HttpError> {
        let mut tls = tls_config(Tls {
            roots: pem,
            ..Tls::default()
        })?;
        tls.alpn_protocols = vec![b"h2".to_vec()];
        let client = self.builder(tls, peers).http2_prior_knowledge();
        client.build().map_err(|error| HttpError(chain(&error)))
    }

    fn builder(&self, tls: ClientConfig, peers: &PeerCheck) -> ClientBuilder {
        Client::builder()
            .tls_backend_preconfigured(tls)
            // By this the check of peers knows a connection with TLS.
            .tls_info(true)
            .connector_layer(peers.clone())
            .dns_resolver(self.names.clone())
            .user_agent(&self.user_agent)
            .redirect(redirect::Policy::none())
            // To the address in the settings and to no other: a proxy of the environment would see what is sent.
            .no_proxy()
            .connect_timeout(CONNECT)
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(1)
            .tcp_keepalive(Duration::from_secs(30))
    }
}

/// Makes the TLS settings of a client.
fn tls_config(tls: Tls<'_>) -> Result<ClientConfig, HttpError> {
    let wrong = |error: &dyn fmt::Display| HttpError(error.to_string());
    let mut roots = RootCertStore::empty();
    if !tls.only_those {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    for certificate in tls.roots.map(certificates).transpose()?.unwrap_or_default() {
        roots.add(certificate).map_err(|error| wrong(&error))?;
    }
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong(&error))?
        .with_root_certificates(roots);
    match tls.identity {
        None => Ok(config.with_no_client_auth()),
        Some((chain, key)) => {
            let key = PrivateKeyDer::from_pem_slice(key)
                .map_err(|_| HttpError("there is no private key in PEM in it".to_owned()))?;
            config
                .with_client_auth_cert(certificates(chain)?, key)
                .map_err(|error| wrong(&error))
        }
    }
}

/// Reads all certificates of a file, at least one.
fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, HttpError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let read = read.map_err(|error| HttpError(error.to_string()))?;
    if read.is_empty() {
        return Err(HttpError("there is no certificate in PEM in it".to_owned()));
    }
    Ok(read)
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Http({})", self.user_agent)
    }
}

/// Sends a request and reads the beginning of the answer. `what` names the request in errors, without secrets. The words of
/// a refusal are left out if they repeat the address or a secret header.
///
/// # Errors
/// A transient error: nothing could be reached, or the answer broke off before its status.
pub async fn send(request: RequestBuilder, what: &str) -> Result<Answer, DeliveryError> {
    let confidential = Confidential::of(&request);
    exchange(request, what, MAX_ANSWER, &confidential).await
}

/// Does the same for an answer that is wanted whole, of up to `max` bytes, of an address that is no secret.
///
/// # Errors
/// As above.
pub async fn send_for(
    request: RequestBuilder,
    what: &str,
    max: usize,
) -> Result<Answer, DeliveryError> {
    let confidential = Confidential::of_headers(&request);
    exchange(request, what, max, &confidential).await
}

async fn exchange(
    request: RequestBuilder,
    what: &str,
    max: usize,
    confidential: &Confidential,
) -> Result<Answer, DeliveryError> {
    let failed =
        |error: &reqwest::Error| DeliveryError::transient(format!("{what}: {}", chain(error)));
    let mut response = request.send().await.map_err(|error| failed(&error))?;
    let status = response.status();
    let retry_after = response.headers().get(header::RETRY_AFTER);
    let retry_after = retry_after.and_then(|value| seconds(value.to_str().ok()?));
    let mut body = Vec::new();
    // The status is what counts; a body that breaks off changes nothing.
    while let Ok(Some(chunk)) = response.chunk().await {
        body.extend_from_slice(&chunk);
        if body.len() > max {
            break;
        }
    }
    let body = String::from_utf8_lossy(&body).into_owned();
    Ok(Answer {
        status,
        retry_after,
        body: match status.is_success() {
            true => body,
            false => confidential.hide(body),
        },
    })
}

/// Reads `Retry-After`: seconds. A date is not heeded: the node's clock may be wrong.
pub(crate) fn seconds(text: &str) -> Option<Duration> {
    text.trim().parse().ok().map(Duration::from_secs)
}

impl Answer {
    /// Judges an answer to a delivery: 2xx is delivered, 400, 413, 415 and 422 mean that the engine refuses the records, and
    /// everything else may pass, since an operator or the engine's own restart may resolve it.
    ///
    /// # Errors
    /// [`DeliveryError`].
    pub fn into_delivered(self, what: &str) -> Result<(), DeliveryError> {
        let status = self.status;
        if status.is_success() {
            return Ok(());
        }
        let said = said(&self.body);
        let hint = match status {
            status if status.is_redirection() => {
                "; redirects are not followed, put the new address into the file"
            }
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                "; look at the export's credentials"
            }
            StatusCode::NOT_FOUND => "; look at the export's address",
            _ => "",
        };
        let message = format!("{what}: answered {status}{said}{hint}");
        match status {
            StatusCode::BAD_REQUEST
            | StatusCode::PAYLOAD_TOO_LARGE
            | StatusCode::UNSUPPORTED_MEDIA_TYPE
            | StatusCode::UNPROCESSABLE_ENTITY => Err(DeliveryError::refused(message)),
            _ => Err(DeliveryError::Transient {
                message,
                retry_after: self.retry_after,
            }),
        }
    }
}

/// Returns the beginning of a server's words as the end of a sentence; empty if it said nothing.
pub(crate) fn said(words: &str) -> String {
    let line: String = words
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(SHOWN)
        .collect();
    match line.trim() {
        "" => String::new(),
        line => format!(": {line}"),
    }
}

/// Returns an error with its causes, without the address, which may hold a secret.
pub fn chain(error: &reqwest::Error) -> String {
    let mut causes = Vec::new();
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        if !causes.contains(&text) {
            causes.push(text);
        }
        source = cause.source();
    }
    if error.is_timeout() && causes.is_empty() {
        causes.push("no answer in time".to_owned());
    }
    if causes.is_empty() {
        return "the request failed".to_owned();
    }
    causes.join(": ")
}

/// Names a request in errors: the method, scheme, host and port. Path and query are left out, since the addresses of
/// chat tools are secrets.
pub fn name_of(method: &Method, url: &str) -> String {
    format!("{method} {}", origin(url))
}

/// Returns scheme, host and port of an address.
pub fn origin(url: &str) -> String {
    match reqwest::Url::parse(url) {
        Ok(url) => url.origin().ascii_serialization(),
        Err(_) => "an address that is no URL".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(status: u16, body: &str) -> Result<(), DeliveryError> {
        let answer = Answer {
            status: StatusCode::from_u16(status).unwrap(),
            retry_after: Some(Duration::from_secs(7)),
            body: body.to_owned(),
        };
        answer.into_delivered("POST https://h")
    }

    #[test]
    fn statuses_are_judged() {
        assert_eq!(answered(204, ""), Ok(()));
        for status in [301, 401, 403, 404, 408, 409, 410, 429, 500, 502, 503, 504] {
            let is_transient = matches!(
                answered(status, ""),
                Err(DeliveryError::Transient {
                    retry_after: Some(_),
                    ..
                })
            );
            assert!(is_transient, "{status}");
        }
        for status in [400, 413, 415, 422] {
            assert!(
                matches!(answered(status, ""), Err(DeliveryError::Refused { .. })),
                "{status}"
            );
        }
        let problem = answered(403, "no\nsuch team").unwrap_err().to_string();
        assert_eq!(
            problem,
            "POST https://h: answered 403 Forbidden: no such team; look at the export's credentials"
        );
    }

    #[test]
    fn names_hold_no_secret() {
        let url = "https://user:pw@hooks.example.com:8443/services/T0/B0/secret?token=x";
        assert_eq!(
            name_of(&Method::POST, url),
            "POST https://hooks.example.com:8443"
        );
        assert_eq!(origin("nonsense"), "an address that is no URL");
    }

    #[test]
    fn retry_after_is_seconds() {
        assert_eq!(seconds(" 30 "), Some(Duration::from_secs(30)));
        assert_eq!(seconds("Fri, 31 Dec 1999 23:59:59 GMT"), None);
        assert_eq!(seconds("-1"), None);
    }
}
