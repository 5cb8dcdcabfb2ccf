//! The component's configuration: [`gpud_builtin_shared::coded::config`]. The threshold of codes without one of their own
//! is fixed, as in GPUd.

use gpud_builtin_shared::coded::config;
pub use gpud_builtin_shared::coded::config::Config;
use gpud_builtin_shared::policy::codes::Codes;

use crate::catalog;
use crate::catalog_data::VERSION;

/// The parts of the configuration that only SXids have.
pub const KIND: config::Kind = config::Kind {
    codes: Codes {
        family: "SXid",
        version: VERSION,
        possible: catalog::can_be,
        listed: catalog::lists,
    },
    has_threshold: false,
    key_pattern: "^[0-9]{5}$",
    overrides: &[],
};

/// Reads a document.
///
/// # Errors
/// As [`Config::read`].
pub fn read(document: &str) -> Result<Config, String> {
    Config::read(document, &KIND)
}

#[cfg(test)]
mod tests;
