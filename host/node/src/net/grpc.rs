//! Unary gRPC calls to services on unix sockets: one request message, one response message, no TLS, no compression.
//!
//! A connection serves one call and is dropped with it; nothing of it lives on in another task. The other side is not
//! trusted: its bytes are counted below HTTP/2, so no frame, however small or odd, gets around the bound.
//!
//! The protocol: "gRPC over HTTP2" of the gRPC project (`PROTOCOL-HTTP2.md`), RFC 9113.

mod limited_stream;
mod message;

use std::{
    convert::Infallible,
    future::{pending, poll_fn},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use h2::{
    RecvStream,
    client::{Builder, SendRequest},
};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use tokio::net::UnixStream;

use super::{super::error::SourceError, connect_unix, within};
use limited_stream::LimitedStream;
use message::Collector;

/// Longest request message, bytes.
pub const MAX_REQUEST_BYTES: usize = 64 * 1024;
/// Longest text of a status, bytes.
const MAX_STATUS_TEXT: usize = 1024;
/// Headers and trailers of an answer together, decoded, each with 32 bytes on top (RFC 9113, 6.5.2).
const MAX_HEADER_BYTES: u32 = 16 * 1024;
/// Bytes that the service may send before we read them.
const WINDOW_BYTES: u32 = 256 * 1024;
/// Bytes of a connection beyond twice the response message: frames' heads, headers, settings, pings.
const OVERHEAD_BYTES: u64 = 256 * 1024;
/// Largest frame taken, the least that HTTP/2 allows to say.
const MAX_FRAME_BYTES: u32 = 16 * 1024;

/// A call.
#[derive(Debug, Clone)]
pub struct UnaryCall {
    /// `/package.Service/Method`.
    pub method: String,
    /// The request message, encoded; at most [`MAX_REQUEST_BYTES`].
    pub message: Vec<u8>,
    /// Largest response message accepted, in bytes.
    pub max_bytes: u64,
    /// Time for the whole exchange, connecting included.
    pub deadline: Duration,
}

/// The answer to a [`UnaryCall`]. Any status is an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnaryReply {
    /// Status code of gRPC: 0 is success, 12 a method that the service does not have.
    pub status: u32,
    /// The service's message, cut at 1 KiB; mostly empty on success.
    pub text: String,
    /// The response message; empty unless the status is 0.
    pub message: Vec<u8>,
}

/// Makes a unary call over a unix socket.
///
/// # Errors
/// [`SourceError::NotFound`] when there is no socket, [`SourceError::Denied`], [`SourceError::TooLarge`] for the
/// response message or for what the service sends besides, [`SourceError::TimedOut`], [`SourceError::Invalid`] for an
/// unusable method or too long a request, [`SourceError::Other`] when no process listens or the answer is not gRPC.
pub async fn unary(socket: &Path, call: &UnaryCall) -> Result<UnaryReply, SourceError> {
    let what = format!("grpc unix:{}{}", socket.display(), call.method);
    let request = request(&what, call)?;
    let exchange = async {
        let stream = connect_unix(&what, socket).await?;
        exchange(&what, stream, request, call).await
    };
    within(&what, call.deadline, exchange).await
}

fn request(what: &str, call: &UnaryCall) -> Result<Request<()>, SourceError> {
    if !is_method(&call.method) {
        return Err(SourceError::Invalid(format!(
            "{what}: a method is written /package.Service/Method"
        )));
    }
    if call.message.len() > MAX_REQUEST_BYTES {
        return Err(SourceError::Invalid(format!(
            "{what}: a request of {} bytes, more than {MAX_REQUEST_BYTES}",
            call.message.len()
        )));
    }
    // Clients of unix sockets call the other side `localhost`; Go's servers refuse a path in its place.
    Request::builder()
        .method(Method::POST)
        .uri(format!("http://localhost{}", call.method))
        .header(header::CONTENT_TYPE, "application/grpc")
        .header(header::TE, "trailers")
        .header(header::USER_AGENT, "gpud")
        .header("grpc-timeout", timeout(call.deadline))
        .body(())
        .map_err(|error| SourceError::Invalid(format!("{what}: {error}")))
}

/// Two names after slashes, of the characters that protobuf knows.
fn is_method(text: &str) -> bool {
    let name = |part: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
        !part.is_empty() && part.chars().all(plain)
    };
    let parts = text.strip_prefix('/').and_then(|rest| rest.split_once('/'));
    text.len() <= 256 && parts.is_some_and(|(service, method)| name(service) && name(method))
}

/// The service should stop working when we stop waiting. At most eight digits of milliseconds.
fn timeout(deadline: Duration) -> String {
    format!("{}m", deadline.as_millis().min(99_999_999))
}

