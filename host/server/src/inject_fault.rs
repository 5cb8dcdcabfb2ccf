//! `POST /inject-fault`: writes a line into the kernel log, to see what the checks make of it.

use axum::{body::Body, extract::State, response::Response};
use http::StatusCode;

use super::{
    canned_xid::canned_xid, errors::ApiError, limits::read_body, negotiation::json, router::App,
};
use crate::wire::{FaultRequest, KernelMessage, Message};

/// The longest kernel message that is taken, in bytes.
pub const MAX_MESSAGE_BYTES: usize = 976;

pub(super) async fn inject(State(app): State<App>, body: Body) -> Result<Response, ApiError> {
    let body = read_body(body).await?;
    let request = FaultRequest::decode(&body).map_err(|error| {
        ApiError::bad_request(format!("failed to decode request body: {error}"))
    })?;
    let line = line(request)
        .map_err(|error| ApiError::bad_request(format!("invalid request: {error}")))?;
    match app.backend.inject(line.priority, line.message).await {
        Ok(()) => Ok(json(
            StatusCode::OK,
            &Message {
                message: "fault injected",
            },
        )),
        Err(error) => Err(ApiError::Typed(
            StatusCode::INTERNAL_SERVER_ERROR,
            format!("failed to inject kernel message: {error}"),
        )),
    }
}

fn line(request: FaultRequest) -> Result<KernelMessage, String> {
    let line = match (request.xid, request.kernel_message) {
        (Some(0), _) | (None, None) => return Err("no fault injection entry found".to_owned()),
        (Some(id), _) => {
            let (priority, message) = canned_xid(id);
            KernelMessage {
                priority: priority.to_owned(),
                message,
            }
        }
        (None, Some(line)) => line,
    };
    if line.message.len() > MAX_MESSAGE_BYTES {
        return Err(format!(
            "message length exceeds the maximum length of {MAX_MESSAGE_BYTES}"
        ));
    }
    Ok(line)
}
