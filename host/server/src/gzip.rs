//! Compresses answers under `/v1` for clients that accept gzip, whatever their size: GPUd's Go client relies on it.

use std::io::Write as _;

use axum::{
    body::{Body, to_bytes},
    extract::Request,
    middleware::Next,
    response::Response,
};
use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use http::{
    HeaderMap, HeaderValue,
    header::{ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, VARY},
};

use super::{negotiation::failed, router::RouterAnswer, stream::EndlessAnswer};

/// From this size on, compression leaves the async threads.
const LARGE: usize = 64 * 1024;

/// The layer. Answers of the router itself (no such path) stay as they are, those that do not end, and those that are
/// compressed already.
pub(super) async fn for_v1(request: Request, next: Next) -> Response {
    let wanted = request.uri().path().starts_with("/v1/")
        && contains(request.headers(), &ACCEPT_ENCODING, "gzip")
        && !contains(request.headers(), &CONNECTION, "Upgrade");
    let response = next.run(request).await;
    let extensions = response.extensions();
    let stays = response.headers().contains_key(CONTENT_ENCODING)
        || extensions.get::<RouterAnswer>().is_some()
        || extensions.get::<EndlessAnswer>().is_some();
    if wanted && !stays {
        compress(response).await
    } else {
        response
    }
}

fn contains(headers: &HeaderMap, name: &http::HeaderName, word: &str) -> bool {
    headers
        .get(name)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.contains(word))
}

/// The same answer with its body compressed.
pub(super) async fn compress(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    // Every body that reaches this layer is whole and in memory, so reading it neither waits nor fails.
    let plain = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let packed = if plain.len() < LARGE {
        gzip(&plain)
    } else {
        match tokio::task::spawn_blocking(move || gzip(&plain)).await {
            Ok(packed) => packed,
            Err(error) => return failed(&format!("cannot compress the answer: {error}")),
        }
    };
    let headers = &mut parts.headers;
    headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    headers.remove(CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(packed))
}

fn gzip(plain: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(
        Vec::with_capacity(plain.len() / 4 + 64),
        Compression::fast(),
    );
    // Writing into memory cannot fail.
    let _ = encoder.write_all(plain);
    encoder.finish().unwrap_or_default().into()
}
