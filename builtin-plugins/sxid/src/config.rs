//! The component's configuration: [`gpud_builtin_shared::vendor::config`]. The threshold of codes without one of their own
//! is fixed, as in GPUd.

use gpud_builtin_shared::vendor::config;
pub use gpud_builtin_shared::vendor::config::Config;
use gpud_sdk::error_codes::config::CodeKind;
use gpud_sdk::policy::codes::Codes;

use crate::catalog;
use crate::catalog_data::VERSION;

/// The parts of the configuration that only SXids have.
pub const KIND: CodeKind = CodeKind {
    codes: Codes {
        family: "SXid",
        version: VERSION,
        possible: catalog::can_be,
        listed: catalog::lists,
    },
    has_threshold: false,
    key_pattern: "^[0-9]{5}$",
    overrides: &[],
    further_properties: config::PROPERTIES,
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
