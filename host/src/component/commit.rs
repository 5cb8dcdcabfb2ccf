//! What a call leaves behind: events and values in the store, readings and its bill in the metrics.

use std::collections::BTreeMap;

use super::Services;
use crate::{
    metrics::own,
    model::{Event, EventType, HealthState, Metric, MetricDescription, UnixMillis},
    runtime::{CallError, Finished},
    store::{Commit, Inserted, KmsgCursor, StateChange, StoreError},
};

/// Stores what a call gave, all of it or nothing. Says what became of each event.
pub(super) async fn events_and_state(
    services: &Services,
    component: &str,
    events: Vec<Event>,
    state_writes: BTreeMap<String, Option<Vec<u8>>>,
    cursor: Option<KmsgCursor>,
) -> Result<Vec<Inserted>, StoreError> {
    let Some(store) = &services.store else {
        return Ok(Vec::new());
    };
    if events.is_empty() && state_writes.is_empty() && cursor.is_none() {
        return Ok(Vec::new());
    }
    let weighty: Vec<(usize, Event)> = events
        .iter()
        .enumerate()
        .filter(|(_, event)| event.event_type != EventType::Info)
        .map(|(at, event)| (at, event.clone()))
        .collect();
    let inserted = store
        .commit(
            component,
            Commit {
                events,
                state_writes,
                cursor,
            },
        )
        .await?;
    let is_new = |at: &usize| inserted.get(*at) == Some(&Inserted::New);
    let new = weighty.iter().filter(|(at, _)| is_new(at));
    let now = services.node.clock.now_ms();
    services
        .event_log
        .log(component, new.map(|(_, event)| event), now);
    Ok(inserted)
}

/// Takes readings into the metrics; what is refused is logged.
pub(super) fn metrics(
    services: &Services,
    component: &str,
    metrics: &[Metric],
    descriptions: &[MetricDescription],
) {
    for refused in services.metrics.record(component, metrics, descriptions) {
        tracing::warn!(component, "a metric was refused: {refused}");
    }
}

/// Adds what a call cost to the component's bill.
pub(super) fn bill<T>(services: &Services, component: &str, finished: &Finished<T>) {
    let labels = [(own::CHECKER_LABEL.to_owned(), component.to_owned())];
    let bill = &finished.bill;
    let count = |metric: own::OwnMetric, amount: f64| {
        services
            .metrics
            .add_counter(metric.name, metric.help, &labels, amount)
    };
    let trapped = matches!(
        &finished.answer,
        Err(CallError::Trap(_) | CallError::Memory(_))
    );
    let late = matches!(&finished.answer, Err(CallError::Deadline(_)));
    let recorded = [
        count(own::CHECKER_SECONDS, bill.time.as_secs_f64()),
        count(own::CHECKER_HOST_CALLS, bill.host_calls as f64),
        count(own::CHECKER_FILES, bill.files as f64),
        count(own::CHECKER_BYTES, bill.bytes as f64),
        count(own::CHECKER_TRAPS, f64::from(u8::from(trapped))),
        count(own::CHECKER_TIMEOUTS, f64::from(u8::from(late))),
        services.metrics.raise_gauge(
            own::CHECKER_MEMORY.name,
            own::CHECKER_MEMORY.help,
            &labels,
            bill.memory_high_water as f64,
        ),
    ];
    for error in recorded.into_iter().filter_map(Result::err) {
        tracing::warn!(component, "the bill could not be recorded: {error}");
    }
}

/// Records the verdicts that are new or different, by name.
pub(super) async fn changes(
    services: &Services,
    component: &str,
    before: &[HealthState],
    after: &[HealthState],
    now: UnixMillis,
) {
    let Some(store) = &services.store else { return };
    for state in after {
        let earlier = before
            .iter()
            .find(|old| old.name == state.name && old.subject == state.subject);
        // Readings move within a reason; a change is one of health.
        if earlier.is_some_and(|old| old.health == state.health) {
            continue;
        }
        let change = StateChange {
            time: now,
            name: state.name.clone().unwrap_or_default(),
            health: state.health.clone(),
            reason: state.reason.clone(),
        };
        if let Err(error) = store.record_state(component, change).await {
            tracing::error!(component, "a change of state could not be stored: {error}");
        }
    }
}
