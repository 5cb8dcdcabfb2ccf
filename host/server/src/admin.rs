//! `GET /admin/…`: the daemon's own settings.

use axum::{extract::State, response::Response};
use http::{HeaderMap, StatusCode};

use super::{
    negotiation::{document, json, lenient_form},
    router::App,
};

pub(super) async fn config(State(app): State<App>, headers: HeaderMap) -> Response {
    document(lenient_form(&headers), app.backend.config().as_ref())
}

/// gpud installs no packages; GPUd says so with `null`.
pub(super) async fn packages() -> Response {
    json(StatusCode::OK, &())
}
