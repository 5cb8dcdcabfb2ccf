//! `/v1/plugins`: specs of the plugins, and registering more while the daemon runs.

use axum::{
    body::Body,
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, StatusCode, Uri};

use super::{
    backend::RegisterError,
    errors::ApiError,
    limits::read_body,
    negotiation::{document, json, strict_form},
    query::Query,
    router::App,
    states::some,
};
use crate::wire::Registered;

pub(super) async fn list(State(app): State<App>, headers: HeaderMap) -> Result<Response, ApiError> {
    let specs = app.backend.plugin_specs();
    Ok(document(strict_form(&headers)?, &some(specs)))
}

/// `/v1/plugins/shadow`: how the version beside a component compares with it.
pub(super) async fn shadow(
    State(app): State<App>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let form = strict_form(&headers)?;
    let query = Query::of(&uri);
    let name = query
        .get("componentName")
        .ok_or_else(|| ApiError::bad_request("component name is required"))?;
    match app.backend.shadow(name) {
        Some(view) => Ok(document(form, &view)),
        None if app.backend.is_known(name) => Err(ApiError::Typed(
            StatusCode::NOT_FOUND,
            "no version runs beside this component; `shadow:` in its entry names one".to_owned(),
        )),
        None => Err(ApiError::no_component()),
    }
}

/// `POST`: adds plugins.
pub(super) async fn add(State(app): State<App>, body: Body) -> Result<Response, ApiError> {
    register(app, body, false).await
}

/// `PUT`: adds plugins or puts them in place of those of the same name.
pub(super) async fn put(State(app): State<App>, body: Body) -> Result<Response, ApiError> {
    register(app, body, true).await
}

/// The right to do this is checked before the body is read (`access`).
async fn register(app: App, body: Body, replace: bool) -> Result<Response, ApiError> {
    let body = read_body(body).await?;
    match app.backend.register(body, replace).await {
        Ok(components) => Ok(json(
            StatusCode::OK,
            &Registered {
                code: 200,
                components,
                message: "plugins registered",
            },
        )
        .into_response()),
        Err(error @ RegisterError::Invalid(_)) => Err(ApiError::bad_request(error.to_string())),
        Err(error @ RegisterError::Taken(_)) => {
            Err(ApiError::Typed(StatusCode::CONFLICT, error.to_string()))
        }
    }
}
