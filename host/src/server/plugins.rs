//! `GET /v1/plugins`: specs of the script plugins.

use axum::{extract::State, response::Response};
use http::HeaderMap;

use super::{
    errors::ApiError,
    negotiation::{document, strict_form},
    router::App,
    states::some,
};

pub(super) async fn list(State(app): State<App>, headers: HeaderMap) -> Result<Response, ApiError> {
    let specs = app.backend.plugin_specs();
    Ok(document(strict_form(&headers)?, &some(specs)))
}
