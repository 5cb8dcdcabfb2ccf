//! The distribution protocol, as far as packs need it: manifests, blobs, and logging in by password or by a token service.

use std::{
    net::SocketAddr,
    sync::{Arc, OnceLock},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Method, Request, StatusCode, Uri,
    header::{
        ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, LOCATION, USER_AGENT,
        WWW_AUTHENTICATE,
    },
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
    layout::{self, MANIFEST_TYPE, MAX_MANIFEST},
    reference::Reference,
    scope::Scope,
};
use crate::pack::{Pack, Refused, content::Collected};

/// For connecting, and for each request with its answer.
const CONNECT: Duration = Duration::from_secs(15);
const EXCHANGE: Duration = Duration::from_secs(300);
/// How often an answer may point elsewhere.
const MAX_REDIRECTS: usize = 5;
/// Largest answer that is no manifest and no blob, bytes.
const MAX_ANSWER: usize = 1 << 20;
/// Largest head of an answer, bytes, and most headers in it.
const MAX_HEAD: usize = 64 << 10;
const MAX_HEADERS: usize = 100;
/// Most characters of a registry's own words that are told.
const TOLD: usize = 300;

/// How to log in.
#[derive(Clone)]
pub struct Credentials {
    /// The name.
    pub username: String,
    /// Password or token.
    pub password: String,
}

/// A registry.
pub struct Registry {
    base: Uri,
    plain: bool,
    /// Other hosts may be asked where the registry points to them.
    allow_redirects: bool,
    /// Where the registry itself is, once it was reached.
    scope: OnceLock<Scope>,
    tls: Arc<ClientConfig>,
    credentials: Option<Credentials>,
    /// What the registry wants to see of us, once it has said so.
    authorization: tokio::sync::Mutex<Option<HeaderValue>>,
}

struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
    /// Where it came from.
    uri: Uri,
}

#[derive(Clone)]
struct Call {
    method: Method,
    uri: Uri,
    content_type: Option<&'static str>,
    accept: Option<&'static str>,
    body: Bytes,
    max_answer: usize,
}

impl Registry {
    /// The registry of a reference. TLS with the system's certificates, unless it is to be `plain`. With
    /// `allow_redirects` other hosts are asked where it points to them, and one of them may be where it logs in.
    ///
    /// # Errors
    /// [`Refused`]: no certificates, or credentials that would go over the wire in the clear to another machine.
    pub fn new(
        reference: &Reference,
        plain: bool,
        allow_redirects: bool,
        credentials: Option<Credentials>,
    ) -> Result<Self, Refused> {
        let scheme = if plain { "http" } else { "https" };
        let base: Uri = format!("{scheme}://{}", reference.host)
            .parse()
            .map_err(|_| Refused(format!("{:?} is no registry's address", reference.host)))?;
        if plain && credentials.is_some() && !is_local(&base) {
            return Err(Refused::new(
                "a password is not sent without TLS: leave out --plain-http",
            ));
        }
        Ok(Self {
            tls: Arc::new(tls()?),
            base,
            plain,
            allow_redirects,
            scope: OnceLock::new(),
            credentials,
            authorization: tokio::sync::Mutex::default(),
        })
    }

    /// Sends a pack. Gives the digest by which this very pack can be fetched.
    ///
    /// # Errors
    /// [`Refused`]: the registry cannot be reached, or does not take it.
    pub async fn push(&self, pack: &Pack, reference: &Reference) -> Result<String, Refused> {
        let name = &reference.name;
        let artifact = layout::artifact(pack).map_err(|error| Refused(error.to_string()))?;
        for (digest, content) in artifact.blobs {
            let there = self.call(Method::HEAD, &format!("/v2/{name}/blobs/{digest}"))?;
            if self.send(there).await?.status == StatusCode::OK {
                continue;
            }
            let begin = self.call(Method::POST, &format!("/v2/{name}/blobs/uploads/"))?;
            let begun = self
                .expect(begin, StatusCode::ACCEPTED, "to take a file")
                .await?;
            let location = location(&begun)?;
            let between = if location.contains('?') { '&' } else { '?' };
            let uri = self.resolve(&begun.uri, &format!("{location}{between}digest={digest}"))?;
            let upload = Call {
                method: Method::PUT,
                uri,
                content_type: Some("application/octet-stream"),
                accept: None,
                body: content.into(),
                max_answer: MAX_ANSWER,
            };
            self.expect(upload, StatusCode::CREATED, "to take a file")
                .await?;
        }
        let digest = layout::digest(&artifact.manifest);
        let wanted = reference.digest.as_deref().unwrap_or(&reference.tag);
        if reference
            .digest
            .as_ref()
            .is_some_and(|named| *named != digest)
        {
            return Err(Refused(format!(
                "{reference} is another pack; this one is {digest}"
            )));
        }
        let put = Call {
            content_type: Some(MANIFEST_TYPE),
            body: artifact.manifest.into(),
            ..self.call(Method::PUT, &format!("/v2/{name}/manifests/{wanted}"))?
        };
        self.expect(put, StatusCode::CREATED, "to take the manifest")
            .await?;
        Ok(digest)
    }

