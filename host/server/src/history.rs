//! `GET /v1/history`: events and changes of health together, newest first.

use axum::{extract::State, response::Response};
use http::{HeaderMap, Uri};

use gpud_summary::History;

use super::{
    answers::large_document, errors::ApiError, negotiation::strict_form, query::Query, router::App,
    summary::machine_and_gpus,
};
use crate::{
    store::{Cursor, MAX_PAGE, TimelineRead},
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

/// What a request asks for.
fn read(query: &Query, now: jiff::Timestamp) -> Result<TimelineRead, ApiError> {
    let now = u64::try_from(now.as_millisecond()).unwrap_or(0);
    let since = query.get("since").map(|text| parse_since(text, now));
    let since = since.transpose();
    let since = since.map_err(|error| ApiError::bad_request(format!("since: {error}")))?;
    let before = query.get("before").map(str::parse::<Cursor>).transpose();
    let before = before.map_err(|error: crate::store::NoCursor| {
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
