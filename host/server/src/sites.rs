//! Requests that a browser makes for some web site are refused, unless the operator allowed that site.
//!
//! A page on the internet can make the browser of somebody who can reach gpud send requests here. Three headers give it away:
//! `Origin` and `Sec-Fetch-Site`, which browsers set and pages cannot, and `Host`: a page that points its own name to gpud's
//! address (DNS rebinding) is of the same site in the browser's eyes, but asks for a name that is not gpud's.

use std::{net::Ipv6Addr, sync::Arc};

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri,
    header::{
        ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
        ACCESS_CONTROL_REQUEST_METHOD, HOST, ORIGIN, VARY,
    },
};

use super::{errors::ApiError, peer::Peer, router::App, tls::Certificate};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");
/// Where pages of gpud's own come from.
const OVER_TLS: &str = "https://";
/// The Unix socket speaks plain HTTP, which a browser reaches through `ssh -L`.
const OVER_LOCAL_SOCKET: &str = "http://";
/// The methods that an allowed site may use.
const ALLOWED_METHODS: &str = "GET, POST, PUT, DELETE";
const ALLOWED_HEADERS: &str = "authorization, content-type, json-indent, x-request-id";

/// Names by which gpud may be asked, and web sites that may ask.
#[derive(Debug, Default)]
pub struct Sites {
    /// Names of this machine, in lower case. `localhost` and every IP address are always allowed. One that begins with a dot
    /// stands for every name that ends with it; `*` is any name.
    pub hosts: Vec<String>,
    /// The operator's certificate, whose names are allowed as well.
    pub certificate: Option<Arc<Certificate>>,
    /// Origins of web sites, as browsers write them: `https://grafana.example`.
    pub origins: Vec<String>,
}

/// The origin of a request.
#[derive(Debug, PartialEq, Eq)]
enum Source {
    /// No browser, or a page of gpud's own.
    Own,
    /// A site that the operator allowed.
    Allowed(HeaderValue),
    /// Refused, for this reason.
    Foreign(String),
}

impl Sites {
    /// Returns the names of a machine: as the kernel has it, and without its domain.
    pub fn names_of_machine(hostname: &str) -> Vec<String> {
        let full = hostname.trim().trim_end_matches('.').to_ascii_lowercase();
        let short = full.split('.').next().unwrap_or_default().to_owned();
        let mut names = vec![full, short];
        names.dedup();
        names.retain(|name| !name.is_empty());
        names
    }

    /// `scheme` is the one by which pages of this listener are loaded.
    fn judge(&self, uri: &Uri, headers: &HeaderMap, scheme: &str) -> Source {
        let authority = uri.authority().map(|authority| authority.as_str());
        let named = headers.get_all(HOST).iter().map(|host| host.to_str().ok());
        for host in authority.map(Some).into_iter().chain(named) {
            let host = host.unwrap_or_default();
            if !self.is_own_host(host) {
                return Source::Foreign(format!(
                    "{host:?} is not a name of this gpud: use an IP address or the machine's name, or start gpud with --allowed-hosts"
                ));
            }
        }
        let mut origins = headers.get_all(ORIGIN).iter();
        if let Some(origin) = origins.next() {
            let text = origin.to_str().unwrap_or_default();
            return match (self.is_allowed(text), origins.next()) {
                (true, None) => Source::Allowed(origin.clone()),
                (false, None) if is_same_origin(text, authority, headers, scheme) => Source::Own,
                _ => Source::Foreign(format!(
                    "pages of {text:?} may not ask this gpud: start it with --allowed-origins to allow them"
                )),
            };
        }
        // A browser says `none` for what the person typed, and `same-origin` for our own pages.
        match headers.get(SEC_FETCH_SITE).map(HeaderValue::as_bytes) {
            None | Some(b"none" | b"same-origin") => Source::Own,
            Some(_) if is_link_to_page(uri, headers) => Source::Own,
            Some(_) => Source::Foreign(
                "pages of other sites may not ask this gpud: start it with --allowed-origins to allow them"
                    .to_owned(),
            ),
        }
    }

    fn is_allowed(&self, origin: &str) -> bool {
        self.origins
            .iter()
            .any(|allowed| allowed.eq_ignore_ascii_case(origin))
    }

    /// Whether this is a name or an address of gpud. Every IP address is: a client that asks for one was not sent here
    /// by a name.
    fn is_own_host(&self, host: &str) -> bool {
        let Some(name) = name_of(host) else {
            return false;
        };
        if name == "localhost" || name.parse::<std::net::IpAddr>().is_ok() {
            return true;
        }
        let listed = self.hosts.iter().any(|known| match known.as_str() {
            "*" => true,
            suffix if suffix.starts_with('.') => name.ends_with(suffix),
            known => name == known,
        });
        let certificate = self.certificate.as_ref();
        listed || certificate.is_some_and(|certificate| certificate.is_for(&name))
    }
}

