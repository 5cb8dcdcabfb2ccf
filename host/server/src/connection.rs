//! One connection, from its first byte to its end.

use std::{convert::Infallible, pin::pin, sync::Arc};

use axum::{Router, body::Body, response::Response};
use http::Request;
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::conn::auto::Builder,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::timeout,
};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use super::{
    cancellation::{Cancellation, StreamExecutor},
    frames::FrameGuard,
    limits::{
        ALIVE_TIME, HANDSHAKE_TIME, HEAD_TIME, HTTP2_WINDOW, IDLE_TIME, MAX_HEAD,
        MAX_RESET_STREAMS, MAX_STREAMS,
    },
    peer::Peer,
    plain_http,
    shares::AdmittedConnection,
    stall::StallGuard,
    unread,
};
use crate::node::stream::Stream;

/// The client of a connection, which was taken in.
#[derive(Clone)]
pub(super) struct Client {
    pub(super) peer: Peer,
    pub(super) admitted: Arc<AdmittedConnection>,
}

/// Serves a connection until it ends, is idle for too long, or `shutdown` asks it to finish what it has begun. Without
/// `tls` it speaks plain HTTP/1.1.
pub(super) async fn serve(
    stream: Stream,
    client: Client,
    tls: Option<TlsAcceptor>,
    router: Router,
    shutdown: CancellationToken,
) {
    let Some(acceptor) = tls else {
        let stream = StallGuard::new(stream, client.admitted.stall_time());
        return requests(stream, false, client, router, shutdown).await;
    };
    let started = tokio::time::Instant::now();
    stream.send_at_once();
    match timeout(HANDSHAKE_TIME, plain_http::speaks_tls(&stream)).await {
        Ok(true) => {}
        Ok(false) => return plain_http::refuse(stream).await,
        Err(_) => return,
    }
    let handshake = acceptor.accept(StallGuard::new(stream, client.admitted.stall_time()));
    match tokio::time::timeout_at(started + HANDSHAKE_TIME, handshake).await {
        Ok(Ok(stream)) => {
            let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
            requests(stream, http2, client, router, shutdown).await;
        }
        Ok(Err(error)) => tracing::debug!(%error, "TLS handshake failed"),
        Err(_) => tracing::debug!("TLS handshake took too long"),
    }
}

async fn requests(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    http2: bool,
    client: Client,
    router: Router,
    shutdown: CancellationToken,
) {
    let stream = FrameGuard::new(stream, http2);
    let activity = Arc::clone(client.admitted.activity());
    let cut = CancellationToken::new();
    let service = service_fn(|mut request: Request<Incoming>| {
        let busy = activity.begin();
        let Client { peer, admitted } = client.clone();
        request.extensions_mut().insert(peer);
        request.extensions_mut().insert(admitted);
        request.extensions_mut().insert(busy.clone());
        let router = router.clone();
        let cut = cut.clone();
        async move {
            request
                .extensions_mut()
                .insert(Cancellation::of_this_task(&cut));
            let (parts, body) = request.into_parts();
            let (body, rest) = unread::share(body);
            let request = Request::from_parts(parts, Body::new(body));
            let response: Result<Response, Infallible> = router.oneshot(request).await;
            // With HTTP/2 a body that nobody read would be reset together with the answer, and the client would not see why
            // it was refused.
            rest.drain().await;
            drop(busy);
            response
        }
    });
    let builder = builder(http2);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    let serving = async {
        let ended = tokio::select! {
            ended = connection.as_mut() => Some(ended),
            () = shutdown.cancelled() => None,
            () = activity.idle(IDLE_TIME) => None,
        };
        match ended {
            Some(ended) => ended,
            None => {
                connection.as_mut().graceful_shutdown();
                // A client that vanishes without closing its connection sends no end.
                timeout(IDLE_TIME, connection).await.unwrap_or(Ok(()))
            }
        }
    };
    tokio::select! {
        ended = serving => if let Err(error) = ended {
            tracing::debug!(error, "connection ended");
        },
        () = cut.cancelled() => tracing::debug!("a connection whose answer nobody takes is cut"),
    }
}

fn builder(http2: bool) -> Builder<StreamExecutor> {
    let mut builder = Builder::new(StreamExecutor);
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(MAX_HEAD as usize);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .initial_stream_window_size(HTTP2_WINDOW)
        .initial_connection_window_size(HTTP2_WINDOW)
        .max_pending_accept_reset_streams(MAX_RESET_STREAMS)
        .max_local_error_reset_streams(MAX_RESET_STREAMS)
        .keep_alive_interval(ALIVE_TIME)
        .keep_alive_timeout(ALIVE_TIME)
        .max_header_list_size(MAX_HEAD);
    if http2 {
        builder.http2_only()
    } else {
        builder.http1_only()
    }
}
