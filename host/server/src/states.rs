//! `GET /v1/states`: the latest states, without checking anything.

use axum::{extract::State, response::Response};
use http::{HeaderMap, Uri};

use super::{
    backend::Backend,
    errors::ApiError,
    negotiation::{document, strict_form},
    query::Query,
    router::App,
};
use crate::wire::ComponentHealthStates;

pub(super) async fn list(
    State(app): State<App>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let names = asked(&Query::of(&uri), app.backend.as_ref())?;
    let states: Vec<_> = names
        .into_iter()
        .filter_map(|name| {
            let states = app.backend.states(&name)?.into_wire();
            Some(ComponentHealthStates {
                component: name,
                states: Some(states),
            })
        })
        .collect();
    Ok(document(strict_form(&headers)?, &some(states)))
}

/// The components asked for (all, by name, unless some are named) that have something to watch on this machine.
pub(super) fn asked(query: &Query, backend: &dyn Backend) -> Result<Vec<String>, ApiError> {
    let mut names = query
        .components(backend)?
        .unwrap_or_else(|| backend.component_names());
    names.retain(|name| backend.is_supported(name));
    Ok(names)
}

/// An empty list is served as `null` where GPUd does so.
pub(super) fn some<T>(list: Vec<T>) -> Option<Vec<T>> {
    (!list.is_empty()).then_some(list)
}
