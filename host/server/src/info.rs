//! `GET /v1/info`: states, events and metrics in one answer.

use axum::{extract::State, response::Response};
use http::{HeaderMap, Uri};

use super::{
    answers::{each_once, large_document},
    backend::ComponentStates,
    errors::ApiError,
    events, metrics,
    negotiation::strict_form,
    query::Query,
    router::App,
    states::{asked, some},
};
use crate::wire::{ComponentInfo, Info};

pub(super) async fn list(
    State(app): State<App>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query = Query::of(&uri);
    let names = each_once(asked(&query, app.backend.as_ref())?);
    let (start, end) = query.window((app.now)(), &app.zone)?;
    // The window of metrics hangs off the start time, not off now.
    let since = start
        .unix_millis()
        .saturating_sub(query.since()?.as_millis());

    let mut found = app
        .backend
        .events(names.clone(), start.unix_seconds())
        .await;
    let samples = app
        .backend
        .samples(Some(names.clone()), since)
        .await
        .unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot read metrics");
            Vec::new()
        });
    let form = strict_form(&headers)?;
    let build = move || {
        let mut samples = metrics::by_component(samples);
        let infos = names.into_iter().map(|component| ComponentInfo {
            info: Info {
                states: app
                    .backend
                    .states(&component)
                    .map(ComponentStates::into_wire),
                events: events::to_wire(found.remove(&component)),
                metrics: samples.remove(&component),
            },
            component,
            start_time: start.clone(),
            end_time: end.clone(),
        });
        some(infos.collect())
    };
    Ok(large_document(form, build).await)
}
