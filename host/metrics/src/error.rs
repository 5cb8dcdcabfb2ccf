//! Why a metric was not taken.

/// A metric that the registry refused. Nothing of it was recorded; other metrics of the same report were.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MetricError {
    /// A metric of this name exists with another kind.
    #[error("metric {name} is a {known}, and cannot be a {wanted}")]
    KindConflict {
        /// The metric.
        name: String,
        /// What it is.
        known: &'static str,
        /// What it was given as.
        wanted: &'static str,
    },
    /// A plugin gave a metric a name of gpud's own, or one that is kept for them.
    #[error("metric {name} is one of gpud's own: a plugin's needs another name")]
    Reserved {
        /// The metric.
        name: String,
    },
    /// Two names differ only in characters that Prometheus does not allow, or one is that of a histogram's samples.
    #[error("metric {name} would be served under the same name as {known}, or as samples of it")]
    NameTaken {
        /// The name that was refused.
        name: String,
        /// The name that was there first.
        known: String,
    },
    /// No metric has an empty name.
    #[error("a metric has an empty name")]
    EmptyName,
    /// A label is reserved, empty or there twice.
    #[error("label {label:?} of metric {name} is reserved, empty or there twice")]
    BadLabel {
        /// The metric.
        name: String,
        /// The label.
        label: String,
    },
    /// A counter only goes up by finite amounts, and a histogram takes no NaN.
    #[error("value {value} does not suit metric {name}")]
    BadValue {
        /// The metric.
        name: String,
        /// The value, as text.
        value: String,
    },
    /// The component has as many series as it may have.
    #[error("metric {name}: the component already has {limit} series")]
    TooManySeries {
        /// The metric.
        name: String,
        /// The limit.
        limit: usize,
    },
}
