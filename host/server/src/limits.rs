//! Bounds on what clients can make the daemon hold: connections, requests, sizes and times.

use std::{sync::Arc, time::Duration};

use axum::{
    body::{Body, to_bytes},
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http::{HeaderMap, StatusCode, header::CONTENT_LENGTH};

use super::{
    answers,
    cancellation::Cancellation,
    errors::ApiError,
    router::App,
    routes::{self, Permission, Route},
    shares::{AdmittedConnection, Bounds, Permit, Quota},
};

const MIB: usize = 1024 * 1024;

/// The bounds of the port. A part is always free for root and gpud's own user.
pub(super) const PORT: Bounds = Bounds {
    connections: Quota {
        all: 512,
        others: 384,
        each: 96,
    },
    // `/healthz` takes no turn.
    turns: Quota {
        all: 64,
        others: 48,
        each: 16,
    },
    bodies: Quota {
        all: 64,
        others: 32,
        each: 8,
    },
    // While one is made, it takes some times its size.
    documents: Quota {
        all: 3,
        others: 1,
        each: 1,
    },
    answers: Quota {
        all: 96 * MIB,
        others: 64 * MIB,
        each: 16 * MIB,
    },
    // Many fit into one HTTP/2 connection. One proxy may bring many people: it makes room for others where it has to.
    streams: Quota {
        all: 2048,
        others: 1536,
        each: 1024,
    },
    stall_time: STALL_TIME,
};
/// The bounds of the Unix socket, apart from those of the port.
pub(super) const LOCAL_SOCKET: Bounds = Bounds {
    connections: Quota {
        all: 64,
        others: 16,
        each: 8,
    },
    turns: Quota {
        all: 16,
        others: 4,
        each: 4,
    },
    bodies: Quota {
        all: 16,
        others: 4,
        each: 4,
    },
    documents: Quota {
        all: 3,
        others: 1,
        each: 1,
    },
    answers: Quota {
        all: 48 * MIB,
        others: 16 * MIB,
        each: 8 * MIB,
    },
    streams: Quota {
        all: 64,
        others: 16,
        each: 8,
    },
    stall_time: STALL_TIME,
};
/// Connections that the kernel is asked about at a time; further ones wait in its queue.
pub(super) const MAX_IDENTIFYING: usize = 32;
/// Requests at a time on one HTTP/2 connection.
pub(super) const MAX_STREAMS: u32 = 16;
/// Bytes of bodies that a client may send before they are taken, for one HTTP/2 stream and for all of a connection.
pub(super) const HTTP2_WINDOW: u32 = 64 * 1024;
/// Streams on one HTTP/2 connection that the client took back, or that were refused, and that are not forgotten yet.
pub(super) const MAX_RESET_STREAMS: usize = 32;
/// An HTTP/2 client that is asked whether it is there answers within this, or it is gone.
pub(super) const ALIVE_TIME: Duration = Duration::from_secs(30);
/// Bytes of a request's head; hyper may take up to twice that before it refuses.
pub(super) const MAX_HEAD: u32 = 64 * 1024;
/// Bytes of a request's body.
pub(super) const MAX_BODY: usize = 1024 * 1024;

/// The longest time from the first byte of a connection to the end of the TLS handshake.
pub(super) const HANDSHAKE_TIME: Duration = Duration::from_secs(10);
/// For a request's head on HTTP/1.1, counted from the end of the request before it.
pub(super) const HEAD_TIME: Duration = Duration::from_secs(30);
/// A connection without a request is closed after this.
pub(super) const IDLE_TIME: Duration = Duration::from_secs(120);
/// A client that takes none of its answer for this long is cut off: the connection, or one HTTP/2 stream of it.
pub(super) const STALL_TIME: Duration = Duration::from_secs(30);
/// For requests under way when the daemon stops.
pub(super) const DRAIN_TIME: Duration = Duration::from_secs(5);
/// For all of a request's body, from its head on.
const BODY_TIME: Duration = Duration::from_secs(30);
/// Longest wait of a request for its turn, and for a place for its body.
pub(super) const QUEUE_TIME: Duration = Duration::from_secs(10);

/// The layer that bounds the number of requests under way and refuses bodies announced as too large.
///
/// A request whose body is used takes its turn only when the body is there, so that slow clients delay no other. What a client
/// asked for that is gone when its turn comes is not done. Answers that no client reads keep further ones waiting, with their
/// turn: what a client holds is bounded.
pub(super) async fn bound(State(app): State<App>, request: Request, next: Next) -> Response {
    if announced_length(request.headers()).is_some_and(|length| length > MAX_BODY as u64) {
        return too_large().into_response();
    }
    let route = routes::find(request.method(), request.uri().path());
    if route.is_some_and(|route| route.permission == Permission::Alive) {
        return next.run(request).await;
    }
    let admitted = request
        .extensions()
        .get::<Arc<AdmittedConnection>>()
        .cloned();
    let cancellation = request.extensions().get::<Cancellation>().cloned();
    let cancellation = cancellation.unwrap_or_default();
    let bounded = async {
        let (place, request) = match route.is_some_and(|route| route.body.is_some()) {
            true => {
                let (place, request) = arrive(&app, admitted.as_deref(), request).await?;
                (Some(place), request)
            }
            false => (None, request),
        };
        // Before the turn, which others need while this one waits.
        let document = match route.is_some_and(Route::is_large) {
            true => {
                let document = async {
                    match &admitted {
                        Some(admitted) => admitted.document().await,
                        None => app.shares.document().await,
                    }
                };
                Some(within(app.queue_time, document).await?)
            }
            false => None,
        };
        let turn = async {
            match &admitted {
                Some(admitted) => admitted.turn().await,
                None => app.shares.turn().await,
            }
        };
        let turn = within(app.queue_time, turn).await?;
        if admitted
            .as_ref()
            .is_some_and(|admitted| !admitted.is_connected())
        {
            tracing::debug!("a client is gone: what it asked for is not done");
            return Err(gone());
        }
        let response = next.run(request).await;
        // Others need the document's place while this answer waits for its own, which has a bound.
        drop((place, document));
        let response = match answers::place_size(&response) {
            Some(size) => {
                let place = async {
                    match &admitted {
                        Some(admitted) => admitted.answer(size, &cancellation).await,
                        None => app.shares.answer(size, &cancellation).await,
                    }
                };
                answers::hold(response, within(app.queue_time, place).await?).await?
            }
            None => response,
        };
        drop(turn);
        Ok::<_, ApiError>(response)
    };
    bounded.await.unwrap_or_else(ApiError::into_response)
}

/// The request with its whole body, and the place that it takes until it is answered.
async fn arrive(
    app: &App,
    admitted: Option<&AdmittedConnection>,
    request: Request,
) -> Result<(Permit, Request), ApiError> {
    let place = async {
        match admitted {
            Some(admitted) => admitted.body().await,
            None => app.shares.body().await,
        }
    };
    let place = within(app.queue_time, place).await?;
    let (head, body) = request.into_parts();
    let body = read_body(body).await?;
    Ok((place, Request::from_parts(head, Body::from(body))))
}

async fn within<T>(time: Duration, place: impl Future<Output = Option<T>>) -> Result<T, ApiError> {
    let place = tokio::time::timeout(time, place).await.ok().flatten();
    place.ok_or_else(|| {
        ApiError::Typed(
            StatusCode::SERVICE_UNAVAILABLE,
            "too many requests under way".to_owned(),
        )
    })
}

/// Nobody reads it.
fn gone() -> ApiError {
    ApiError::Typed(
        StatusCode::REQUEST_TIMEOUT,
        "the connection was closed before the request's turn came".to_owned(),
    )
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
