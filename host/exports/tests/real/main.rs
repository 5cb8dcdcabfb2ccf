//! Exports against real servers on this machine, and against servers that fail.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test that cannot go on stops"
)]

mod alerts;
#[cfg(all(feature = "postgres", feature = "s3"))]
mod answers;
mod faults;
mod kubernetes;
#[cfg(feature = "otlp")]
mod otlp;
#[cfg(all(feature = "postgres", feature = "s3"))]
mod rows;
mod server;
mod tls;
mod webhook;
