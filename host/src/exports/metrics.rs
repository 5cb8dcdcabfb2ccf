//! The daemon's metrics, as exports want them.

use std::{fmt, sync::Arc};

use futures_util::{FutureExt as _, future::BoxFuture};
use gpud_exports::metrics::{
    MetricFamily, MetricKind, MetricReadings, MetricSeries, MetricSource, MetricValue,
};

use crate::{
    component::{OwnSeries, Registry, Services},
    metrics::{self, SeriesView, ValueView},
};

/// Reads all series.
pub(super) struct SeriesSource {
    own_series: OwnSeries,
    metrics: Arc<metrics::Registry>,
    /// When the daemon began to count.
    since: u64,
}

impl SeriesSource {
    /// Makes a source for these components, counting from now on.
    pub(super) fn new(registry: &Arc<Registry>, services: &Arc<Services>) -> Self {
        Self {
            own_series: OwnSeries::new(Arc::clone(registry), Arc::clone(services)),
            metrics: Arc::clone(&services.metrics),
            since: services.node.clock.now_ms(),
        }
    }
}

impl MetricSource for SeriesSource {
    fn read(&self) -> BoxFuture<'_, MetricReadings> {
        async move {
            self.own_series.refresh().await;
            MetricReadings {
                since: self.since,
                families: families(&self.metrics),
            }
        }
        .boxed()
    }
}

impl fmt::Debug for SeriesSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Source(since {})", self.since)
    }
}

fn families(metrics: &metrics::Registry) -> Vec<MetricFamily> {
    let mut families: Vec<MetricFamily> = Vec::new();
    metrics.each_series(|view| {
        let series = series(&view);
        match families.last_mut() {
            Some(family) if family.name == view.name => family.series.push(series),
            _ => families.push(MetricFamily {
                name: view.name.to_owned(),
                help: view.help.to_owned(),
                kind: kind(&view.value),
                series: vec![series],
            }),
        }
    });
    families
}

fn kind(value: &ValueView<'_>) -> MetricKind {
    match value {
        ValueView::Gauge(_) => MetricKind::Gauge,
        ValueView::Counter(_) => MetricKind::Counter,
        ValueView::Histogram { bounds, .. } => MetricKind::Histogram(bounds.to_vec()),
    }
}

fn series(view: &SeriesView<'_>) -> MetricSeries {
    let value = match view.value {
        ValueView::Gauge(value) | ValueView::Counter(value) => MetricValue::Number(value),
        ValueView::Histogram {
            buckets,
            sum,
            count,
            ..
        } => MetricValue::Histogram {
            buckets: buckets.to_vec(),
            sum,
            count,
        },
    };
    MetricSeries {
        component: view.component.map(str::to_owned),
        labels: view.labels.to_vec(),
        value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Metric, MetricKind as Kind};

    #[test]
    fn series_are_grouped_by_name() {
        let registry = metrics::Registry::new();
        let metric = |name: &str, kind, value| Metric {
            name: name.to_owned(),
            labels: Vec::new(),
            value,
            kind,
        };
        let measured = [
            metric("a", Kind::Gauge, 1.5),
            metric("b_total", Kind::Counter, 2.0),
            metric("c_seconds", Kind::Histogram, 100.0),
        ];
        for component in ["disk", "cpu"] {
            assert!(
                registry
                    .record(component, metrics::Owner::BuiltIn, &measured, &[])
                    .is_empty()
            );
        }
        registry.set_gauge("d", "help of d", &[], 3.0).unwrap();
        let made = families(&registry);
        let names: Vec<_> = made
            .iter()
            .map(|family| (family.name.as_str(), family.series.len()))
            .collect();
        assert_eq!(
            names,
            [("a", 2), ("b_total", 2), ("c_seconds", 2), ("d", 1)]
        );
        assert_eq!(made[0].kind, MetricKind::Gauge);
        assert_eq!(made[1].kind, MetricKind::Counter);
        let components: Vec<_> = made[0].series.iter().map(|s| &s.component).collect();
        assert_eq!(
            components,
            [&Some("cpu".to_owned()), &Some("disk".to_owned())]
        );
        let MetricKind::Histogram(bounds) = &made[2].kind else {
            panic!("{:?}", made[2].kind);
        };
        let MetricValue::Histogram {
            buckets,
            sum,
            count,
        } = &made[2].series[0].value
        else {
            panic!("{:?}", made[2].series[0]);
        };
        assert_eq!(bounds.len(), buckets.len());
        assert_eq!((buckets.iter().sum::<u64>(), *sum, *count), (0, 100.0, 1));
        assert_eq!(
            (made[3].help.as_str(), &made[3].series[0].component),
            ("help of d", &None)
        );
    }
}
