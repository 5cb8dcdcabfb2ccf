//! The component's configuration: [`gpud_builtin_shared::vendor::config`], with `reboot_threshold`, and 1,000 as the
//! threshold of Xid 94 where `overrides` does not say otherwise.

use gpud_builtin_shared::vendor::config;
pub use gpud_builtin_shared::vendor::config::Config;
use gpud_sdk::error_codes::config::CodeKind;
use gpud_sdk::policy::codes::Codes;

use crate::catalog;
use crate::catalog_data::VERSION;

/// Xid 94 is an error that was contained to one process; a reboot does not repair the GPU, nor is it broken.
const CONTAINED: (u32, u32) = (94, 1000);

/// The parts of the configuration that only Xids have.
pub const KIND: CodeKind = CodeKind {
    codes: Codes {
        family: "Xid",
        version: VERSION,
        possible: catalog::can_be,
        listed: catalog::lists,
    },
    has_threshold: true,
    key_pattern: r"^[0-9]+(\\.[0-9]+( \\(err status 0x[0-9a-fA-F]+\\))?)?$",
    overrides: &[CONTAINED],
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
