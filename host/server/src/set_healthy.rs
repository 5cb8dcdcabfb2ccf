//! `POST /v1/health-states/set-healthy`: an operator declares components healthy.

use std::collections::BTreeMap;

use axum::{extract::State, response::Response};
use http::{StatusCode, Uri};

use super::{backend::SetHealthyError, negotiation::json, query::Query, router::App};
use crate::wire::SetHealthyReply;

pub(super) async fn set(State(app): State<App>, uri: Uri) -> Response {
    let asked = match Query::of(&uri).components(app.backend.as_ref()) {
        Ok(asked) => asked,
        Err(error) => {
            return reply(
                StatusCode::NOT_FOUND,
                error.to_string(),
                Vec::new(),
                BTreeMap::new(),
            );
        }
    };
    let named = asked.is_some();
    let mut successful = Vec::new();
    let mut failed = BTreeMap::new();
    for name in asked.unwrap_or_else(|| app.backend.component_names()) {
        match app.backend.set_healthy(name.clone()).await {
            Ok(()) => successful.push(name),
            // A request for all components does not fail for those that do not support it.
            Err(SetHealthyError::Unsupported) if !named => {}
            Err(error) => {
                failed.insert(name, error.to_string());
            }
        }
    }
    let (status, message) = if successful.is_empty() && !failed.is_empty() {
        (
            StatusCode::BAD_REQUEST,
            "failed to set any component to healthy",
        )
    } else {
        (StatusCode::OK, "set healthy states completed")
    };
    reply(status, message.to_owned(), successful, failed)
}

fn reply(
    status: StatusCode,
    message: String,
    successful: Vec<String>,
    failed: BTreeMap<String, String>,
) -> Response {
    json(
        status,
        &SetHealthyReply {
            code: status.as_u16(),
            message,
            successful,
            failed,
        },
    )
}
