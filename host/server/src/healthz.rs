//! `GET /healthz`: the daemon answers.

use axum::response::Response;
use http::HeaderMap;

use super::negotiation::{document, lenient_form};
use crate::wire::Healthz;

pub(super) async fn show(headers: HeaderMap) -> Response {
    document(lenient_form(&headers), &Healthz::OK)
}
