//! Plugins that misbehave on purpose: each is contained, named for what it did, and unnoticed by its neighbours.
//!
//! The guests are built from `tests/hostile/examples`; what no compiler would make is forged from text here.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "all of this is test code, helpers included"
)]

mod as_component;
mod broken_files;
mod forge;
mod forged;
mod guests;
mod kernel_log;
mod lab;
mod latch_and_state;
mod left_behind;
mod spec_entries;
mod together;
