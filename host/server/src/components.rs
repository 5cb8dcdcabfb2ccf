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
use crate::wire::Deregistered;

pub(super) async fn list(State(app): State<App>, headers: HeaderMap) -> Result<Response, ApiError> {
    let names = app.backend.component_names();
    Ok(document(strict_form(&headers)?, &names))
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
