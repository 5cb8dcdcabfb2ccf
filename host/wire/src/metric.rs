//! Stored metric samples, and the document that joins states, events and metrics.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Serialize, Serializer};

use super::{Event, GoTime, HealthState, is_zero};

/// The samples of one component.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComponentMetrics {
    /// The component's name.
    pub component: String,
    /// Oldest first.
    pub metrics: Vec<Metric>,
}

/// One stored sample.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Metric {
    /// When it was taken, in **milliseconds** since the Unix epoch, despite its name.
    pub unix_seconds: i64,
    /// Full Prometheus name.
    #[serde(serialize_with = "shared")]
    pub name: Arc<str>,
    /// Labels besides the component's.
    #[serde(skip_serializing_if = "is_zero", serialize_with = "shared")]
    pub labels: Arc<BTreeMap<String, String>>,
    /// The value.
    pub value: f64,
}

/// Many samples have the same names: those of one series share them.
fn shared<T: Serialize + ?Sized, S: Serializer>(
    value: &Arc<T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    T::serialize(value, serializer)
}

/// All that is known of one component.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComponentInfo {
    /// The component's name.
    pub component: String,
    /// The window's start, as asked for.
    #[serde(rename = "startTime")]
    pub start_time: GoTime,
    /// The window's end, as asked for; echoed only.
    #[serde(rename = "endTime")]
    pub end_time: GoTime,
    /// The three kinds of data.
    pub info: Info,
}

/// States, events and metrics; each `null` when there is none.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Info {
    /// Cached states.
    pub states: Option<Vec<HealthState>>,
    /// Events, newest first.
    pub events: Option<Vec<Event>>,
    /// Samples, oldest first.
    pub metrics: Option<Vec<Metric>>,
}
