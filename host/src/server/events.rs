//! `GET /v1/events`: stored events after a start time.

use axum::{extract::State, response::Response};
use http::{HeaderMap, Uri};

use super::{
    errors::ApiError,
    negotiation::{document, not_encoded, strict_form},
    pieces::Pieces,
    query::Query,
    router::App,
    states::{asked, some},
};
use crate::{
    model,
    wire::{ComponentEvents, EncodeError, Event, Form, GoTime, to_json},
};

pub(super) async fn list(
    State(app): State<App>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query = Query::of(&uri);
    let names = asked(&query, app.backend.as_ref())?;
    let (start, end) = query.window((app.now)(), &app.zone)?;
    let form = strict_form(&headers)?;
    if form == Form::Json {
        return Ok(match compact(&app, names, start, end).await {
            Ok(pieces) => pieces.into_response(),
            Err(error) => not_encoded(&error),
        });
    }
    let found = app
        .backend
        .events(names.clone(), start.unix_seconds())
        .await;
    let events: Vec<_> = names
        .into_iter()
        .map(|component| ComponentEvents {
            events: to_wire(found.get(&component)),
            component,
            start_time: start.clone(),
            end_time: end.clone(),
        })
        .collect();
    Ok(document(form, &some(events)))
}

/// The form that nearly everybody asks for, from lists that are kept.
async fn compact(
    app: &App,
    names: Vec<String>,
    start: GoTime,
    end: GoTime,
) -> Result<Pieces, EncodeError> {
    let after = start.unix_seconds();
    let lists = app
        .kept
        .events
        .get(app.backend.as_ref(), &names, after)
        .await;
    let mut answer = Pieces::default();
    let mut before = "[";
    for (component, list) in names.into_iter().zip(lists) {
        let around = to_json(&ComponentEvents {
            component,
            start_time: start.clone(),
            end_time: end.clone(),
            events: None,
        })?;
        // The list takes the place of the null at the end.
        let opening = around.strip_suffix(b"null}").unwrap_or_default();
        answer.push([before.as_bytes(), opening].concat());
        before = "},";
        match list {
            Some(list) => list.write(after, &mut answer),
            None => answer.push("null"),
        }
    }
    answer.push(if before == "[" { "null" } else { "}]" });
    Ok(answer)
}

/// The wire form of a component's events, if there are any.
pub(super) fn to_wire(events: Option<&Vec<model::Event>>) -> Option<Vec<Event>> {
    some(events?.iter().cloned().map(Event::from).collect())
}
