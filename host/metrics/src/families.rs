//! Families of series, and how values change them.

use std::collections::BTreeMap;

use super::MetricError;
use super::names::{label_name, metric_name};
use crate::model::Pairs;

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

/// Families by the name that they are served under.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) families: BTreeMap<String, Family>,
    /// How many series each component has.
    series_of: BTreeMap<String, usize>,
}

/// All series of one name.
#[derive(Debug)]
pub(super) struct Family {
    /// The name as it was given; it is stored.
    pub(super) name: String,
    pub(super) help: String,
    pub(super) kind: Kind,
    /// Upper bounds, for a histogram.
    pub(super) bounds: Vec<f64>,
    pub(super) series: BTreeMap<SeriesKey, Value>,
}

/// The type of a metric.
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

/// The value of a series.
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

/// A change of a series' value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Change {
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

/// The description from which a family is made with its first series.
pub(super) struct Description<'a> {
    pub(super) name: &'a str,
    pub(super) help: &'a str,
    pub(super) buckets: &'a [f64],
}

impl Description<'_> {
    pub(super) fn family(&self, kind: Kind) -> Family {
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
    /// Applies a change to a series, which is made if it is new.
    pub(super) fn apply(
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
    /// Refuses a metric of another name or kind that is served under the same name.
    pub(super) fn admits(&self, name: &str, kind: Kind) -> Result<(), MetricError> {
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
