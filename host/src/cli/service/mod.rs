//! gpud as a service of systemd: what `gpud up`, `gpud down` and `gpud update` share.
//!
//! The unit file is gpud's and rewritten each time; `/etc/default/gpud` is the operator's: `up` changes the flags that
//! it was given and leaves the rest.

pub(super) mod env_file;
pub(super) mod install;
pub mod systemctl;
pub(super) mod takeover;

/// The unit's name.
pub const UNIT: &str = "gpud.service";
