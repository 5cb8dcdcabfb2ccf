//! Shows each export as a component, and in the metrics.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use gpud_exports::{ExportStatus, Health as ExportHealth, MetricView, status::InventoryCounts};

use super::DaemonExports;
use crate::{
    component::Component,
    metrics::{self, MetricError, own},
    model::Health,
};

/// How often exports are looked at.
const LOOK: Duration = Duration::from_secs(2);

/// The component of an export.
struct ExportComponent {
    component: Arc<Component>,
    reason: String,
}

/// Shows all exports for ever.
pub(super) async fn run(daemon: Arc<DaemonExports>) {
    let mut shown: BTreeMap<String, ExportComponent> = BTreeMap::new();
    loop {
        let statuses = daemon.exports.statuses();
        let any = !statuses.is_empty() || !shown.is_empty();
        show(&daemon, &mut shown, &statuses).await;
        // Nothing appears in the metrics where nothing is exported.
        if any && let Err(error) = record(&daemon, &statuses) {
            tracing::warn!("{error}");
        }
        if any {
            tokio::time::sleep(LOOK).await;
        } else {
            daemon.exports.wait_for_any().await;
        }
    }
}

async fn show(
    daemon: &DaemonExports,
    shown: &mut BTreeMap<String, ExportComponent>,
    statuses: &[ExportStatus],
) {
    let registry = &daemon.registry;
    shown.retain(|name, old| {
        let is_there = statuses.iter().any(|status| status.name == *name);
        if !is_there {
            registry.remove(&old.component);
            old.component.close();
        }
        is_there
    });
    let now = daemon.services.node.clock.now_ms();
    for status in statuses {
        let (health, reason) = status.view.verdict(now);
        let reason = format!("{} to {}: {reason}", status.kind, status.target);
        let known = match shown.get_mut(&status.name) {
            Some(known) => known,
            None => {
                let name = format!("{}{}", gpud_exports::COMPONENT_PREFIX, status.name);
                let Ok(component) = registry.add(Component::of_daemon(&name)) else {
                    tracing::warn!(
                        "a plugin has the name {name}, so no component shows the export"
                    );
                    continue;
                };
                let reason = String::new();
                shown
                    .entry(status.name.clone())
                    .or_insert(ExportComponent { component, reason })
            }
        };
        if known.reason != reason {
            let health = match health {
                ExportHealth::Healthy => Health::Healthy,
                _ => Health::Degraded,
            };
            let services = &daemon.services;
            known.component.show(services, health, &reason).await;
            known.reason = reason;
        }
    }
}

/// Puts the counters of all exports into the metrics.
fn record(daemon: &DaemonExports, statuses: &[ExportStatus]) -> Result<(), MetricError> {
    let metrics = &daemon.services.metrics;
    let now = daemon.services.node.clock.now_ms();
    let label = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let (mut lags, mut queued) = (Vec::new(), Vec::new());
    for ExportStatus { name, view, .. } in statuses {
        let export = label(own::EXPORT_LABEL, name);
        let outcomes = [
            ("delivered", view.delivered),
            ("refused", view.refused),
            ("dropped", view.dropped),
        ];
        for (outcome, count) in outcomes {
            let labels = [export.clone(), label("outcome", outcome)];
            let own::OwnMetric { name, help } = own::EXPORT_RECORDS;
            metrics.set_counter(name, help, &labels, count as f64)?;
        }
        let counters = [
            (own::EXPORT_DROPPED, view.dropped),
            (own::EXPORT_FAILURES, view.failures),
        ];
        for (own::OwnMetric { name, help }, count) in counters {
            metrics.set_counter(name, help, std::slice::from_ref(&export), count as f64)?;
        }
        record_points(metrics, &export, &view.metrics)?;
        if let Some(counts) = &view.inventory {
            record_inventory(metrics, counts)?;
        }
        lags.push((vec![export.clone()], view.lag_ms(now) as f64 / 1000.0));
        queued.push((vec![export], view.waiting() as f64));
    }
    let own::OwnMetric { name, help } = own::EXPORT_LAG;
    metrics.replace_gauges(name, help, lags)?;
    let own::OwnMetric { name, help } = own::EXPORT_QUEUE;
    metrics.replace_gauges(name, help, queued)
}

/// Puts the counters of an export that sends metrics into the metrics.
fn record_points(
    metrics: &metrics::Registry,
    export: &(String, String),
    view: &MetricView,
) -> Result<(), MetricError> {
    if *view == MetricView::default() {
        return Ok(());
    }
    let own::OwnMetric { name, help } = own::EXPORT_POINTS;
    for (outcome, count) in [("delivered", view.taken), ("refused", view.refused)] {
        let labels = [export.clone(), ("outcome".to_owned(), outcome.to_owned())];
        metrics.set_counter(name, help, &labels, count as f64)?;
    }
    let own::OwnMetric { name, help } = own::EXPORT_PUSH_FAILURES;
    metrics.set_counter(
        name,
        help,
        std::slice::from_ref(export),
        view.failures as f64,
    )
}

/// Puts the counters of an inventory's exports into the metrics, as gpuid names them.
fn record_inventory(
    metrics: &metrics::Registry,
    counts: &InventoryCounts,
) -> Result<(), MetricError> {
    let label = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let labels = vec![
        label("exporter_type", counts.exporter_type),
        label("node", &counts.node),
        label("pod", &counts.source),
    ];
    let own::OwnMetric { name, help } = own::INVENTORY_SUCCESSES;
    metrics.set_counter(name, help, &labels, counts.successes as f64)?;
    let own::OwnMetric { name, help } = own::INVENTORY_FAILURES;
    for (kind, count) in &counts.failures {
        let mut labels = labels.clone();
        labels.push(label("error_type", kind));
        metrics.set_counter(name, help, &labels, *count as f64)?;
    }
    Ok(())
}
