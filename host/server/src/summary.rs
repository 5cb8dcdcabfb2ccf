//! `GET /v1/summary`: what all components' latest states amount to.

use std::time::Duration;

use axum::{extract::State, response::Response};
use http::HeaderMap;

use super::{
    errors::ApiError,
    machine_info::at_most,
    negotiation::{document, strict_form},
    router::App,
};
use gpud_summary::{ComponentInput, Gpus, Input, MachineView, Summary, machine, summarize};

/// The machine's names change rarely, and taking an inventory starts programs.
const MACHINE_FRESH: Duration = Duration::from_secs(60);

pub(super) async fn show(State(app): State<App>, headers: HeaderMap) -> Result<Response, ApiError> {
    let form = strict_form(&headers)?;
    Ok(document(form, &summary(&app).await))
}

/// Returns the present summary. Values that cannot be read are left out: states are in memory.
pub(super) async fn summary(app: &App) -> Summary {
    let backend = app.backend.as_ref();
    let names = backend.component_names().into_iter();
    let components: Vec<ComponentInput> = names
        .filter_map(|component| {
            Some(ComponentInput {
                supported: backend.is_supported(&component),
                states: backend.states(&component)?.states,
                component,
                events: Vec::new(),
            })
        })
        .collect();
    let keys = components.iter().flat_map(ComponentInput::keys).collect();
    let since = backend.beginnings(keys).await.unwrap_or_else(|error| {
        tracing::warn!(%error, "cannot read since when states are what they are");
        Default::default()
    });
    let (machine, gpus) = machine_and_gpus(app).await;
    summarize(Input {
        components,
        machine,
        gpus,
        since,
    })
}

/// The machine and its GPUs, at most a minute old; empty where no inventory can be taken.
pub(super) async fn machine_and_gpus(app: &App) -> (MachineView, Gpus) {
    let now = u64::try_from((app.now)().as_millisecond()).unwrap_or(0);
    match at_most(app, MACHINE_FRESH).await {
        Ok(info) => {
            let found = machine(&info, now);
            app.encoder.learn(&found.1);
            found
        }
        Err(error) => {
            tracing::warn!(%error, "cannot take the machine's inventory");
            Default::default()
        }
    }
}
