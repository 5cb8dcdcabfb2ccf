//! The present value of every series.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::MetricError;
use super::names::{label_name, metric_name};
use super::views::SeriesView;
use crate::model::{Metric, MetricDescription, MetricKind, Pairs};
use crate::store::Sample;

/// Most series of one component, so that no plugin can grow the daemon without bound.
pub const SERIES_PER_COMPONENT: usize = 2000;
/// Most buckets of a histogram, the one for infinity not counted.
const BUCKETS: usize = 64;
/// Bounds of a histogram that describes none: Prometheus' own defaults, in seconds.
const DEFAULT_BUCKETS: &[f64] = &[
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];
/// The label that carries the component.
pub(super) const COMPONENT_LABEL: &str = "gpud_component";
/// The label that carries a bucket's bound.
pub(super) const BOUND_LABEL: &str = "le";

/// All series. A series stays once it was recorded, also when its component is deregistered, as GPUd keeps it.
#[derive(Debug)]
pub struct Registry {
    limit: usize,
    table: Mutex<Table>,
}

/// Families by the name that they are served under.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) families: BTreeMap<String, Family>,
    series_of: BTreeMap<String, usize>,
}

/// All series of one name.
#[derive(Debug)]
pub(super) struct Family {
    /// The name as it was given; what is stored.
    name: String,
    pub(super) help: String,
    pub(super) kind: Kind,
    /// Upper bounds, for a histogram.
    pub(super) bounds: Vec<f64>,
    pub(super) series: BTreeMap<SeriesKey, Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Gauge,
    Counter,
    Histogram,
}

impl Kind {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Gauge => "gauge",
            Self::Counter => "counter",
            Self::Histogram => "histogram",
        }
    }
}

/// The labels that distinguish the series of a family.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SeriesKey {
    /// `None` for the daemon's own series.
    pub(super) component: Option<String>,
    /// Sorted by name, names escaped.
    pub(super) labels: Pairs,
}

#[derive(Debug)]
pub(super) enum Value {
    Number(f64),
    Histogram {
        /// Observations per bucket, not cumulative; those above the last bound are only in `count`.
        buckets: Vec<u64>,
        sum: f64,
        count: u64,
    },
}

/// How a value meets the one that is there.
#[derive(Debug, Clone, Copy)]
enum Change {
    Set(Kind, f64),
    Raise(f64),
    Add(f64),
    Observe(f64),
}

impl Change {
    fn kind(self) -> Kind {
        match self {
            Self::Set(kind, _) => kind,
            Self::Raise(_) => Kind::Gauge,
            Self::Add(_) => Kind::Counter,
            Self::Observe(_) => Kind::Histogram,
        }
    }

    fn value(self) -> f64 {
        match self {
            Self::Set(_, value) | Self::Raise(value) | Self::Add(value) | Self::Observe(value) => {
                value
            }
        }
    }

    fn is_sound(self) -> bool {
        match self {
            Self::Set(Kind::Counter, value) | Self::Add(value) => value.is_finite() && value >= 0.0,
            Self::Set(_, _) | Self::Raise(_) => true,
            Self::Observe(value) => !value.is_nan(),
        }
    }
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
    /// one observation. Help texts and buckets come from the description of the same name.
    ///
    /// Returns what was refused, in order; the rest was recorded.
    #[must_use = "a refused metric should be logged"]
    pub fn record(
        &self,
        component: &str,
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
                table.apply(self.limit, Some(component), &family, &metric.labels, change);
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
    /// A component has a metric of this name.
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
        let family = table
            .families
            .entry(metric_name(name))
            .or_insert_with(|| described.family(Kind::Gauge));
        family.admits(name, Kind::Gauge)?;
        if family.series.keys().any(|key| key.component.is_some()) {
            return Err(MetricError::NameTaken {
                name: name.to_owned(),
                known: name.to_owned(),
            });
        }
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

    /// Returns the present values of a counter or gauge of components by the labels of its series.
    pub(super) fn values_of(&self, name: &str) -> Vec<(Pairs, f64)> {
        let table = self.lock();
        let family = table.families.get(&metric_name(name));
        let series = family.into_iter().flat_map(|family| &family.series);
        series
            .filter_map(|(key, value)| match value {
                Value::Number(value) if key.component.is_some() => {
                    Some((key.labels.clone(), *value))
                }
                _ => None,
            })
            .collect()
    }

    /// Whether a metric is served under this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.lock().families.contains_key(&metric_name(name))
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
        self.lock().apply(usize::MAX, None, &family, labels, change)
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The description from which a family is made with its first series.
struct Description<'a> {
    name: &'a str,
    help: &'a str,
    buckets: &'a [f64],
}

impl Description<'_> {
    fn family(&self, kind: Kind) -> Family {
        Family {
            name: self.name.to_owned(),
            help: self.help.to_owned(),
            kind,
            bounds: match kind {
                Kind::Histogram => bounds(self.buckets),
                Kind::Gauge | Kind::Counter => Vec::new(),
            },
            series: BTreeMap::new(),
        }
    }
}

