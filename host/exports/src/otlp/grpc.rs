//! Unary calls of gRPC over an HTTP/2 client: framing, and how an answer is judged.

// Senders may leave the padding out.
use base64::{Engine as _, engine::general_purpose::STANDARD_PAD_INDIFFERENT as BASE64};
use http_body_util::{BodyExt as _, Limited};
use prost::Message as _;
use reqwest::{
    Body, RequestBuilder, StatusCode,
    header::{CONTENT_TYPE, HeaderMap, HeaderValue, TE},
};
use std::time::Duration;

use super::pairs;
use crate::{DeliveryError, http};

/// Bytes before each message: whether it is compressed, and its length.
const PREFIX: usize = 5;
/// Most bytes of an answer that are read.
const MAX_ANSWER: usize = 64 << 10;
/// Names of status codes, by number.
const CODES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];
const INVALID_ARGUMENT: u32 = 3;
const PERMISSION_DENIED: u32 = 7;
const RESOURCE_EXHAUSTED: u32 = 8;
const UNIMPLEMENTED: u32 = 12;
const UNAUTHENTICATED: u32 = 16;

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct GrpcStatus {
    code: u32,
    message: String,
    /// How long the receiver asks us to wait.
    retry_after: Option<Duration>,
}

/// `google.rpc.Status`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct RpcStatus {
    #[prost(int32, tag = "1")]
    pub code: i32,
    #[prost(string, tag = "2")]
    pub message: String,
    #[prost(message, repeated, tag = "3")]
    pub details: Vec<Detail>,
}

/// `google.protobuf.Any`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Detail {
    #[prost(string, tag = "1")]
    pub type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    pub value: Vec<u8>,
}

/// `google.rpc.RetryInfo`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct RetryInfo {
    #[prost(message, optional, tag = "1")]
    pub retry_delay: Option<Delay>,
}

/// `google.protobuf.Duration`.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(super) struct Delay {
    #[prost(int64, tag = "1")]
    pub seconds: i64,
    #[prost(int32, tag = "2")]
    pub nanos: i32,
}

/// Puts a message into its frame.
pub fn framed(message: &[u8], is_compressed: bool) -> Result<Vec<u8>, DeliveryError> {
    let length = u32::try_from(message.len())
        .map_err(|_| DeliveryError::refused("the message is larger than 4 GiB"))?;
    let mut framed = Vec::with_capacity(PREFIX + message.len());
    framed.push(u8::from(is_compressed));
    framed.extend(length.to_be_bytes());
    framed.extend(message);
    Ok(framed)
}

/// Returns the message of a frame; `None` for a frame that is cut off or compressed.
fn message(body: &[u8]) -> Option<&[u8]> {
    let (prefix, rest) = body.split_first_chunk::<PREFIX>()?;
    let [0, length @ ..] = *prefix else {
        return None;
    };
    rest.get(..usize::try_from(u32::from_be_bytes(length)).ok()?)
}

/// Sends a request with a framed message. Returns the message of the answer.
///
/// # Errors
/// [`DeliveryError`].
pub async fn call(
    request: RequestBuilder,
    timeout: Duration,
    is_compressed: bool,
    what: &str,
    confidential: &http::Confidential,
) -> Result<Vec<u8>, DeliveryError> {
    let mut request = request
        .header(CONTENT_TYPE, HeaderValue::from_static("application/grpc"))
        .header(TE, HeaderValue::from_static("trailers"))
        .header("grpc-timeout", format!("{}m", timeout.as_millis()));
    if is_compressed {
        request = request.header("grpc-encoding", "gzip");
    }
    let failed = |why: &str| DeliveryError::transient(format!("{what}: {why}"));
    let sent = request.send().await;
    let answer = sent.map_err(|error| failed(&http::chain(&error)))?;
    let (code, headers) = (answer.status(), answer.headers().clone());
    if !is_grpc(&headers) {
        let hint = "; look at the address and the protocol";
        return Err(failed(&format!("answered {code} and not by gRPC{hint}")));
    }
    let collected = Limited::new(Body::from(answer), MAX_ANSWER).collect().await;
    let collected = collected.map_err(|error| failed(&format!("the answer broke off: {error}")))?;
    let trailers = collected.trailers().cloned().unwrap_or_default();
    // An answer without a message has its status among the headers.
    let status = status(&headers).or_else(|| status(&trailers));
    let status = status.ok_or_else(|| missing(code, what))?;
    let message_of_status = confidential.hide(status.message);
    let status = GrpcStatus {
        message: message_of_status,
        ..status
    };
    judged(status, what)?;
    let body = collected.to_bytes();
    Ok(message(&body).unwrap_or_default().to_vec())
}

fn is_grpc(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"))
}

fn missing(code: StatusCode, what: &str) -> DeliveryError {
    DeliveryError::transient(format!("{what}: answered {code} without a status of gRPC"))
}

/// Reads the status of headers or trailers.
fn status(headers: &HeaderMap) -> Option<GrpcStatus> {
    let text = |name: &str| headers.get(name)?.to_str().ok();
    let code = text("grpc-status")?.trim().parse().ok()?;
    let message = text("grpc-message").unwrap_or_default();
    let details = text("grpc-status-details-bin").and_then(|text| BASE64.decode(text).ok());
    Some(GrpcStatus {
        code,
        message: pairs::decode(message).unwrap_or_default(),
        retry_after: details.and_then(|details| retry_after(&details)),
    })
}

/// Reads how long to wait from a `google.rpc.Status`.
pub(super) fn retry_after(status: &[u8]) -> Option<Duration> {
    let status = RpcStatus::decode(status).ok()?;
    let mut infos = status.details.iter();
    let info = infos.find(|detail| detail.type_url.ends_with("google.rpc.RetryInfo"))?;
    let delay = RetryInfo::decode(info.value.as_slice()).ok()?.retry_delay?;
    let seconds = u64::try_from(delay.seconds).ok()?;
    let nanos = u32::try_from(delay.nanos).ok()?;
    Some(Duration::from_secs(seconds).saturating_add(Duration::from_nanos(nanos.into())))
}

/// Judges a status: the receiver will never take what it calls invalid, or too large. Everything else may pass, since an
/// operator or the receiver's own restart may resolve it.
fn judged(status: GrpcStatus, what: &str) -> Result<(), DeliveryError> {
    let GrpcStatus {
        code,
        message,
        retry_after,
    } = status;
    if code == 0 {
        return Ok(());
    }
    let number = usize::try_from(code).ok();
    let name = number.and_then(|number| CODES.get(number));
    let name = name.map_or_else(|| format!("status {code}"), |name| (*name).to_owned());
    let said = http::said(&message);
    let hint = match code {
        PERMISSION_DENIED | UNAUTHENTICATED => "; look at the export's credentials",
        UNIMPLEMENTED => "; the receiver does not take this kind of data",
        _ => "",
    };
    let text = format!("{what}: answered {name}{said}{hint}");
    // Without a time to wait, this is what a message beyond the receiver's limit is answered with.
    let is_too_large =
        code == RESOURCE_EXHAUSTED && retry_after.is_none() && message.contains("larger than max");
    match code == INVALID_ARGUMENT || is_too_large {
        true => Err(DeliveryError::refused(text)),
        false => Err(DeliveryError::Transient {
            message: text,
            retry_after,
        }),
    }
}

#[cfg(test)]
mod tests;