async fn exchange(
    what: &str,
    stream: UnixStream,
    request: Request<()>,
    call: &UnaryCall,
) -> Result<UnaryReply, SourceError> {
    let bound = call
        .max_bytes
        .saturating_mul(2)
        .saturating_add(OVERHEAD_BYTES);
    let spent = Arc::new(AtomicBool::new(false));
    let stream = LimitedStream::new(stream, bound, Arc::clone(&spent));
    let failed = |error: h2::Error| {
        // HTTP/2 words the refusal of its stream as trouble of its own.
        if spent.load(Ordering::Relaxed) {
            return SourceError::TooLarge {
                what: format!("{what}: all that the service sends"),
                size: bound.saturating_add(1),
                limit: bound,
            };
        }
        SourceError::Other(format!("{what}: {error}"))
    };
    let (sender, connection) = Builder::new()
        .enable_push(false)
        .max_concurrent_streams(0)
        .initial_window_size(WINDOW_BYTES)
        .initial_connection_window_size(WINDOW_BYTES)
        .max_frame_size(MAX_FRAME_BYTES)
        .max_header_list_size(MAX_HEADER_BYTES)
        .max_send_buffer_size(MAX_REQUEST_BYTES * 2)
        .handshake::<_, Bytes>(stream)
        .await
        .map_err(failed)?;
    // The connection must be driven for the answer to come; its own end says nothing, the answer may still be read.
    let drive = async {
        let _ = connection.await;
        pending::<Infallible>().await
    };
    tokio::select! {
        answer = ask(what, sender, request, call, &failed) => answer,
        never = drive => match never {},
    }
}

async fn ask(
    what: &str,
    sender: SendRequest<Bytes>,
    request: Request<()>,
    call: &UnaryCall,
    failed: &impl Fn(h2::Error) -> SourceError,
) -> Result<UnaryReply, SourceError> {
    let odd = |problem: String| SourceError::Other(format!("{what}: not gRPC: {problem}"));
    let mut sender = sender.ready().await.map_err(failed)?;
    let (response, mut body) = sender.send_request(request, false).map_err(failed)?;
    // Waits inside for the room that the service gives; driven by the connection.
    body.send_data(message::framed(&call.message), true)
        .map_err(failed)?;
    let (head, mut body) = response.await.map_err(failed)?.into_parts();
    if head.status != StatusCode::OK {
        return Err(odd(format!("HTTP status {}", head.status.as_u16())));
    }
    let kind = head.headers.get(header::CONTENT_TYPE);
    let is_grpc = |kind: &HeaderValue| kind.as_bytes().starts_with(b"application/grpc");
    if !kind.is_some_and(is_grpc) {
        return Err(odd(format!("content type {kind:?}")));
    }
    // A refusal has its status in the headers, and nothing else comes.
    if let Some((status, text)) = status(&head.headers) {
        if status == 0 {
            return Err(odd("success without a message".to_owned()));
        }
        return Ok(UnaryReply {
            status,
            text,
            message: Vec::new(),
        });
    }
    let message = collect(what, &mut body, call.max_bytes, failed).await?;
    let trailers = poll_fn(|context| body.poll_trailers(context))
        .await
        .map_err(failed)?;
    let (status, text) = trailers
        .as_ref()
        .and_then(status)
        .ok_or_else(|| odd("no grpc-status at the end".to_owned()))?;
    let message = match (status, message) {
        (0, Some(message)) => message,
        (0, None) => return Err(odd("success without a message".to_owned())),
        _ => Vec::new(),
    };
    Ok(UnaryReply {
        status,
        text,
        message,
    })
}

async fn collect(
    what: &str,
    body: &mut RecvStream,
    max_bytes: u64,
    failed: &impl Fn(h2::Error) -> SourceError,
) -> Result<Option<Vec<u8>>, SourceError> {
    let mut collector = Collector::new(max_bytes);
    while let Some(chunk) = body.data().await {
        let chunk = chunk.map_err(failed)?;
        body.flow_control()
            .release_capacity(chunk.len())
            .map_err(failed)?;
        collector.add(&chunk).map_err(|problem| match problem {
            message::Problem::TooLarge(size) => SourceError::TooLarge {
                what: what.to_owned(),
                size,
                limit: max_bytes,
            },
            message::Problem::Odd(text) => SourceError::Other(format!("{what}: not gRPC: {text}")),
        })?;
    }
    collector
        .finish()
        .map_err(|text| SourceError::Other(format!("{what}: not gRPC: {text}")))
}

/// Status and text, if there is a status. One that is no number is 2, unknown, as the protocol wants it.
fn status(headers: &HeaderMap) -> Option<(u32, String)> {
    let code = headers.get("grpc-status")?;
    let code = code.to_str().ok().and_then(|code| code.parse().ok());
    let text = headers.get("grpc-message").map(HeaderValue::as_bytes);
    Some((
        code.unwrap_or(2),
        message::status_text(text.unwrap_or_default(), MAX_STATUS_TEXT),
    ))
}

#[cfg(test)]
mod tests;
