//! `gpud up` and `gpud down`: gpud as a service of systemd.
//!
//! The unit file is gpud's and rewritten each time; `/etc/default/gpud` is the operator's: `up` changes the flags that
//! it was given and leaves the rest.

mod down;
pub(super) mod env_file;
pub(super) mod install;
pub mod systemctl;
mod takeover;
mod up;

pub use down::down;
pub use up::{UpOptions, up};

/// The unit's name.
pub const UNIT: &str = "gpud.service";