    /// Fetches a pack: whole, with digests that fit, or not at all.
    ///
    /// # Errors
    /// [`Refused`]: the registry cannot be reached, has no such pack, breaks off, or gives something else than it says.
    pub async fn pull(&self, reference: &Reference) -> Result<Pack, Refused> {
        let name = &reference.name;
        let get = Call {
            accept: Some(MANIFEST_TYPE),
            max_answer: MAX_MANIFEST,
            ..self.call(
                Method::GET,
                &format!("/v2/{name}/manifests/{}", reference.wanted()),
            )?
        };
        let manifest = self
            .expect(get, StatusCode::OK, &format!("to give {reference}"))
            .await?
            .body;
        if let Some(digest) = &reference.digest
            && layout::digest(&manifest) != *digest
        {
            return Err(Refused(format!(
                "the registry gave another manifest than {digest}; nothing of it is used"
            )));
        }
        let manifest = layout::read(&manifest)?;
        let mut collected = Collected::default();
        for layer in &manifest.layers {
            let size =
                usize::try_from(layer.size).map_err(|_| Refused::new("a file is too large"))?;
            let get = Call {
                max_answer: size,
                ..self.call(Method::GET, &format!("/v2/{name}/blobs/{}", layer.digest))?
            };
            let content = self
                .expect(get, StatusCode::OK, &format!("to give {}", layer.digest))
                .await?
                .body;
            layer.check(&content)?;
            collected.add(layer.path()?, content.to_vec())?;
        }
        collected.into_pack(false)
    }

    fn call(&self, method: Method, target: &str) -> Result<Call, Refused> {
        Ok(Call {
            method,
            uri: self.resolve(&self.base, target)?,
            content_type: None,
            accept: None,
            body: Bytes::new(),
            max_answer: MAX_ANSWER,
        })
    }

    /// An address that the registry named: whole, or relative to where it was named. Never from TLS to none.
    fn resolve(&self, from: &Uri, target: &str) -> Result<Uri, Refused> {
        let wrong = || {
            Refused(format!(
                "the registry names an address that is none: {:?}",
                target.chars().take(TOLD).collect::<String>()
            ))
        };
        let whole = match target.starts_with('/') {
            true => {
                let authority = from.authority().ok_or_else(wrong)?;
                format!(
                    "{}://{authority}{target}",
                    from.scheme_str().unwrap_or("https")
                )
            }
            false => target.to_owned(),
        };
        let uri: Uri = whole.parse().map_err(|_| wrong())?;
        match (uri.scheme_str(), uri.authority()) {
            (Some("https"), Some(_)) => {}
            (Some("http"), Some(_)) if self.plain => {}
            (Some("http"), Some(_)) => {
                return Err(Refused::new(
                    "the registry points to an address without TLS (--plain-http allows that)",
                ));
            }
            _ => return Err(wrong()),
        }
        if !self.is_ours(&uri) && !self.allow_redirects {
            return Err(Refused(format!(
                "the registry points to another host, {}; --allow-redirects follows it there",
                crate::capability::printable(uri.host().unwrap_or_default())
            )));
        }
        Ok(uri)
    }

    /// Whether an address is of the registry itself: the same scheme, host and port.
    fn is_ours(&self, uri: &Uri) -> bool {
        uri.scheme() == self.base.scheme()
            && uri.host() == self.base.host()
            && port(uri) == port(&self.base)
    }

