//! Functions and types that only built-in checkers share: kinds of block devices, NVIDIA's driver and actions, mounts,
//! services, lists of containers, times. The modules that make verdicts, which plugins use as well, are in `gpud_sdk`.
//!
//! Not a component by itself: the checkers link it, and what one of them does not use is not in its guest.

pub mod block_device;
pub mod driver;
pub mod listing;
pub mod mounts;
pub mod service;
pub mod time;
pub mod vendor;
