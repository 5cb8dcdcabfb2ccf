//! One reading or count.

use super::Pairs;

/// The kind of a value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum MetricKind {
    /// The value as it is now.
    #[default]
    Gauge,
    /// An amount to add to the host's count (each call of a guest starts from zero).
    Counter,
    /// One observation for the host's histogram. The descriptor defines its buckets.
    Histogram,
    /// A kind of a later contract version; treated as a gauge.
    Other(String),
}

/// One sample.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Metric {
    /// Full Prometheus name, for example `cpu_used_percent`.
    pub name: String,
    /// Labels besides `gpud_component`.
    pub labels: Pairs,
    /// The value; finite.
    pub value: f64,
    /// The kind of the value.
    pub kind: MetricKind,
}
