//! Records a call's results: events and values in the store, readings and its bill in the metrics.

use std::collections::BTreeMap;

use super::{
    Services,
    feed::{self, ChangeKind},
};
use crate::{
    metrics::{Owner, own},
    model::{Event, Health, HealthState, Metric, MetricDescription, UnixMillis},
    runtime::{CallError, Finished},
    store::{Commit, Inserted, StateChange, Store, StoreError},
};

/// Stores the results of a call, all of them or none, after those that could not be stored earlier. While the database
/// cannot be written, or kernel messages of the component wait for it, they wait for the component's next commit.
pub(super) async fn events_and_state(
    services: &Services,
    component: &str,
    events: Vec<Event>,
    state_writes: BTreeMap<String, Option<Vec<u8>>>,
) -> Result<(), StoreError> {
    let Some(store) = &services.store else {
        return Ok(());
    };
    let found = Commit {
        events,
        state_writes,
        cursor: None,
    };
    if store.has_waiting(component) {
        // A write would wait, too, and the verdict with it.
        if found != Commit::default() {
            services.unsaved.keep(component, found);
        }
        return Ok(());
    }
    let stored = match save_unsaved(services, component).await {
        Ok(()) if found == Commit::default() => return Ok(()),
        Ok(()) => commit_and_log(services, store, component, found.clone())
            .await
            .map(drop),
        Err(error) => Err(error),
    };
    if stored.as_ref().is_err_and(StoreError::is_outage) && found != Commit::default() {
        services.unsaved.keep(component, found);
    }
    stored
}

/// Commits, publishes the new events, and logs those that are more than information.
pub(super) async fn commit_and_log(
    services: &Services,
    store: &Store,
    component: &str,
    found: Commit,
) -> Result<Vec<Inserted>, StoreError> {
    let mut new = found.events.clone();
    let inserted = store.commit(component, found).await?;
    let mut outcomes = inserted.iter();
    new.retain(|_| outcomes.next() == Some(&Inserted::New));
    let now = services.node.clock.now_ms();
    services.event_log.log(component, &new, now);
    services.feed.events(component, new, now);
    Ok(inserted)
}

/// Stores the results of a component that could not be stored earlier.
///
/// # Errors
/// They cannot be stored now either, and wait on. Results that the database refuses for another reason are dropped with
/// a line in the log.
pub(super) async fn save_unsaved(services: &Services, component: &str) -> Result<(), StoreError> {
    let Some(store) = &services.store else {
        return Ok(());
    };
    let Some(mut waiting) = services.unsaved.take(component) else {
        return Ok(());
    };
    let stored = match waiting.commit == Commit::default() {
        true => Ok(()),
        false => commit_and_log(services, store, component, waiting.commit.clone())
            .await
            .map(drop),
    };
    match stored {
        Err(error) if error.is_outage() => {
            services.unsaved.put_back(component, waiting);
            return Err(error);
        }
        Err(error) => tracing::error!(component, "findings could not be stored: {error}"),
        Ok(()) => {}
    }
    waiting.commit = Commit::default();
    while let Some(change) = waiting.changes.front() {
        match store.record_state(component, change.clone()).await {
            Err(error) if error.is_outage() => {
                services.unsaved.put_back(component, waiting);
                return Err(error);
            }
            Err(error) => tracing::error!(component, "a change of state was not stored: {error}"),
            Ok(()) => {}
        }
        waiting.changes.pop_front();
    }
    Ok(())
}

/// Adds readings to the metrics, and logs those that are refused.
pub(super) fn metrics(
    services: &Services,
    component: &str,
    owner: Owner,
    metrics: &[Metric],
    descriptions: &[MetricDescription],
) {
    let refused = (services.metrics).record(component, owner, metrics, descriptions);
    for refused in refused {
        tracing::warn!(component, "a metric was refused: {refused}");
    }
}

/// Adds the cost of a call to the component's bill.
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

/// Records the verdicts whose health has changed, and the end of those that the component no longer gives.
pub(super) async fn changes(
    services: &Services,
    component: &str,
    before: &[HealthState],
    after: &[HealthState],
    now: UnixMillis,
) {
    let Some(store) = &services.store else { return };
    // What is over comes first, so that the newest row of a name is about something that is given.
    let (over, given): (Vec<_>, Vec<_>) = feed::changes_of_health(before, after)
        .into_iter()
        .partition(|kind| matches!(kind, ChangeKind::Withdrawn { .. }));
    for kind in over.into_iter().chain(given) {
        let Some(change) = state_change(kind, now) else {
            continue;
        };
        if store.has_waiting(component) {
            services.unsaved.keep_change(component, change);
            continue;
        }
        match store.record_state(component, change.clone()).await {
            Err(error) if error.is_outage() => services.unsaved.keep_change(component, change),
            Err(error) => {
                tracing::error!(component, "a change of state could not be stored: {error}");
            }
            Ok(()) => {}
        }
    }
}

/// Makes the row of a change of health; `None` of an event.
fn state_change(kind: ChangeKind, time: UnixMillis) -> Option<StateChange> {
    let (health, reason, state) = match kind {
        ChangeKind::Health { state, .. } => (state.health.clone(), state.reason.clone(), state),
        ChangeKind::Withdrawn { state } => {
            (Health::Healthy, feed::reason_of_withdrawal(&state), state)
        }
        ChangeKind::Event(_) => return None,
    };
    Some(StateChange {
        time,
        name: state.name.unwrap_or_default(),
        health,
        reason,
        subject: state.subject,
    })
}
