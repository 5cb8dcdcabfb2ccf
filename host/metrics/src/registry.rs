//! The present value of every series.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::MetricError;
use super::dcgm;
use super::families::{Change, Description, Kind, Owner, SeriesKey, Table, Value};
use super::names::metric_name;
use super::views::SeriesView;
use crate::model::{Metric, MetricDescription, MetricKind, Pairs};
use crate::store::Sample;

/// Most series of one component, so that no plugin can grow the daemon without bound.
pub const SERIES_PER_COMPONENT: usize = 2000;

/// All series. A series stays once it was recorded, also when its component is deregistered, as GPUd keeps it.
#[derive(Debug)]
pub struct Registry {
    limit: usize,
    table: Mutex<Table>,
}

impl Default for Registry {
    fn default() -> Self {
        Self::new()
    }
}

impl Registry {
    /// An empty registry with the usual limit of series per component.
    pub fn new() -> Self {
        Self::with_limit(SERIES_PER_COMPONENT)
    }

    /// An empty registry with another limit of series per component.
    pub fn with_limit(limit: usize) -> Self {
        Self {
            limit,
            table: Mutex::default(),
        }
    }

    /// Records what a check of `component` measured: gauges are set, counters grow by the value, histograms take it as
    /// one observation. Help texts and buckets come from the description of the same name. Plugins have no name of gpud's
    /// own metrics, nor those of [`dcgm`]; one that a plugin had first is no longer its.
    ///
    /// Returns what was refused, in order; the rest was recorded.
    #[must_use = "a refused metric should be logged"]
    pub fn record(
        &self,
        component: &str,
        owner: Owner,
        metrics: &[Metric],
        descriptions: &[MetricDescription],
    ) -> Vec<MetricError> {
        let mut table = self.lock();
        let mut refused = Vec::new();
        for metric in metrics {
            let change = match metric.kind {
                MetricKind::Counter => Change::Add(metric.value),
                MetricKind::Histogram => Change::Observe(metric.value),
                MetricKind::Gauge | MetricKind::Other(_) => Change::Set(Kind::Gauge, metric.value),
            };
            let described = descriptions
                .iter()
                .find(|description| description.name == metric.name);
            let family = Description {
                name: &metric.name,
                help: described.map_or("", |description| description.help.as_str()),
                buckets: described.map_or(&[], |description| description.buckets.as_slice()),
            };
            let recorded =
                match owner == Owner::Plugin && dcgm::has_name(&metric_name(&metric.name)) {
                    true => Err(MetricError::Reserved {
                        name: metric.name.clone(),
                    }),
                    false => table.apply(
                        self.limit,
                        (owner, Some(component)),
                        &family,
                        &metric.labels,
                        change,
                    ),
                };
            refused.extend(recorded.err());
        }
        refused
    }

    /// Sets a gauge of the daemon itself.
    ///
    /// # Errors
    /// A conflict with what is there.
    pub fn set_gauge(
        &self,
        name: &str,
        help: &str,
        labels: &[(String, String)],
        value: f64,
    ) -> Result<(), MetricError> {
        self.own(name, help, labels, Change::Set(Kind::Gauge, value))
    }

    /// Raises a gauge of the daemon itself to a value, if it was lower: a high-water mark.
    ///
    /// # Errors
    /// A conflict with what is there.
    pub fn raise_gauge(
        &self,
        name: &str,
        help: &str,
        labels: &[(String, String)],
        value: f64,
    ) -> Result<(), MetricError> {
        self.own(name, help, labels, Change::Raise(value))
    }

    /// Sets a counter of the daemon itself to a total that is counted elsewhere.
    ///
    /// # Errors
    /// A conflict with what is there, or a value that is negative or not finite.
    pub fn set_counter(
        &self,
        name: &str,
        help: &str,
        labels: &[(String, String)],
        total: f64,
    ) -> Result<(), MetricError> {
        self.own(name, help, labels, Change::Set(Kind::Counter, total))
    }

    /// Adds to a counter of the daemon itself.
    ///
    /// # Errors
    /// A conflict with what is there, or a value that is negative or not finite.
    pub fn add_counter(
        &self,
        name: &str,
        help: &str,
        labels: &[(String, String)],
        amount: f64,
    ) -> Result<(), MetricError> {
        self.own(name, help, labels, Change::Add(amount))
    }

    /// Replaces all series of a gauge of the daemon itself. Unlike others these can carry the label of a component, and none
    /// of them is stored.
    ///
    /// # Errors
    /// A built-in checker or another metric of the daemon has this name.
    pub fn replace_gauges(
        &self,
        name: &str,
        help: &str,
        series: Vec<(Pairs, f64)>,
    ) -> Result<(), MetricError> {
        let described = Description {
            name,
            help,
            buckets: &[],
        };
        let mut table = self.lock();
        table.give_way(Owner::Daemon, name, Kind::Gauge)?;
        let family = table
            .families
            .entry(metric_name(name))
            .or_insert_with(|| described.family(Owner::Daemon, Kind::Gauge));
        family.series = series
            .into_iter()
            .map(|(mut labels, value)| {
                labels.sort_unstable();
                let component = None;
                (SeriesKey { component, labels }, Value::Number(value))
            })
            .collect();
        Ok(())
    }

    /// The present value of each counter and gauge of a component, for the store.
    pub fn samples(&self) -> Vec<Sample> {
        let table = self.lock();
        let series = table.families.values().flat_map(|family| {
            family
                .series
                .iter()
                .map(move |(key, value)| (family, key, value))
        });
        series
            .filter_map(|(family, key, value)| match (value, &key.component) {
                (Value::Number(value), Some(component)) => Some(Sample {
                    component: component.clone(),
                    name: family.name.clone(),
                    labels: key.labels.clone(),
                    value: *value,
                }),
                _ => None,
            })
            .collect()
    }

    /// Returns the present values of a counter or gauge of built-in checkers by the labels of its series.
    pub(super) fn values_of(&self, name: &str) -> Vec<(Pairs, f64)> {
        let table = self.lock();
        let family = table.families.get(&metric_name(name));
        let family = family.filter(|family| family.owner == Owner::BuiltIn);
        let series = family.into_iter().flat_map(|family| &family.series);
        series
            .filter_map(|(key, value)| match value {
                Value::Number(value) => Some((key.labels.clone(), *value)),
                Value::Histogram { .. } => None,
            })
            .collect()
    }

    /// Hands out every series, those of a name one after the other. No metric is recorded in the meantime.
    pub fn each_series(&self, take: impl FnMut(SeriesView<'_>)) {
        super::views::each(&self.lock(), take);
    }

    /// All series in Prometheus' text format 0.0.4.
    pub fn exposition(&self) -> String {
        super::exposition::render(&self.lock())
    }

    fn own(
        &self,
        name: &str,
        help: &str,
        labels: &[(String, String)],
        change: Change,
    ) -> Result<(), MetricError> {
        let family = Description {
            name,
            help,
            buckets: &[],
        };
        // No limit: the daemon decides over its own series.
        let owner = (Owner::Daemon, None);
        self.lock()
            .apply(usize::MAX, owner, &family, labels, change)
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
