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
/// How labels begin that Prometheus keeps for itself; `__name__` is the metric's name.
const OWN_OF_PROMETHEUS: &str = "__";
/// What the names of a histogram's samples end with.
const SAMPLES_OF_HISTOGRAM: [&str; 3] = ["_bucket", "_sum", "_count"];

/// Families by the name that they are served under.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) families: BTreeMap<String, Family>,
    /// How many series each component has.
    series_of: BTreeMap<String, usize>,
}

/// Whose a metric is. Of two that cannot be served together, the one whose owner is later in this list is; plugins have no
/// name of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// A plugin: a script, or a WebAssembly component that is not part of gpud.
    Plugin,
    /// A built-in checker.
    BuiltIn,
    /// The daemon itself.
    Daemon,
}

/// All series of one name.
#[derive(Debug)]
pub(super) struct Family {
    pub(super) owner: Owner,
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
    pub(super) fn family(&self, owner: Owner, kind: Kind) -> Family {
        Family {
            owner,
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
        (owner, component): (Owner, Option<&str>),
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
        if self.give_way(owner, name, change.kind())?
            && let Some(family) = self.families.get_mut(&served)
            && let Some(value) = family.series.get_mut(&key)
        {
            value.take(&family.bounds, change);
            return Ok(());
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
            .or_insert_with(|| described.family(owner, change.kind()))
            .begin(key, change);
        Ok(())
    }

    /// Makes sure that a metric of this name and kind can be served: removes families of lesser owners that cannot be served
    /// beside it. Returns whether its family is there already.
    pub(super) fn give_way(
        &mut self,
        owner: Owner,
        name: &str,
        kind: Kind,
    ) -> Result<bool, MetricError> {
        let served = metric_name(name);
        let mut is_there = false;
        let mut in_the_way = Vec::new();
        if let Some(family) = self.families.get(&served) {
            match family.admits(owner, name, kind) {
                Ok(()) => is_there = true,
                Err(_) if family.owner < owner => in_the_way.push(served.clone()),
                Err(error) => return Err(error),
            }
        }
        if !is_there {
            for other in self.with_common_samples(&served, kind) {
                let family = self.families.get(&other);
                let family = family.filter(|family| family.owner >= owner);
                if let Some(Family { name: known, .. }) = family {
                    return Err(MetricError::NameTaken {
                        name: name.to_owned(),
                        known: known.clone(),
                    });
                }
                in_the_way.push(other);
            }
        }
        for name in in_the_way {
            self.remove(&name);
        }
        Ok(is_there)
    }

    /// Returns the other families whose lines would be taken for lines of this one: of a histogram and of what is called like
    /// one of its samples.
    fn with_common_samples(&self, served: &str, kind: Kind) -> Vec<String> {
        let histogram = SAMPLES_OF_HISTOGRAM.iter().filter_map(|suffix| {
            let base = served.strip_suffix(suffix)?;
            let family = self.families.get(base)?;
            (family.kind == Kind::Histogram).then(|| base.to_owned())
        });
        let samples = SAMPLES_OF_HISTOGRAM.iter().filter_map(|suffix| {
            let sample = format!("{served}{suffix}");
            (kind == Kind::Histogram && self.families.contains_key(&sample)).then_some(sample)
        });
        histogram.chain(samples).collect()
    }

    fn remove(&mut self, served: &str) {
        let family = self.families.remove(served);
        for key in family.iter().flat_map(|family| family.series.keys()) {
            let component = key.component.as_ref();
            if let Some(count) = component.and_then(|name| self.series_of.get_mut(name)) {
                *count = count.saturating_sub(1);
            }
        }
    }
}

impl Family {
    /// Refuses a metric of another name, kind or owner that is served under the same name.
    fn admits(&self, owner: Owner, name: &str, kind: Kind) -> Result<(), MetricError> {
        if self.owner != owner {
            return Err(MetricError::Reserved {
                name: name.to_owned(),
            });
        }
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
        let reserved = escaped.is_empty()
            || escaped.starts_with(OWN_OF_PROMETHEUS)
            || [COMPONENT_LABEL, BOUND_LABEL].contains(&escaped.as_str());
        if reserved || sorted.insert(escaped, value.clone()).is_some() {
            return Err(MetricError::BadLabel {
                name: name.to_owned(),
                label: label.clone(),
            });
        }
    }
    Ok(sorted.into_iter().collect())
}
