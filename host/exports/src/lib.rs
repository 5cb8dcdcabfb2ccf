//! Delivers a node's verdicts and events to engines outside of it.
//!
//! An operator lists exports in a file, which [`config::parse`] reads. [`Exports`] runs one task for each of them and never
//! waits for any: [`Exports::push`] puts a [`Record`] into each export's bounded [`buffer::Buffer`], and
//! [`Exports::show`] replaces the [`Snapshot`] of the node's present state. A worker (`worker/`) takes batches out of the
//! buffer, hands them to the export's engine, and removes them once they are delivered. Failed deliveries are tried
//! again with growing pauses ([`retry`]); records that an engine refuses for good are counted and logged.
//!
//! An engine is one folder: its keys in the file (a `Settings` struct), and an [`Export`] (record by record), a
//! [`StateExport`] (present state) or a [`MetricExport`] (present values of metrics). [`kinds`] lists them all; a new one is added there.
//!
//! This crate knows neither the checks nor the daemon. Files that hold secrets are read through [`secret::SecretSource`],
//! which the daemon implements with its rules about trusted files.

#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests make their own files")
)]

pub mod alertmanager;
pub mod buffer;
pub mod config;
pub mod context;
#[cfg(feature = "s3")]
mod csv;
mod delivery;
mod exports;
pub mod http;
pub mod inventory;
pub mod kinds;
pub mod kubernetes;
mod last_healths;
mod metric_status;
pub mod metrics;
pub mod names;
#[cfg(feature = "otlp")]
pub mod otlp;
mod own_files;
#[cfg(feature = "s3")]
mod partition;
pub mod peer;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod queue;
mod record;
pub mod retry;
#[cfg(any(feature = "postgres", feature = "s3"))]
mod row;
mod row_origin;
#[cfg(feature = "s3")]
pub mod s3;
pub mod secret;
pub mod select;
mod snapshot;
pub mod spool;
pub mod status;
mod subject;
pub mod webhook;
mod weight;
pub mod worker;

pub use context::{Clock, Context, Environment, MachineFacts};
pub use delivery::{DeliveryError, Export, MetricExport, StateExport};
pub use exports::{COMPONENT_PREFIX, ExportStatus, Exports};
pub use last_healths::LastHealths;
pub use metric_status::{MetricStatus, MetricView};
pub use record::{Finding, Health, HealthChange, NodeEvent, NodeIdentity, Record, Severity};
pub use snapshot::{ComponentHealth, GpuIdentity, HealthView, Inventory, Snapshot};
pub use subject::Subject;

/// Milliseconds since the Unix epoch, UTC.
pub type UnixMillis = u64;
