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
//! # Verdicts
//!
//! These modules make verdicts. The built-in checkers use them, too, so states, events and recovery look the same everywhere.
//!
//! | a checker has | it uses | its state follows from |
//! |---|---|---|
//! | readings at every check | [`findings`] | what is wrong now; events say when that began and ended |
//! | kernel lines | [`kernel_lines`] with a [`catalog`] | stored events that are not over |
//! | events that it judges by rules of its own | [`incidents`] | its rules, and the stored events |
//! | errors with numbers | [`error_codes`] | the stored errors and the reboots |
//! | troubles that it found in another way | [`verdict`] | what it adds, the worst first |
//!
//! [`policy`] lets a site say how serious single events are, what to do, and how many within which time make a verdict.
//! [`settings`] reads the rest of a configuration. [`samples`] count the growth of a counter within a window, [`boots`]
//! tells the events of this boot from older ones, and [`cached`] stores expensive answers. [`files`] and
//! [`program`] read what may not be there. [`testing`] has what tests need.

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
pub mod boots;
pub mod cached;
pub mod catalog;
mod checker;
mod error;
pub mod error_codes;
#[doc(hidden)]
pub mod export;
pub mod files;
pub mod findings;
pub mod incidents;
pub mod kernel_lines;
pub mod nvml;
pub mod policy;
pub mod program;
mod report;
pub mod samples;
pub mod settings;
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
