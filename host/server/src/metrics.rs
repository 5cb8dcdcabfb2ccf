//! `GET /v1/metrics`: stored metric samples of the last while.

use std::collections::BTreeMap;

use axum::{extract::State, response::Response};
use http::{HeaderMap, Uri};
use jiff::Timestamp;

use super::{
    answers::large_document, backend::Sample, errors::ApiError, negotiation::strict_form,
    query::Query, router::App,
};
use crate::{
    store::StoreError,
    wire::{ComponentMetrics, Metric},
};

pub(super) async fn list(
    State(app): State<App>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query = Query::of(&uri);
    let names = query.components(app.backend.as_ref())?;
    let since = millis((app.now)()).saturating_sub(query.since()?.as_millis());
    let form = strict_form(&headers)?;
    let samples = app.backend.samples(names, since).await.map_err(unread)?;
    Ok(large_document(form, move || to_wire(samples)).await)
}

/// The error for samples that could not be read.
fn unread(error: StoreError) -> ApiError {
    match error {
        StoreError::TooLarge { .. } => ApiError::bad_request(format!(
            "{error}: ask for a shorter time (since) or for some components"
        )),
        error => ApiError::Numeric(format!("failed to read metrics: {error}")),
    }
}

/// The wire form of samples, components ascending.
fn to_wire(samples: Vec<Sample>) -> Vec<ComponentMetrics> {
    by_component(samples)
        .into_iter()
        .map(|(component, metrics)| ComponentMetrics { component, metrics })
        .collect()
}

/// Samples of each component, oldest first, then by name.
pub(super) fn by_component(mut samples: Vec<Sample>) -> BTreeMap<String, Vec<Metric>> {
    samples.sort_by(|a, b| {
        (a.unix_millis, &a.name, &a.labels).cmp(&(b.unix_millis, &b.name, &b.labels))
    });
    let mut groups: BTreeMap<String, Vec<Metric>> = BTreeMap::new();
    for sample in samples {
        let group = match groups.get_mut(&*sample.component) {
            Some(group) => group,
            None => groups.entry(sample.component.to_string()).or_default(),
        };
        group.push(Metric {
            unix_seconds: sample.unix_millis,
            name: sample.name,
            labels: sample.labels,
            value: sample.value,
        });
    }
    groups
}

fn millis(at: Timestamp) -> i64 {
    at.as_millisecond()
}