impl Table {
    fn apply(
        &mut self,
        limit: usize,
        component: Option<&str>,
        described: &Description<'_>,
        labels: &[(String, String)],
        change: Change,
    ) -> Result<(), MetricError> {
        let name = described.name;
        if name.is_empty() {
            return Err(MetricError::EmptyName);
        }
        if !change.is_sound() {
            return Err(MetricError::BadValue {
                name: name.to_owned(),
                value: change.value().to_string(),
            });
        }
        let key = SeriesKey {
            component: component.map(str::to_owned),
            labels: sorted_labels(name, labels)?,
        };
        let served = metric_name(name);
        if let Some(family) = self.families.get_mut(&served) {
            family.admits(name, change.kind())?;
            // The rule: a series that is there. It is looked up once.
            if let Some(value) = family.series.get_mut(&key) {
                value.take(&family.bounds, change);
                return Ok(());
            }
        }
        if let Some(component) = component {
            let series = self.series_of.entry(component.to_owned()).or_default();
            if *series >= limit {
                return Err(MetricError::TooManySeries {
                    name: name.to_owned(),
                    limit,
                });
            }
            *series += 1;
        }
        self.families
            .entry(served)
            .or_insert_with(|| described.family(change.kind()))
            .begin(key, change);
        Ok(())
    }
}

impl Family {
    fn admits(&self, name: &str, kind: Kind) -> Result<(), MetricError> {
        if self.name != name {
            return Err(MetricError::NameTaken {
                name: name.to_owned(),
                known: self.name.clone(),
            });
        }
        if self.kind != kind {
            return Err(MetricError::KindConflict {
                name: name.to_owned(),
                known: self.kind.word(),
                wanted: kind.word(),
            });
        }
        Ok(())
    }

    /// Takes the first value of a series.
    fn begin(&mut self, key: SeriesKey, change: Change) {
        let mut value = match self.kind {
            Kind::Gauge | Kind::Counter => Value::Number(0.0),
            Kind::Histogram => Value::Histogram {
                buckets: vec![0; self.bounds.len()],
                sum: 0.0,
                count: 0,
            },
        };
        value.take(&self.bounds, change);
        self.series.insert(key, value);
    }
}

impl Value {
    fn take(&mut self, bounds: &[f64], change: Change) {
        match (self, change) {
            (Self::Number(number), Change::Add(amount)) => *number += amount,
            (Self::Number(number), Change::Raise(value)) => *number = number.max(value),
            (Self::Number(number), change) => *number = change.value(),
            (
                Self::Histogram {
                    buckets,
                    sum,
                    count,
                },
                change,
            ) => {
                let observed = change.value();
                let mut pairs = bounds.iter().zip(buckets);
                if let Some((_, bucket)) = pairs.find(|(bound, _)| observed <= **bound) {
                    *bucket += 1;
                }
                *sum += observed;
                *count += 1;
            }
        }
    }
}

/// Usable bounds: finite, ascending, not too many.
fn bounds(described: &[f64]) -> Vec<f64> {
    let mut bounds: Vec<f64> = described
        .iter()
        .copied()
        .filter(|bound| bound.is_finite())
        .take(BUCKETS)
        .collect();
    if bounds.is_empty() {
        bounds = DEFAULT_BUCKETS.to_vec();
    }
    bounds.sort_by(f64::total_cmp);
    bounds.dedup();
    bounds
}

fn sorted_labels(name: &str, labels: &[(String, String)]) -> Result<Pairs, MetricError> {
    let mut sorted: BTreeMap<String, String> = BTreeMap::new();
    for (label, value) in labels {
        let escaped = label_name(label);
        let reserved = escaped.is_empty() || escaped == COMPONENT_LABEL || escaped == BOUND_LABEL;
        if reserved || sorted.insert(escaped, value.clone()).is_some() {
            return Err(MetricError::BadLabel {
                name: name.to_owned(),
                label: label.clone(),
            });
        }
    }
    Ok(sorted.into_iter().collect())
}
