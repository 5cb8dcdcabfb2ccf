//! `GET /admin/…`: the daemon's own settings.

use axum::{extract::State, response::Response};
use http::{HeaderMap, StatusCode};

use super::{
    errors::ApiError,
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

/// `/admin/pprof/…` with `--pprof`. The clients of these routes read a format of Go's runtime; pretending would be worse
/// than saying what works.
pub(super) async fn no_profile() -> ApiError {
    let pid = std::process::id();
    ApiError::Typed(
        StatusCode::NOT_IMPLEMENTED,
        format!(
            "gpud has no profiles in Go's format: use \"perf record -g -p {pid}\" for CPU time and /proc/{pid}/smaps_rollup for memory; /metrics has the cost of each checker"
        ),
    )
}
