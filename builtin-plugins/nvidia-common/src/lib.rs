//! Functions and types that the checkers of NVIDIA GPUs share. Not a component by itself: the checkers link it, and what one of them
//! does not use is not in its guest.
//!
//! Such a checker asks each GPU for a plain struct ([`asking::check`]), and its `evaluate` makes a report of the answers:
//! rows for the document under `data`, metrics, and [`GpuFinding`]s, to which [`trouble::findings`] adds what did not answer.

pub mod asking;
pub mod bus;
pub mod fields;
pub mod finding;
pub mod gpu;
pub mod mig;
pub mod product;
#[rustfmt::skip]
mod products;
pub mod saved_state;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod text;
pub mod trouble;

pub use asking::{ErrorContext, Failure, GpuAnswer, GpuReadings, Questions};
pub use finding::{GpuFinding, state, with_data};
pub use gpu::Gpu;
pub use gpud_sdk::nvml::IfSupported;

/// Tags of a component of NVIDIA GPUs.
pub const fn tags(component: &str) -> [&str; 4] {
    ["accelerator", "gpu", "nvidia", component]
}
