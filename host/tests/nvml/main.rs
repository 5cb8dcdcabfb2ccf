//! The node's NVML against a shared library that speaks NVML's C interface: the way from `dlopen` to values and errors
//! is the one that a real driver is asked by. The library is `tests/nvml-mock`, driven by scenarios.

mod machine;

mod absurd;
mod answers;
mod driver;
mod errors;
mod hanging;
mod lost;
mod sharing;
