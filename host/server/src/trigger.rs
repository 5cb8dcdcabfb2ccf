//! `GET /v1/components/trigger-…`: checks now and waits for the verdict.

use axum::{extract::State, response::Response};
use http::{StatusCode, Uri};

use super::{
    backend::ComponentStates, errors::ApiError, negotiation::json, query::Query, router::App,
};
use crate::wire::{ComponentHealthStates, TagTriggered};

/// Triggers checks by name or by tag, and answers with their states. The name wins when both are given.
pub(super) async fn check(State(app): State<App>, uri: Uri) -> Result<Response, ApiError> {
    let query = Query::of(&uri);
    let checked = match (query.get("componentName"), query.get("tagName")) {
        (Some(name), _) => {
            let checked = app.backend.trigger(name.to_owned()).await;
            vec![checked.ok_or_else(ApiError::no_component)?]
        }
        (None, Some(tag)) => app.backend.trigger_tag(tag.to_owned()).await,
        (None, None) => return Err(ApiError::bad_request("component or tag name is required")),
    };
    let states: Vec<_> = checked
        .into_iter()
        .map(|checked| ComponentHealthStates {
            component: checked.component.clone(),
            states: Some(checked.into_wire()),
        })
        .collect();
    Ok(json(StatusCode::OK, &states))
}

/// Triggers checks by tag, and answers with a summary.
pub(super) async fn tag(State(app): State<App>, uri: Uri) -> Result<Response, ApiError> {
    let query = Query::of(&uri);
    let tag = query
        .get("tagName")
        .ok_or(ApiError::Text("tagName parameter is required"))?;
    let checked = app.backend.trigger_tag(tag.to_owned()).await;
    let success = checked.iter().all(ComponentStates::all_healthy);
    let components = checked
        .into_iter()
        .map(|checked| checked.component)
        .collect();
    Ok(json(
        StatusCode::OK,
        &TagTriggered {
            components,
            exit: u8::from(!success),
            success,
        },
    ))
}
