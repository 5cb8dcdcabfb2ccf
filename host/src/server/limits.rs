//! Bounds on what clients can make the daemon hold: connections, requests, sizes and times.

use std::time::Duration;

use axum::{
    body::{Body, to_bytes},
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http::{HeaderMap, StatusCode, header::CONTENT_LENGTH};

use super::{errors::ApiError, router::App};

/// Connections at a time; further ones wait in the kernel's queue.
pub(super) const MAX_CONNECTIONS: usize = 512;
/// Connections at a time of one client elsewhere: it cannot have all of them.
pub(super) const CLIENT_CONNECTIONS: usize = 128;
/// Requests a second of one client elsewhere, in the long run.
pub(super) const CLIENT_RATE: f64 = 100.0;
/// Requests of such a client that may come at once after a pause.
pub(super) const CLIENT_BURST: f64 = 500.0;
/// Clients that are remembered: those connected, and those that asked in the last seconds.
pub(super) const MAX_CLIENTS: usize = 4096;
/// Requests at a time, over all connections; further ones wait for [`QUEUE_TIME`]. `/healthz` never waits.
pub(super) const MAX_IN_FLIGHT: usize = 64;
/// Requests at a time on one HTTP/2 connection.
pub(super) const MAX_STREAMS: u32 = 16;
/// Bytes of a request's head; hyper may take up to twice that before it refuses.
pub(super) const MAX_HEAD: u32 = 64 * 1024;
/// Bytes of a request's body.
pub(super) const MAX_BODY: usize = 1024 * 1024;

/// From the first byte of a connection to the end of the TLS handshake.
pub(super) const HANDSHAKE_TIME: Duration = Duration::from_secs(10);
/// For a request's head on HTTP/1.1, counted from the end of the request before it.
pub(super) const HEAD_TIME: Duration = Duration::from_secs(30);
/// A connection without a request is closed after this.
pub(super) const IDLE_TIME: Duration = Duration::from_secs(120);
/// A client that takes none of its answer for this long is cut off.
pub(super) const STALL_TIME: Duration = Duration::from_secs(30);
/// For requests under way when the daemon stops.
pub(super) const DRAIN_TIME: Duration = Duration::from_secs(5);
const BODY_TIME: Duration = Duration::from_secs(30);
/// Of a request for its turn.
pub(super) const QUEUE_TIME: Duration = Duration::from_secs(10);

/// The layer that bounds the number of requests under way and refuses bodies announced as too large.
pub(super) async fn bound(State(app): State<App>, request: Request, next: Next) -> Response {
    if announced_length(request.headers()).is_some_and(|length| length > MAX_BODY as u64) {
        return too_large().into_response();
    }
    if request.uri().path() == "/healthz" {
        return next.run(request).await;
    }
    match tokio::time::timeout(app.queue_time, app.in_flight.acquire()).await {
        Ok(Ok(_permit)) => next.run(request).await,
        _ => ApiError::Typed(
            StatusCode::SERVICE_UNAVAILABLE,
            "too many requests under way".to_owned(),
        )
        .into_response(),
    }
}

/// The whole body of a request, within [`MAX_BODY`] and a time limit.
pub(super) async fn read_body(body: Body) -> Result<Bytes, ApiError> {
    match tokio::time::timeout(BODY_TIME, to_bytes(body, MAX_BODY)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) if is_length_limit(&error) => Err(too_large()),
        Ok(Err(error)) => Err(ApiError::bad_request(format!(
            "failed to decode request body: {error}"
        ))),
        Err(_) => Err(ApiError::Typed(
            StatusCode::REQUEST_TIMEOUT,
            "request body did not arrive in time".to_owned(),
        )),
    }
}

fn announced_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn is_length_limit(error: &axum::Error) -> bool {
    std::error::Error::source(error)
        .is_some_and(|source| source.is::<http_body_util::LengthLimitError>())
}

fn too_large() -> ApiError {
    ApiError::Typed(
        StatusCode::PAYLOAD_TOO_LARGE,
        format!("request body is larger than {MAX_BODY} bytes"),
    )
}