    async fn expect(&self, call: Call, status: StatusCode, what: &str) -> Result<Answer, Refused> {
        let answer = self.send(call).await?;
        if answer.status == status {
            return Ok(answer);
        }
        let said: String = String::from_utf8_lossy(&answer.body)
            .chars()
            .take(TOLD)
            .collect();
        let said = crate::capability::printable(&said);
        let host = self
            .base
            .authority()
            .map_or("", |authority| authority.as_str());
        let hint = match answer.status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                "; log in with --username and --password-file"
            }
            _ => "",
        };
        Err(Refused(format!(
            "registry {host} refuses {what}: {} {said}{hint}",
            answer.status
        )))
    }

    /// Sends a request, logs in if asked to, and follows where the answer points.
    async fn send(&self, call: Call) -> Result<Answer, Refused> {
        let mut call = call;
        let mut logged_in = false;
        for _ in 0..=MAX_REDIRECTS + 1 {
            let ours = self.is_ours(&call.uri);
            let authorization = match ours {
                true => self.authorization.lock().await.clone(),
                false => None,
            };
            let answer = self.exchange(&call, authorization).await?;
            if answer.status == StatusCode::UNAUTHORIZED && ours && !logged_in {
                logged_in = true;
                if self.log_in(&answer).await? {
                    continue;
                }
                return Ok(answer);
            }
            if answer.status.is_redirection() && matches!(call.method, Method::GET | Method::HEAD) {
                call.uri = self.resolve(&answer.uri, location(&answer)?)?;
                continue;
            }
            return Ok(answer);
        }
        Err(Refused::new(
            "the registry points from one address to the next without end",
        ))
    }

    /// Gets what the registry wants to see. `false` if nothing can be had.
    async fn log_in(&self, refusal: &Answer) -> Result<bool, Refused> {
        let challenges: Vec<&str> = refusal
            .headers
            .get_all(WWW_AUTHENTICATE)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .collect();
        let scheme = |name: &str| {
            challenges.iter().find_map(|challenge| {
                let (scheme, rest) = challenge.split_once(' ').unwrap_or((challenge, ""));
                scheme.eq_ignore_ascii_case(name).then_some(rest)
            })
        };
        let basic = self
            .credentials
            .as_ref()
            .map(|Credentials { username, password }| {
                format!("Basic {}", BASE64.encode(format!("{username}:{password}")))
            });
        let shown = if let Some(parameters) = scheme("Bearer") {
            Some(format!(
                "Bearer {}",
                self.token(parameters, basic.as_deref()).await?
            ))
        } else {
            scheme("Basic").and(basic)
        };
        let Some(shown) = shown else {
            return Ok(false);
        };
        let mut value = HeaderValue::try_from(shown)
            .map_err(|_| Refused::new("the token of the registry cannot be sent"))?;
        value.set_sensitive(true);
        *self.authorization.lock().await = Some(value);
        Ok(true)
    }

    async fn token(&self, parameters: &str, basic: Option<&str>) -> Result<String, Refused> {
        let value = |key: &str| parameter(parameters, key);
        let realm = value("realm")
            .ok_or_else(|| Refused::new("the registry does not say where to log in"))?;
        let mut query = String::new();
        for key in ["service", "scope"] {
            if let Some(value) = value(key) {
                query.push(if query.is_empty() && !realm.contains('?') {
                    '?'
                } else {
                    '&'
                });
                query.push_str(&format!("{key}={}", crate::cli::client::escape(value)));
            }
        }
        let call = Call {
            method: Method::GET,
            uri: self.resolve(&self.base, &format!("{realm}{query}"))?,
            content_type: None,
            accept: None,
            body: Bytes::new(),
            max_answer: MAX_ANSWER,
        };
        // The registry says where this is, so it is not trusted with a password in the clear.
        let is_safe = call.uri.scheme_str() == Some("https") || is_local(&call.uri);
        let authorization = basic
            .filter(|_| is_safe)
            .and_then(|basic| HeaderValue::try_from(basic).ok());
        let answer = self.exchange(&call, authorization).await?;
        #[derive(serde::Deserialize)]
        struct Token {
            token: Option<String>,
            access_token: Option<String>,
        }
        let token = serde_json::from_slice::<Token>(&answer.body).ok();
        token
            .filter(|_| answer.status == StatusCode::OK)
            .and_then(|token| token.token.or(token.access_token))
            .ok_or_else(|| {
                Refused(format!(
                    "the registry's login gives no token: {}",
                    answer.status
                ))
            })
    }

    async fn exchange(
        &self,
        call: &Call,
        authorization: Option<HeaderValue>,
    ) -> Result<Answer, Refused> {
        let what = format!("{} {}", call.method, call.uri.host().unwrap_or(""));
        tokio::time::timeout(EXCHANGE, self.talk(call, authorization))
            .await
            .map_err(|_| Refused(format!("{what}: no answer within {} s", EXCHANGE.as_secs())))?
            .map_err(|error| Refused(format!("{what}: {error}")))
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

fn port(uri: &Uri) -> u16 {
    let usual = match uri.scheme_str() {
        Some("https") => 443,
        _ => 80,
    };
    uri.port_u16().unwrap_or(usual)
}

/// Whether an address is of this machine, so that nothing goes over a wire.
fn is_local(uri: &Uri) -> bool {
    matches!(uri.host(), Some("localhost" | "127.0.0.1"))
}

fn location(answer: &Answer) -> Result<&str, Refused> {
    let location = answer
        .headers
        .get(LOCATION)
        .and_then(|value| value.to_str().ok());
    location.ok_or_else(|| Refused::new("the registry does not say where to go on"))
}

/// A parameter of a challenge: `key="value"`.
fn parameter<'a>(parameters: &'a str, key: &str) -> Option<&'a str> {
    let mut rest = parameters;
    while let Some((name, after)) = rest.split_once("=\"") {
        let (value, next) = after.split_once('"')?;
        if name.trim_start_matches([',', ' ']) == key {
            return Some(value);
        }
        rest = next;
    }
    None
}

