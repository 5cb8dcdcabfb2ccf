//! `GET /` and `/page/…`: the page for people. Its files are part of the program; `cargo xtask page` builds them.

use std::{
    fmt::Write as _,
    io::Write as _,
    net::{IpAddr, SocketAddr},
    sync::LazyLock,
};

use axum::response::Response;
use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{
        ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, ETAG,
        IF_NONE_MATCH, REFERRER_POLICY, VARY,
    },
};
use sha2::{Digest as _, Sha256};

use super::negotiation::answer;

/// Nothing but the page's own files runs, is loaded or is asked, and no other page shows it in a frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
pub(super) const HTML: &str = "text/html; charset=utf-8";
pub(super) const SCRIPT: &str = "text/javascript; charset=utf-8";
pub(super) const STYLE: &str = "text/css; charset=utf-8";
pub(super) const ICON: &str = "image/svg+xml";
pub(super) const TEXT: &str = "text/plain; charset=utf-8";

/// Returns where a browser finds the page of a server that listens at this address.
pub fn page_address(address: SocketAddr, hostname: &str) -> String {
    let ip = address.ip().to_canonical();
    let host = if ip.is_loopback() {
        "localhost".to_owned()
    } else if ip.is_unspecified() {
        // Every address of the machine: its name is known to others as well.
        match hostname.trim() {
            "" => "localhost".to_owned(),
            name => name.to_owned(),
        }
    } else {
        match ip {
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        }
    };
    format!("https://{host}:{}/", address.port())
}

/// A file of the page.
struct File {
    content_type: &'static str,
    plain: &'static [u8],
    /// Compressed when it is first asked for.
    packed: LazyLock<Bytes>,
    tag: LazyLock<String>,
}

/// A file of `host/page/dist`.
macro_rules! page_file {
    ($name:literal, $content_type:expr) => {
        File {
            content_type: $content_type,
            plain: include_bytes!(concat!("../../page/dist/", $name)),
            packed: LazyLock::new(|| pack(include_bytes!(concat!("../../page/dist/", $name)))),
            tag: LazyLock::new(|| tag(include_bytes!(concat!("../../page/dist/", $name)))),
        }
    };
}

static INDEX: File = page_file!("index.html", HTML);
static APP: File = page_file!("app.js", SCRIPT);
static APP_STYLE: File = page_file!("app.css", STYLE);
static CHARTS: File = page_file!("charts.js", SCRIPT);
static CHARTS_STYLE: File = page_file!("charts.css", STYLE);
static SIGN: File = page_file!("icon.svg", ICON);
static LICENSES: File = page_file!("licenses.txt", TEXT);

pub(super) async fn index(headers: HeaderMap) -> Response {
    INDEX.show(&headers)
}

pub(super) async fn app(headers: HeaderMap) -> Response {
    APP.show(&headers)
}

pub(super) async fn app_style(headers: HeaderMap) -> Response {
    APP_STYLE.show(&headers)
}

pub(super) async fn charts(headers: HeaderMap) -> Response {
    CHARTS.show(&headers)
}

pub(super) async fn charts_style(headers: HeaderMap) -> Response {
    CHARTS_STYLE.show(&headers)
}

pub(super) async fn licenses(headers: HeaderMap) -> Response {
    LICENSES.show(&headers)
}

pub(super) async fn icon(headers: HeaderMap) -> Response {
    SIGN.show(&headers)
}

impl File {
    /// Answers with the file, or with 304 if the browser has it.
    fn show(&self, request: &HeaderMap) -> Response {
        let zipped = lists(request, &ACCEPT_ENCODING, "gzip");
        let mut response = if lists(request, &IF_NONE_MATCH, &self.tag) {
            let mut response = Response::default();
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            response
        } else if zipped {
            let mut response = answer(StatusCode::OK, self.content_type, self.packed.clone());
            response
                .headers_mut()
                .insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            response
        } else {
            answer(StatusCode::OK, self.content_type, self.plain)
        };
        let headers = response.headers_mut();
        if let Ok(tag) = HeaderValue::try_from(self.tag.as_str()) {
            headers.insert(ETAG, tag);
        }
        let own: [(HeaderName, &'static str); 5] = [
            // A browser asks each time, and a new gpud shows its own page at once.
            (CACHE_CONTROL, "no-cache"),
            (VARY, "Accept-Encoding"),
            (CONTENT_SECURITY_POLICY, POLICY),
            (REFERRER_POLICY, "no-referrer"),
            (
                HeaderName::from_static("cross-origin-resource-policy"),
                "same-origin",
            ),
        ];
        for (name, value) in own {
            headers.insert(name, HeaderValue::from_static(value));
        }
        response
    }
}

/// Whether a header that holds a list has this item. `gzip;q=0` refuses it.
fn lists(headers: &HeaderMap, name: &HeaderName, item: &str) -> bool {
    let values = headers.get_all(name).iter();
    values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|part| {
            let (word, parameter) = part.split_once(';').unwrap_or((part, ""));
            // A proxy that compresses on its way marks the tag as weak.
            let word = word.trim().trim_start_matches("W/");
            word == item && !matches!(parameter.trim(), "q=0" | "q=0.0" | "q=0.00" | "q=0.000")
        })
}

fn pack(plain: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    // Writing into memory cannot fail.
    let _ = encoder.write_all(plain);
    encoder.finish().unwrap_or_default().into()
}

/// The start of the file's digest, in quotes as the header wants it.
fn tag(plain: &[u8]) -> String {
    let digest = Sha256::digest(plain);
    let mut text = String::from("\"");
    for byte in digest.iter().take(12) {
        let _ = write!(text, "{byte:02x}");
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests;
