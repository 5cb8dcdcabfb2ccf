//! The node's NVML against a shared library that speaks NVML's C interface: the way from `dlopen` to values and errors
//! is the one that a real driver is asked by. The library is `tests/nvml-mock`, driven by scenarios.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "all of this is test code, helpers included"
)]

mod machine;

mod absurd;
mod answers;
mod driver;
mod errors;
mod hanging;
mod lost;
mod sharing;
