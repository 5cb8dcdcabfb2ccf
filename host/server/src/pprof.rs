//! `GET /admin/pprof/…` with `--pprof`. GPUd serves what Go's runtime knows of itself there; gpud is a native program.

use http::StatusCode;

use super::errors::ApiError;

/// Answers with a pointer to the tools that replace a profile.
pub(super) async fn instead() -> ApiError {
    let process = std::process::id();
    ApiError::Typed(
        StatusCode::NOT_IMPLEMENTED,
        format!(
            "gpud has no profiler of its own: on the machine run \"perf record -g -p {process}\" and \"perf report\", or \
             \"perf trace -p {process}\""
        ),
    )
}