/// The name or address of `name`, `name:port`, `[address]` or `[address]:port`, in lower case and without a final dot.
/// `None` for anything else.
fn name_of(host: &str) -> Option<String> {
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let name = match host.strip_prefix('[') {
        Some(rest) => {
            let (address, port) = rest.split_once(']')?;
            if !port.is_empty() && !port.strip_prefix(':').is_some_and(is_port) {
                return None;
            }
            address.parse::<Ipv6Addr>().ok()?;
            address
        }
        None => match host.split_once(':') {
            Some((name, port)) if is_port(port) => name,
            Some(_) => return None,
            None => host,
        },
    };
    let name = name.strip_suffix('.').unwrap_or(name);
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
    (!name.is_empty() && name.bytes().all(good)).then(|| name.to_ascii_lowercase())
}

/// Whether somebody follows a link to the page, in a tab or window of its own. The document is the same on every machine, and
/// the site that has the link sees nothing of it.
fn is_link_to_page(uri: &Uri, headers: &HeaderMap) -> bool {
    let is = |name: HeaderName, value: &[u8]| {
        headers
            .get(name)
            .is_some_and(|found: &HeaderValue| found.as_bytes() == value)
    };
    uri.path() == "/" && is(SEC_FETCH_MODE, b"navigate") && is(SEC_FETCH_DEST, b"document")
}

/// Whether the page was loaded from the address that it asks now.
fn is_same_origin(
    origin: &str,
    authority: Option<&str>,
    headers: &HeaderMap,
    scheme: &str,
) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let (Some(asked), Some(page)) = (host.or(authority), origin.strip_prefix(scheme)) else {
        return false;
    };
    // Browsers leave the scheme's own port out.
    let port = if scheme == OVER_TLS { ":443" } else { ":80" };
    let plain = |host: &str| host.strip_suffix(port).unwrap_or(host).to_ascii_lowercase();
    plain(asked) == plain(page)
}

/// The layer. What a browser asks for another site is refused; an allowed site gets the headers by which browsers know it.
pub(super) async fn refuse_foreign_sites(
    State(app): State<App>,
    request: Request,
    next: Next,
) -> Response {
    let peer = request.extensions().get::<Peer>();
    let scheme = match peer.is_some_and(Peer::is_local_socket) {
        true => OVER_LOCAL_SOCKET,
        false => OVER_TLS,
    };
    match app.sites.judge(request.uri(), request.headers(), scheme) {
        Source::Own => next.run(request).await,
        Source::Foreign(message) => ApiError::Typed(StatusCode::FORBIDDEN, message).into_response(),
        Source::Allowed(origin) => {
            let preflight = *request.method() == Method::OPTIONS
                && request
                    .headers()
                    .contains_key(ACCESS_CONTROL_REQUEST_METHOD);
            let mut response = match preflight {
                true => StatusCode::NO_CONTENT.into_response(),
                false => next.run(request).await,
            };
            let headers = response.headers_mut();
            if preflight {
                headers.insert(
                    ACCESS_CONTROL_ALLOW_METHODS,
                    HeaderValue::from_static(ALLOWED_METHODS),
                );
                headers.insert(
                    ACCESS_CONTROL_ALLOW_HEADERS,
                    HeaderValue::from_static(ALLOWED_HEADERS),
                );
            }
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.append(VARY, HeaderValue::from_static("origin"));
            response
        }
    }
}

/// Reads the value of `--allowed-origins`: origins as browsers write them, comma-separated.
///
/// # Errors
/// One of them is something else, such as a URL with a path.
pub fn parse_origins(text: &str) -> Result<Vec<String>, String> {
    let read = |origin: &str| {
        let host = origin
            .strip_prefix("https://")
            .or_else(|| origin.strip_prefix("http://"));
        match host.and_then(name_of) {
            Some(_) => Ok(origin.to_ascii_lowercase()),
            None => Err(format!(
                "invalid origin {origin:?}: it is scheme and host, such as https://grafana.example"
            )),
        }
    };
    items(text).map(read).collect()
}

/// Reads the value of `--allowed-hosts`: names, comma-separated, in lower case.
///
/// # Errors
/// One of them is something else, such as a URL or a name with a port.
pub fn parse_hosts(text: &str) -> Result<Vec<String>, String> {
    let read = |host: &str| {
        let good = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        match host == "*" || host.bytes().all(good) {
            true => Ok(host.trim_end_matches('.').to_ascii_lowercase()),
            false => Err(format!(
                "invalid host name {host:?}: it is a name such as node7.example, or .example for all names in it"
            )),
        }
    };
    items(text).map(read).collect()
}

fn items(text: &str) -> impl Iterator<Item = &str> {
    text.split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
}

#[cfg(test)]
mod tests;
