//! The distribution protocol, as far as packs need it: manifests and blobs, and where a registry may point to.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use http::{HeaderValue, Method, StatusCode, Uri, header::LOCATION};
use tokio_rustls::rustls::ClientConfig;

use super::{
    layout::{self, MANIFEST_TYPE, MAX_MANIFEST},
    reference::Reference,
    scope::Scope,
    transport::{Answer, Call, port, tls},
};
use crate::{Pack, PackRefusal, content::PackFiles};

/// How often an answer may point elsewhere.
const MAX_REDIRECTS: usize = 5;
/// Largest answer that is no manifest and no blob, bytes.
pub(super) const MAX_ANSWER: usize = 1 << 20;
/// Most characters of a registry's own message that are reported.
const MAX_QUOTED: usize = 300;

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
    pub(super) base: Uri,
    plain: bool,
    /// Other hosts may be asked where the registry points to them.
    allow_redirects: bool,
    /// Where the registry itself is, once it was reached.
    pub(super) scope: OnceLock<Scope>,
    pub(super) tls: Arc<ClientConfig>,
    pub(super) credentials: Option<Credentials>,
    /// What the registry wants to see of us, once it has said so.
    pub(super) authorization: tokio::sync::Mutex<Option<HeaderValue>>,
}

impl Registry {
    /// The registry of a reference. TLS with the system's certificates, unless it is to be `plain`. With
    /// `allow_redirects` other hosts are asked where it points to them, and one of them may be where it logs in.
    ///
    /// # Errors
    /// [`PackRefusal`]: no certificates, or credentials that would go over the wire in the clear to another machine.
    pub fn new(
        reference: &Reference,
        plain: bool,
        allow_redirects: bool,
        credentials: Option<Credentials>,
    ) -> Result<Self, PackRefusal> {
        let scheme = if plain { "http" } else { "https" };
        let base: Uri = format!("{scheme}://{}", reference.host)
            .parse()
            .map_err(|_| PackRefusal(format!("{:?} is no registry's address", reference.host)))?;
        if plain && credentials.is_some() && !is_local(&base) {
            return Err(PackRefusal::new(
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
    /// [`PackRefusal`]: the registry cannot be reached, or does not take it.
    pub async fn push(&self, pack: &Pack, reference: &Reference) -> Result<String, PackRefusal> {
        let name = &reference.name;
        let artifact = layout::artifact(pack).map_err(|error| PackRefusal(error.to_string()))?;
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
            return Err(PackRefusal(format!(
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
    /// [`PackRefusal`]: the registry cannot be reached, has no such pack, breaks off, or gives something else than it says.
    pub async fn pull(&self, reference: &Reference) -> Result<Pack, PackRefusal> {
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
            return Err(PackRefusal(format!(
                "the registry gave another manifest than {digest}; nothing of it is used"
            )));
        }
        let manifest = layout::read(&manifest)?;
        let mut collected = PackFiles::default();
        for layer in &manifest.layers {
            let size =
                usize::try_from(layer.size).map_err(|_| PackRefusal::new("a file is too large"))?;
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

    fn call(&self, method: Method, target: &str) -> Result<Call, PackRefusal> {
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
    pub(super) fn resolve(&self, from: &Uri, target: &str) -> Result<Uri, PackRefusal> {
        let wrong = || {
            PackRefusal(format!(
                "the registry names an address that is none: {:?}",
                target.chars().take(MAX_QUOTED).collect::<String>()
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
                return Err(PackRefusal::new(
                    "the registry points to an address without TLS (--plain-http allows that)",
                ));
            }
            _ => return Err(wrong()),
        }
        if !self.is_ours(&uri) && !self.allow_redirects {
            return Err(PackRefusal(format!(
                "the registry points to another host, {}; --allow-redirects follows it there",
                gpud_wire::text::printable(uri.host().unwrap_or_default())
            )));
        }
        Ok(uri)
    }

    /// Whether an address is of the registry itself: the same scheme, host and port.
    pub(super) fn is_ours(&self, uri: &Uri) -> bool {
        uri.scheme() == self.base.scheme()
            && uri.host() == self.base.host()
            && port(uri) == port(&self.base)
    }

    async fn expect(
        &self,
        call: Call,
        status: StatusCode,
        what: &str,
    ) -> Result<Answer, PackRefusal> {
        let answer = self.send(call).await?;
        if answer.status == status {
            return Ok(answer);
        }
        let said: String = String::from_utf8_lossy(&answer.body)
            .chars()
            .take(MAX_QUOTED)
            .collect();
        let said = gpud_wire::text::printable(&said);
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
        Err(PackRefusal(format!(
            "registry {host} refuses {what}: {} {said}{hint}",
            answer.status
        )))
    }

    /// Sends a request, logs in if asked to, and follows where the answer points.
    async fn send(&self, call: Call) -> Result<Answer, PackRefusal> {
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
        Err(PackRefusal::new(
            "the registry points from one address to the next without end",
        ))
    }
}

/// Whether an address is of this machine, so that nothing goes over a wire.
pub(super) fn is_local(uri: &Uri) -> bool {
    matches!(uri.host(), Some("localhost" | "127.0.0.1"))
}

fn location(answer: &Answer) -> Result<&str, PackRefusal> {
    let location = answer
        .headers
        .get(LOCATION)
        .and_then(|value| value.to_str().ok());
    location.ok_or_else(|| PackRefusal::new("the registry does not say where to go on"))
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
