//! `GET /v1/events`: stored events after a start time.

use axum::{extract::State, response::Response};
use http::{HeaderMap, Uri};

use super::{
    answers::{each_once, large_document},
    backend::Backend,
    errors::ApiError,
    negotiation::strict_form,
    query::Query,
    router::App,
    states::some,
};
use crate::{
    model,
    wire::{ComponentEvents, Event},
};

pub(super) async fn list(
    State(app): State<App>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query = Query::of(&uri);
    let names = each_once(asked_with_events(&query, app.backend.as_ref())?);
    let (start, end) = query.window((app.now)(), &app.zone)?;
    let form = strict_form(&headers)?;
    let mut found = app
        .backend
        .events(names.clone(), start.unix_seconds())
        .await;
    let mut names = names;
    names.retain(|name| {
        app.backend.is_supported(name) || found.get(name).is_some_and(|events| !events.is_empty())
    });
    let build = move || {
        let events = names.into_iter().map(|component| ComponentEvents {
            events: to_wire(found.remove(&component)),
            component,
            start_time: start.clone(),
            end_time: end.clone(),
        });
        some(events.collect())
    };
    Ok(large_document(form, build).await)
}

/// The components asked for. One that has nothing to watch here is among them: its plugin can have been taken back.
fn asked_with_events(query: &Query, backend: &dyn Backend) -> Result<Vec<String>, ApiError> {
    let named = query.components(backend)?;
    Ok(named.unwrap_or_else(|| backend.component_names()))
}

/// The wire form of a component's events, if there are any.
pub(super) fn to_wire(events: Option<Vec<model::Event>>) -> Option<Vec<Event>> {
    some(events?.into_iter().map(Event::from).collect())
}
