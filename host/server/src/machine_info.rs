//! `GET /machine-info`: the machine's inventory, taken at most once at a time.

use std::time::{Duration, Instant};

use axum::{extract::State, response::Response};
use http::StatusCode;
use tokio::sync::Mutex;

use super::{errors::ApiError, negotiation::json, router::App};
use crate::{node::error::SourceError, wire::MachineInfo};

/// Taking an inventory starts programs, so a burst of requests shares one.
const FRESH: Duration = Duration::from_secs(5);

/// The last inventory and when it was taken; the lock is held while one is being taken.
#[derive(Debug, Default)]
pub(super) struct Cache(Mutex<Option<(Instant, MachineInfo)>>);

pub(super) async fn show(State(app): State<App>) -> Result<Response, ApiError> {
    match at_most(&app, FRESH).await {
        Ok(info) => Ok(json(StatusCode::OK, &info)),
        Err(error) => Err(ApiError::Typed(
            StatusCode::INTERNAL_SERVER_ERROR,
            format!("failed to get machine info: {error}"),
        )),
    }
}

impl Cache {
    /// Whether an inventory is being taken.
    pub(super) fn is_being_taken(&self) -> bool {
        self.0.try_lock().is_err()
    }
}

/// The inventory, at most this old.
pub(super) async fn at_most(app: &App, age: Duration) -> Result<MachineInfo, SourceError> {
    let mut last = app.machine_info.0.lock().await;
    if let Some((_, info)) = last.as_ref().filter(|(taken, _)| taken.elapsed() < age) {
        return Ok(info.clone());
    }
    let info = app.backend.machine_info().await?;
    *last = Some((Instant::now(), info.clone()));
    Ok(info)
}
