//! Metrics: what components measured and how the daemon itself is doing, for Prometheus and for the store.
//!
//! [`Registry`] holds the present value of every series. [`Registry::exposition`] is what `GET /metrics` serves, and
//! [`scrape`] copies gauges and counters of components into the store, from where `/v1/metrics` reads.

#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests make their own machines")
)]

use gpud_model as model;
use gpud_node as node;
use gpud_store as store;

pub mod dcgm;
mod error;
mod exposition;
mod families;
mod float;
mod names;
pub mod own;
mod recorder;
mod registry;
mod views;

#[cfg(test)]
mod tests;

pub use error::MetricError;
pub use families::Owner;
pub use recorder::scrape;
pub use registry::{Registry, SERIES_PER_COMPONENT};
pub use views::{SeriesView, ValueView};
