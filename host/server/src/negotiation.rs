//! Chooses between JSON and YAML by the **request's** `Content-Type`, as GPUd does, and makes the response.

use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header::CONTENT_TYPE};
use serde::Serialize;

use super::errors::ApiError;
use crate::wire::{Form, NumericError, Render, to_json};

pub(super) const JSON: &str = "application/json; charset=utf-8";
/// GPUd sends YAML under this type.
pub(super) const TEXT: &str = "text/plain; charset=utf-8";

/// The form that a list route serves; a `Content-Type` that is neither JSON nor YAML, to the letter, is refused.
/// GPUd looks at it only after everything else went well, so callers ask last.
pub(super) fn strict_form(headers: &HeaderMap) -> Result<Form, ApiError> {
    match headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes) {
        None | Some(b"" | b"application/json") => Ok(json_form(headers)),
        Some(b"application/yaml") => Ok(Form::Yaml),
        Some(_) => Err(ApiError::bad_request("invalid content type")),
    }
}

/// The form that `/healthz` and `/admin/config` serve: JSON unless YAML is asked for.
pub(super) fn lenient_form(headers: &HeaderMap) -> Form {
    strict_form(headers).unwrap_or_else(|_| json_form(headers))
}

fn json_form(headers: &HeaderMap) -> Form {
    match headers.get("json-indent").map(HeaderValue::as_bytes) {
        Some(b"true") => Form::JsonIndented,
        _ => Form::Json,
    }
}

/// 200 with the document in this form.
pub(super) fn document(form: Form, document: &(impl Render + ?Sized)) -> Response {
    match document.render(form) {
        Ok(bytes) => answer(
            StatusCode::OK,
            if form == Form::Yaml { TEXT } else { JSON },
            bytes,
        ),
        Err(error) => failed(&error),
    }
}

/// Compact JSON, whatever the request's headers say.
pub(super) fn json<T: Serialize>(status: StatusCode, document: &T) -> Response {
    match to_json(document) {
        Ok(bytes) => answer(status, JSON, bytes),
        Err(error) => failed(&error),
    }
}

/// 500: the answer cannot be made.
pub(super) fn failed(error: &impl ToString) -> Response {
    let status = StatusCode::INTERNAL_SERVER_ERROR;
    let body = NumericError {
        code: status.as_u16(),
        message: error.to_string(),
    };
    answer(status, JSON, to_json(&body).unwrap_or_default())
}

/// A whole body under a content type.
pub(super) fn answer(
    status: StatusCode,
    content_type: &'static str,
    body: impl Into<Bytes>,
) -> Response {
    let mut response = Response::new(body.into().into());
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
