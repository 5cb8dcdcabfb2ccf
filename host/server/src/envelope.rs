//! Wraps every request: its id, a line in the access log, an answer even where a handler panics, and the headers that restrict browsers.

use std::{panic::AssertUnwindSafe, time::Instant};

use axum::{extract::Request, middleware::Next, response::Response};
use futures_util::FutureExt as _;
use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{CACHE_CONTROL, X_CONTENT_TYPE_OPTIONS},
};

use super::routes::known_path;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Characters of a request id that the log shows.
const SHOWN_ID: usize = 64;

/// The layer. The log names a path of the API, or `other`: neither what follows it nor what a stranger makes up.
pub(super) async fn wrap(request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = request_id(&request);
    let method = request.method().clone();
    let path = known_path(request.uri().path());
    // A handler holds nothing that outlives the request but locks that tokio does not poison.
    let mut response = match AssertUnwindSafe(next.run(request)).catch_unwind().await {
        Ok(response) => response,
        Err(_) => {
            tracing::error!(%method, path, "a request handler panicked");
            let mut response = Response::default();
            *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
            response
        }
    };
    tracing::debug!(
        %method,
        path,
        status = response.status().as_u16(),
        micros = started.elapsed().as_micros(),
        request_id = shown(&id),
        "request"
    );
    let headers = response.headers_mut();
    headers.insert(REQUEST_ID, id);
    restrict(headers);
    response
}

/// Forbids browsers to guess a content type and to store the answer: it quotes what others wrote, such as outputs of scripts, and a
/// token may have been needed for it. A resource that may be stored has a header of its own.
fn restrict(headers: &mut HeaderMap) {
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers
        .entry(CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
}

/// The client's own id, or a new one.
fn request_id(request: &Request) -> HeaderValue {
    match request.headers().get(REQUEST_ID) {
        Some(id) if !id.is_empty() => id.clone(),
        _ => HeaderValue::try_from(uuid::Uuid::new_v4().to_string())
            .unwrap_or(HeaderValue::from_static("")),
    }
}

fn shown(id: &HeaderValue) -> &str {
    let id = id.to_str().unwrap_or_default();
    id.get(..SHOWN_ID).unwrap_or(id)
}
