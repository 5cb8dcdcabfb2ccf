//! The vocabulary of a check: health states, events, metrics and descriptors as plain Rust values.
//!
//! These mirror `wit/types.wit` and depend neither on Wasm nor on JSON or SQL: `runtime/` makes them from what a guest
//! returned, `store/` stores them, `wire/` turns them into the HTTP API's documents.

#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests make their own machines")
)]

mod context;
mod descriptor;
mod event;
mod metric;
mod state;

pub use context::{CheckContext, Trigger};
pub use descriptor::{ComponentDescriptor, MetricDescription, RunMode, SetHealthy};
pub use event::{Event, EventType, Merge};
pub use metric::{Metric, MetricKind};
pub use state::{Evidence, Health, HealthState, Recovery, RepairAction, Subject, SuggestedActions};

/// Milliseconds since the Unix epoch, UTC.
pub type UnixMillis = u64;

/// Ordered key-value pairs, as guests give them.
pub type Pairs = Vec<(String, String)>;

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// False: this machine has nothing for this checker to watch. The component is then left out of states, events
    /// and info, but keeps its place in the list of components and can be triggered.
    pub supported: bool,
    /// The verdicts, at least one unless `supported` is false.
    pub states: Vec<HealthState>,
    /// Events seen by this check (transitions, not repeats).
    pub events: Vec<Event>,
    /// Readings.
    pub metrics: Vec<Metric>,
}