fn tls() -> Result<ClientConfig, Refused> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs);
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Refused(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(config)
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parameters_of_a_challenge() {
        let challenge = r#"realm="https://auth.example.com/token",service="registry",scope="repository:a:pull,push""#;
        assert_eq!(
            parameter(challenge, "realm"),
            Some("https://auth.example.com/token")
        );
        assert_eq!(
            parameter(challenge, "scope"),
            Some("repository:a:pull,push")
        );
        assert_eq!(parameter(challenge, "service"), Some("registry"));
        assert_eq!(parameter(challenge, "other"), None);
        assert_eq!(parameter("realm=\"x", "realm"), None);
    }

    #[test]
    fn addresses_do_not_lose_their_tls() {
        let reference = Reference::parse("r.example.com/a:1").unwrap();
        let registry = Registry::new(&reference, false, true, None).unwrap();
        let resolve = |target: &str| {
            registry
                .resolve(&registry.base, target)
                .map(|uri| uri.to_string())
        };
        assert_eq!(resolve("/v2/x").unwrap(), "https://r.example.com/v2/x");
        assert_eq!(resolve("https://other/x").unwrap(), "https://other/x");
        assert!(
            resolve("http://other/x")
                .unwrap_err()
                .to_string()
                .contains("without TLS")
        );
        assert!(resolve("ftp://x").is_err() && resolve("x").is_err());
        let secret = Some(Credentials {
            username: "u".into(),
            password: "p".into(),
        });
        assert!(Registry::new(&reference, true, true, secret.clone()).is_err());
        let local = Reference::parse("localhost:5000/a:1").unwrap();
        assert!(Registry::new(&local, true, false, secret).is_ok());
    }

    #[test]
    fn other_hosts_are_asked_only_when_allowed() {
        let reference = Reference::parse("r.example.com/a:1").unwrap();
        let strict = Registry::new(&reference, false, false, None).unwrap();
        let resolve = |target: &str| strict.resolve(&strict.base, target);
        for ours in [
            "/v2/x",
            "https://r.example.com/x",
            "https://r.example.com:443/x",
        ] {
            assert!(resolve(ours).is_ok(), "{ours}");
        }
        for other in [
            "https://other/x",
            "https://r.example.com:8443/x",
            "https://r.example.com@evil/x",
            "https://169.254.169.254/latest",
        ] {
            let error = resolve(other).unwrap_err().to_string();
            assert!(error.contains("--allow-redirects"), "{other}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_challenge_is_read_or_not(text in "[a-z=\", ]{0,60}") {
            let _ = parameter(&text, "realm");
        }
    }
}
