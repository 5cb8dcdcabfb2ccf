//! `GET /machine-info`: the machine's inventory, taken at most once at a time.

use std::time::{Duration, Instant};

use axum::{extract::State, response::Response};
use http::StatusCode;
use tokio::sync::Mutex;

use super::{errors::ApiError, negotiation::json, router::App};
use crate::wire::MachineInfo;

/// Taking an inventory starts programs, so a burst of requests shares one.
const FRESH: Duration = Duration::from_secs(5);

/// The last inventory and when it was taken; the lock is held while one is being taken.
#[derive(Debug, Default)]
pub(super) struct Cache(Mutex<Option<(Instant, MachineInfo)>>);

pub(super) async fn show(State(app): State<App>) -> Result<Response, ApiError> {
    let mut last = app.machine_info.0.lock().await;
    if let Some((_, info)) = last.as_ref().filter(|(taken, _)| taken.elapsed() < FRESH) {
        return Ok(json(StatusCode::OK, info));
    }
    match app.backend.machine_info().await {
        Ok(info) => {
            let response = json(StatusCode::OK, &info);
            *last = Some((Instant::now(), info));
            Ok(response)
        }
        Err(error) => Err(ApiError::Typed(
            StatusCode::INTERNAL_SERVER_ERROR,
            format!("failed to get machine info: {error}"),
        )),
    }
}
