//! Errors in the forms that clients expect, in GPUd's dialects. Error bodies are always compact JSON.

use axum::response::{IntoResponse, Response};
use http::StatusCode;

use super::negotiation::json;
use crate::wire::{NumericError, TextError, TypedError};

/// An error answer. The fourth dialect, set-healthy's, is that resource's ordinary answer with another status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ApiError {
    /// `{"code":{},"message":"…"}`.
    Typed(StatusCode, String),
    /// `{"code":500,"message":"…"}`: the daemon failed, not the client.
    Numeric(String),
    /// `{"error":"…"}` with status 400.
    Text(&'static str),
}

impl ApiError {
    /// A request that cannot be answered as it is.
    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::Typed(StatusCode::BAD_REQUEST, message.into())
    }

    /// A single component that does not exist.
    pub(super) fn no_component() -> Self {
        Self::Typed(StatusCode::NOT_FOUND, "component not found".to_owned())
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        match self {
            Self::Typed(status, message) => json(status, &TypedError::new(message)),
            Self::Numeric(message) => {
                let status = StatusCode::INTERNAL_SERVER_ERROR;
                json(
                    status,
                    &NumericError {
                        code: status.as_u16(),
                        message,
                    },
                )
            }
            Self::Text(error) => json(
                StatusCode::BAD_REQUEST,
                &TextError {
                    error: error.to_owned(),
                },
            ),
        }
    }
}
