//! `GET /v1/history`: events and changes of health together, newest first. `GET /v1/history/event`: one event, explained.

use axum::{extract::State, response::Response};
use http::{HeaderMap, StatusCode, Uri};
use serde::Serialize;

use gpud_summary::{CatalogEntry, Explanation, History, HistoryEntry};

use super::{
    answers::large_document,
    errors::ApiError,
    negotiation::{document, strict_form},
    query::Query,
    router::App,
    summary::machine_and_gpus,
};
use crate::{
    component::event_facts::EventFacts,
    store::{Cursor, EntryContent, EntryId, MAX_PAGE, TimelineRead},
    wire::parse_since,
};

/// Entries of a page when the request does not say how many.
const DEFAULT_LIMIT: u32 = 100;

pub(super) async fn list(
    State(app): State<App>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let read = read(&Query::of(&uri), (app.now)())?;
    let form = strict_form(&headers)?;
    let page = app.backend.timeline(read).await;
    let page =
        page.map_err(|error| ApiError::Numeric(format!("the history cannot be read: {error}")))?;
    let (_, gpus) = machine_and_gpus(&app).await;
    Ok(large_document(form, move || History::of(page, &gpus)).await)
}

/// An event with what is known of it.
#[derive(Debug, Serialize)]
struct ExplainedEvent {
    event: HistoryEntry,
    explanation: Explanation,
}

pub(super) async fn event(
    State(app): State<App>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let form = strict_form(&headers)?;
    let query = Query::of(&uri);
    let id = query.get("id").unwrap_or_default();
    let row = match EntryId::parse(id) {
        Some(EntryId::Event(row)) => row,
        Some(EntryId::Change(_)) => {
            return Err(ApiError::bad_request(format!(
                "id: {id:?} is a change of health: only events are explained"
            )));
        }
        None => {
            return Err(ApiError::bad_request(format!(
                "id: {id:?} is no event: take an `id` of /v1/history, such as e12"
            )));
        }
    };
    let entry = app.backend.timeline_event(row).await;
    let entry =
        entry.map_err(|error| ApiError::Numeric(format!("the event cannot be read: {error}")))?;
    let gone = || ApiError::Typed(StatusCode::NOT_FOUND, "no such event is stored".to_owned());
    let entry = entry.ok_or_else(gone)?;
    let EntryContent::Event(stored) = &entry.content else {
        return Err(gone());
    };
    let facts = EventFacts::of(&entry.component);
    let known = facts.event(&stored.event.name).map(|fact| CatalogEntry {
        means: fact.means.clone(),
        actions: fact.actions.clone(),
        advice: fact.advice.clone(),
    });
    let explanation = Explanation::of(&entry.component, &stored.event, known);
    let (_, gpus) = machine_and_gpus(&app).await;
    let explained = ExplainedEvent {
        event: HistoryEntry::of(entry, &gpus),
        explanation,
    };
    Ok(document(form, &explained))
}

/// Parses the parameters of a request.
fn read(query: &Query, now: jiff::Timestamp) -> Result<TimelineRead, ApiError> {
    let now = u64::try_from(now.as_millisecond()).unwrap_or(0);
    let since = query.get("since").map(|text| parse_since(text, now));
    let since = since.transpose();
    let since = since.map_err(|error| ApiError::bad_request(format!("since: {error}")))?;
    let before = query.get("before").map(str::parse::<Cursor>).transpose();
    let before = before.map_err(|error: crate::store::ParseCursorError| {
        ApiError::bad_request(format!("before: {error}"))
    })?;
    let limit = match query.get("limit") {
        None => DEFAULT_LIMIT,
        Some(text) => text
            .parse()
            .ok()
            .filter(|limit| (1..=MAX_PAGE).contains(limit))
            .ok_or_else(|| {
                ApiError::bad_request(format!("limit: {text:?} is no number from 1 to {MAX_PAGE}"))
            })?,
    };
    let names = query.get("component").map(|list| {
        let names = list.split(',').map(str::trim);
        names
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect()
    });
    Ok(TimelineRead {
        components: names,
        since: since.unwrap_or(0),
        before,
        limit,
    })
}
