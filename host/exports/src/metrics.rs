//! The present value of every metric, for engines that take metrics.

use std::{fmt, sync::Arc};

use futures_util::future::BoxFuture;

use crate::{Snapshot, UnixMillis};

/// The source from which exports read metrics.
pub trait MetricSource: fmt::Debug + Send + Sync {
    /// Reads the present value of every metric.
    fn read(&self) -> BoxFuture<'_, MetricReadings>;
}

/// The present value of every metric.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MetricReadings {
    /// Since when counters and histograms count.
    pub since: UnixMillis,
    /// All metrics, each name once.
    pub families: Vec<MetricFamily>,
}

/// All series of one name.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricFamily {
    /// The name, as in Prometheus' text.
    pub name: String,
    /// The meaning; may be empty.
    pub help: String,
    /// How values behave.
    pub kind: MetricKind,
    /// At least one.
    pub series: Vec<MetricSeries>,
}

/// How values of a metric behave.
#[derive(Debug, Clone, PartialEq)]
pub enum MetricKind {
    /// They go up and down.
    Gauge,
    /// They only grow, or begin again.
    Counter,
    /// Observations are counted in buckets, with these ascending upper bounds; one bucket more has none.
    Histogram(Vec<f64>),
}

/// One series.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricSeries {
    /// The component that measured; `None` for the daemon's own series.
    pub component: Option<String>,
    /// Labels, ascending by name.
    pub labels: Vec<(String, String)>,
    /// The value.
    pub value: MetricValue,
}

/// The value of a series.
#[derive(Debug, Clone, PartialEq)]
pub enum MetricValue {
    /// Of a gauge or a counter.
    Number(f64),
    /// Of a histogram.
    Histogram {
        /// Observations in each bucket with a bound, not cumulative.
        buckets: Vec<u64>,
        /// The sum of all observations.
        sum: f64,
        /// The number of all observations.
        count: u64,
    },
}

/// The metrics that an engine receives.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MetricPicture {
    /// When it was taken.
    pub time: UnixMillis,
    /// The metrics.
    pub readings: MetricReadings,
    /// The node's present state, once it is known.
    pub snapshot: Option<Arc<Snapshot>>,
}

/// The outcome of a push of metrics that arrived.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pushed {
    /// Points that the engine took.
    pub taken: u64,
    /// Points that the engine refused for good.
    pub refused: u64,
    /// Why, if it refused some.
    pub message: String,
}
