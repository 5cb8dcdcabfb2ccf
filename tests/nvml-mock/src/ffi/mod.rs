//! The exported functions, by subject.

mod bus;
mod clocks;
mod ecc;
mod fabric;
mod fields;
mod gpm;
mod identity;
mod lookup;
mod memory;
mod mig;
mod nvlink;
mod power;
mod process;
mod rest;
mod system;
mod thermal;
mod topology;

/// `nvmlEnableState_t`.
fn enabled(on: bool) -> u32 {
    u32::from(on)
}
