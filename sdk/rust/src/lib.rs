//! Write a gpud checker in Rust.
//!
//! A checker is a struct, a [`Checker::check`] function and one macro line:
//!
//! ```
//! use gpud_sdk::{CheckContext, Checker, Descriptor, Error, HealthState, Report, sysfs};
//!
//! struct Uptime;
//!
//! impl Checker for Uptime {
//!     fn check(context: &CheckContext) -> Result<Report, Error> {
//!         let text = sysfs::read_to_string("/proc/uptime", 4096)?; // a capability error becomes an honest state
//!         let seconds: f64 = text.split(' ').next().unwrap_or("").parse().map_err(Error::failed)?;
//!         Ok(Report::of(HealthState::healthy(context, format!("up for {seconds} s"))))
//!     }
//! }
//!
//! gpud_sdk::export!(Uptime: Descriptor::new("uptime", "How long the machine has been up"));
//! # fn main() {}
//! ```
//!
//! Build it as a `cdylib` for `wasm32-unknown-unknown` and turn it into a component with `wasm-tools component new`,
//! or for `wasm32-wasip2`, which gives a component at once. What it may touch is decided by the operator's grants;
//! what it imports is what it asks for, and only what it uses is imported.
//!
//! Every call runs in a fresh instance: keep what must survive in [`state`], look back with [`history`].
//!
//! Three modules make verdicts, the built-in checkers' too. [`findings`] is for a checker that reads the machine at every
//! check: readings become findings, findings a state and events. [`incidents`] is for one that gets kernel lines: lines
//! become events, stored events open incidents, and those a state with its ways of recovery. [`verdict`] joins troubles
//! that a checker found by rules of its own.

#[cfg(any(
    test,
    all(
        feature = "arena",
        target_arch = "wasm32",
        not(target_feature = "atomics")
    )
))]
mod arena;
pub mod bindings;
#[cfg(any(test, all(feature = "arena", target_arch = "wasm32")))]
mod block_size;
mod checker;
mod error;
#[doc(hidden)]
pub mod export;
pub mod findings;
pub mod incidents;
pub mod nvml;
mod report;
pub mod sources;
pub mod testing;
pub mod verdict;

pub use bindings::gpud::plugin::kmsg::Message;
pub use bindings::gpud::plugin::types::{
    AccessError, CheckContext, Event, EventType, Evidence, GpuId, Health, HealthState, MergeRule,
    Metric, MetricKind, PortId, Recovery, RepairAction, Report, Subject, SuggestedActions, Trigger,
};
pub use bindings::gpud::plugin::{config, exec, history, kmsg, log, types};
pub use checker::{Checker, Descriptor, KmsgWatcher, Member, Scanner};
pub use error::Error;
pub use sources::{net, state, sysfs};

/// Writes a formatted line to the daemon's log: `log!(warn, "{} of {}", a, b)`.
#[macro_export]
macro_rules! log {
    (debug, $($arg:tt)+) => { $crate::log::write($crate::log::Level::Debug, &::std::format!($($arg)+)) };
    (info, $($arg:tt)+) => { $crate::log::write($crate::log::Level::Info, &::std::format!($($arg)+)) };
    (warn, $($arg:tt)+) => { $crate::log::write($crate::log::Level::Warn, &::std::format!($($arg)+)) };
    (error, $($arg:tt)+) => { $crate::log::write($crate::log::Level::Error, &::std::format!($($arg)+)) };
}
