//! All series as values, for readers that want no text.

use super::families::{Kind, Table, Value};

/// One series as it is now.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeriesView<'a> {
    /// The name that it is served under.
    pub name: &'a str,
    /// Help text; may be empty.
    pub help: &'a str,
    /// The component that measured; `None` for the daemon's own series.
    pub component: Option<&'a str>,
    /// Labels, ascending by name.
    pub labels: &'a [(String, String)],
    /// The value.
    pub value: ValueView<'a>,
}

/// The value of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ValueView<'a> {
    /// Goes up and down.
    Gauge(f64),
    /// Only grows, or begins again.
    Counter(f64),
    /// Counts observations in buckets.
    Histogram {
        /// Upper bounds, ascending.
        bounds: &'a [f64],
        /// Observations per bucket, not cumulative; those above the last bound are only in `count`.
        buckets: &'a [u64],
        /// The sum of all observations.
        sum: f64,
        /// The number of all observations.
        count: u64,
    },
}

/// Hands out all series, those of a name one after the other.
pub(super) fn each(table: &Table, mut take: impl FnMut(SeriesView<'_>)) {
    for (name, family) in &table.families {
        for (key, value) in &family.series {
            let value = match value {
                Value::Number(number) if family.kind == Kind::Counter => {
                    ValueView::Counter(*number)
                }
                Value::Number(number) => ValueView::Gauge(*number),
                Value::Histogram {
                    buckets,
                    sum,
                    count,
                } => ValueView::Histogram {
                    bounds: &family.bounds,
                    buckets,
                    sum: *sum,
                    count: *count,
                },
            };
            take(SeriesView {
                name,
                help: &family.help,
                component: key.component.as_deref(),
                labels: &key.labels,
                value,
            });
        }
    }
}
