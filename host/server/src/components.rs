//! `/v1/components`: which components there are, and removing a plugin.

use axum::{extract::State, response::Response};
use http::{HeaderMap, StatusCode, Uri};

use super::{
    backend::DeregisterError,
    errors::ApiError,
    negotiation::{document, json, strict_form},
    query::Query,
    router::App,
};
use crate::wire::{ComponentDetail, Deregistered};

/// The names; with `detail`, what each component is and whether it applies to this machine.
pub(super) async fn list(
    State(app): State<App>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let names = app.backend.component_names();
    let form = strict_form(&headers)?;
    if !Query::of(&uri).has("detail") {
        return Ok(document(form, &names));
    }
    let detail = |component: String| {
        let states = app.backend.states(&component);
        let not_applicable = app.backend.not_applicable(&component);
        ComponentDetail {
            component_type: states.map_or_else(String::new, |known| known.origin.component_type),
            applicable: not_applicable.is_none(),
            reason: not_applicable.unwrap_or_default(),
            component,
        }
    };
    let details: Vec<_> = names.into_iter().map(detail).collect();
    Ok(document(form, &details))
}

pub(super) async fn deregister(State(app): State<App>, uri: Uri) -> Result<Response, ApiError> {
    let query = Query::of(&uri);
    let name = query
        .get("componentName")
        .ok_or_else(|| ApiError::bad_request("component name is required"))?;
    match app.backend.deregister(name.to_owned()).await {
        Ok(()) => Ok(json(
            StatusCode::OK,
            &Deregistered {
                code: 200,
                component: name.to_owned(),
                message: "component deregistered",
            },
        )),
        Err(DeregisterError::Unknown) => Err(ApiError::no_component()),
        Err(error @ DeregisterError::BuiltIn) => Err(ApiError::bad_request(error.to_string())),
        Err(error @ DeregisterError::Failed(_)) => Err(ApiError::Numeric(error.to_string())),
    }
}
