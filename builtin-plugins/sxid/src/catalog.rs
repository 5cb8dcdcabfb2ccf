//! The known facts about each SXid: a short text, how serious it is, and what to do.

pub use gpud_builtin_shared::vendor::VendorAction;
use gpud_builtin_shared::vendor::{CodeVerdict, ErrorView};
pub use gpud_sdk::catalog::{Action, Severity};
use gpud_sdk::error_codes::Key;

use crate::catalog_data::CODES;

/// Codes that NVSwitches can have (`NVSWITCH_ERR_HW_*` in `ctrl_dev_nvswitch.h`): five digits, the first not 0.
pub const POSSIBLE: std::ops::RangeInclusive<u32> = 10_000..=99_999;

/// One code.
#[derive(Debug)]
pub struct Code {
    /// The SXid.
    pub code: u32,
    /// Short text; several codes share one.
    pub name: &'static str,
    /// How serious: the catalogue alone decides. The driver's own word (`Fatal`, `Non-fatal`) says what it means for one
    /// link, not for the machine.
    pub severity: Severity,
    /// What to do, most important first; may be empty.
    pub actions: &'static [Action],
    /// What NVIDIA's guide says to do, where it has the code.
    pub vendor: Option<VendorAction>,
}

impl Code {
    /// The verdict of a catalogue.
    pub fn verdict(&self, catalog: ErrorView) -> CodeVerdict {
        let own = (self.severity, self.actions);
        match catalog {
            ErrorView::Gpud => own,
            ErrorView::Nvidia => self.vendor.and_then(VendorAction::verdict).unwrap_or(own),
        }
    }
}

/// The entry of a code.
pub fn code(code: u32) -> Option<&'static Code> {
    CODES
        .binary_search_by_key(&code, |known| known.code)
        .ok()
        .and_then(|at| CODES.get(at))
}

/// True for the errors that a line can have.
pub fn can_be(key: &Key) -> bool {
    *key == Key::of(key.code) && POSSIBLE.contains(&key.code)
}

/// True for the errors that the catalogue names.
pub fn lists(key: &Key) -> bool {
    code(key.code).is_some()
}

#[cfg(test)]
mod tests;
