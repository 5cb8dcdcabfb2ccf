//! What `wit-bindgen` makes of the contract in `wit/`: the imports and types once, and each export in a world of its
//! own, so that a plugin exports only what it implements. `generate.sh` makes them, so that a plugin's build waits for no
//! generator. That `wit/` is a copy, so that the crate needs nothing else.
#![allow(
    missing_docs,
    unsafe_code,
    clippy::all,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::allow_attributes_without_reason,
    unused,
    reason = "generated code"
)]

#[rustfmt::skip]
mod capabilities;
#[rustfmt::skip]
pub mod checker;
#[rustfmt::skip]
pub mod kmsg_watcher;
#[rustfmt::skip]
pub mod scanner;

pub use capabilities::*;
