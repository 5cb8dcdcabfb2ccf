//! `GET /admin/pprof/…` with `--pprof`: what the daemon itself takes.

use std::time::Duration;

use axum::{
    extract::OriginalUri,
    response::{IntoResponse as _, Response},
};
use http::{
    HeaderValue, StatusCode,
    header::{CONTENT_DISPOSITION, CONTENT_TYPE},
};

use tokio::sync::Semaphore;

use super::{errors::ApiError, query::Query};
use crate::service::{
    profile::{self, pprof::Profile},
    threads,
};

/// Without `seconds`, as in Go.
const DEFAULT_SECONDS: u64 = 30;
/// Longest that a request may take.
const MAX_SECONDS: u64 = 300;

/// Held while somebody looks: requests are few, and those that last for minutes must not take all of them.
static LOOKING: Semaphore = Semaphore::const_new(1);

/// `/admin/pprof/profile`: processor time by thread.
pub(super) async fn cpu(OriginalUri(uri): OriginalUri) -> Result<Response, ApiError> {
    let query = Query::of(&uri);
    // As in Go, what is no number above 0 means the default.
    let asked = query.get("seconds").and_then(|text| text.parse().ok());
    let seconds = asked
        .filter(|seconds| *seconds > 0)
        .unwrap_or(DEFAULT_SECONDS);
    if seconds > MAX_SECONDS {
        return Err(ApiError::bad_request(format!(
            "seconds={seconds} is more than {MAX_SECONDS}"
        )));
    }
    let Ok(_alone) = LOOKING.try_acquire() else {
        return Err(ApiError::Typed(
            StatusCode::SERVICE_UNAVAILABLE,
            "somebody else is taking a profile: try again when it is done".to_owned(),
        ));
    };
    let found = profile::cpu(Duration::from_secs(seconds)).await;
    answer("profile", &query, found)
}

/// `/admin/pprof/heap`: resident memory by mapping.
pub(super) async fn memory(OriginalUri(uri): OriginalUri) -> Result<Response, ApiError> {
    let found = tokio::task::spawn_blocking(profile::memory).await;
    let found = found.map_err(|error| ApiError::Numeric(error.to_string()))?;
    answer("heap", &Query::of(&uri), found)
}

/// `/admin/pprof/threads`: what each thread waits for, as SIGUSR1 writes it, without what the kernel shows to root only.
pub(super) async fn wait_list() -> Result<Response, ApiError> {
    let tasks = tokio::runtime::Handle::current().metrics();
    let text = tokio::task::spawn_blocking(move || threads::overview(&tasks)).await;
    match text {
        Ok(Ok(text)) => Ok(text.into_response()),
        Ok(Err(error)) => Err(failed("threads", error)),
        Err(error) => Err(failed("threads", error)),
    }
}

/// `/admin/pprof/trace`. Its clients read what Go's runtime writes of goroutines; pretending would be worse than saying
/// what there is.
pub(super) async fn no_trace() -> ApiError {
    ApiError::Typed(
        StatusCode::NOT_IMPLEMENTED,
        format!(
            "gpud has no trace of a Go runtime: /admin/pprof/threads says what its threads wait for, \
             /admin/pprof/profile and /admin/pprof/heap what they take, \"perf trace -p {}\" what they do",
            std::process::id()
        ),
    )
}

/// A profile as pprof reads it, or with `debug=1` (or any other number but 0) as folded stacks.
fn answer(
    name: &'static str,
    query: &Query,
    found: std::io::Result<Profile>,
) -> Result<Response, ApiError> {
    let found = found.map_err(|error| failed(name, error))?;
    if query.get("debug").is_some_and(|debug| debug != "0") {
        return Ok(found.to_folded().into_response());
    }
    let body = found.to_pprof().map_err(|error| failed(name, error))?;
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("application/octet-stream"),
    );
    let file = HeaderValue::try_from(format!("attachment; filename=\"{name}\""));
    if let Ok(file) = file {
        headers.insert(CONTENT_DISPOSITION, file);
    }
    Ok(response)
}

fn failed(name: &str, error: impl std::fmt::Display) -> ApiError {
    ApiError::Numeric(format!("failed to take the profile {name}: {error}"))
}
